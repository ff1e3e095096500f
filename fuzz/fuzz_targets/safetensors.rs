//! Any bytes as a .safetensors file: an error or tensors that survive a round trip, and the same that the format's own
//! reader finds.
#![no_main]

use contattn_core::file::{Fault, safetensors};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fuzz_target!(|bytes: &[u8]| {
    let theirs = ::safetensors::SafeTensors::deserialize(bytes);
    match (safetensors::from_bytes(bytes), theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.len(), theirs.len());
            let named: Vec<_> = ours.iter().map(|(name, x)| (name.as_str(), x)).collect();
            if named.iter().any(|(name, _)| name.is_empty()) {
                return; // read as it stands, but never written
            }
            let written = safetensors::to_bytes(&named, &BTreeMap::new()).unwrap();
            let again = ::safetensors::SafeTensors::deserialize(&written).unwrap();
            for (name, x) in named {
                let (stored, copied) = (theirs.tensor(name).unwrap(), again.tensor(name).unwrap());
                assert_eq!(stored.shape(), x.shape());
                assert_eq!(stored, copied);
            }
        }
        // Theirs lets the later of two names win and knows types that an array does not hold; it takes a null for no
        // metadata.
        (Err(e), Ok(_)) => match e.fault() {
            Fault::DuplicateName | Fault::Dtype { .. } | Fault::NotABool { .. } => {}
            Fault::Header { .. } if bytes.windows(4).any(|w| w == b"null") => {}
            other => panic!("refused what the format's reader takes: {other:?}"),
        },
        _ => {}
    }
});
