//! The Rust of the book and of the README as documentation tests: `cargo test --doc -p contattn-book` compiles and runs them.
//!
//! There is nothing else in this package. `scripts/book/check.py` sees to it that every page with a block of Rust is named here.

/// A page whose blocks of Rust are tests.
#[cfg(doctest)]
macro_rules! page {
    ($name:ident, $path:literal) => {
        #[doc = include_str!(concat!("../../../", $path))]
        pub mod $name {}
    };
}

#[cfg(doctest)]
page!(readme, "README.md");
#[cfg(doctest)]
page!(howto_golden, "docs/howto-golden.md");
#[cfg(doctest)]
page!(howto_timestamps, "docs/howto-timestamps.md");
