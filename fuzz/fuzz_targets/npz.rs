//! Any bytes as a .npz file: an error, or arrays that survive a round trip.
#![no_main]

use contattn_core::file::npz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(arrays) = npz::from_bytes(bytes) {
        let named: Vec<_> = arrays.iter().map(|(name, x)| (name.as_str(), x)).collect();
        if named.iter().any(|(name, _)| name.is_empty()) {
            return; // read as it stands, but never written
        }
        let written = npz::to_bytes(&named).unwrap();
        let again = npz::from_bytes(&written).unwrap();
        let again: Vec<_> = again.iter().map(|(name, x)| (name.as_str(), x)).collect();
        assert_eq!(npz::to_bytes(&again).unwrap(), written);
    }
});
