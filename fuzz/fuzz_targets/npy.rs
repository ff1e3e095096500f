//! Any bytes as a .npy file: an error, or an array that survives a round trip.
#![no_main]

use contattn_core::file::npy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(x) = npy::from_bytes(bytes) {
        let written = npy::to_bytes(&x).unwrap();
        let again = npy::from_bytes(&written).unwrap();
        assert_eq!(again.shape(), x.shape());
        assert_eq!(npy::to_bytes(&again).unwrap(), written);
    }
});
