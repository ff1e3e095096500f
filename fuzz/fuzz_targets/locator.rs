//! Any text as a locator: an error, or one that is written as it was read.
#![no_main]

use contattn_core::file::Locator;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(locator) = text.parse::<Locator>() {
        assert_eq!(locator.to_string(), text);
        let parts = Locator::new(locator.path(), locator.name()).unwrap();
        assert_eq!(parts, locator);
    }
});
