//! The command as its users meet it: the real binary, real files, exit codes.

mod command {
    pub(crate) mod desk;

    mod attend;
    mod bench;
    mod compare;
    mod errors;
    mod examples;
    mod files;
    mod golden;
    mod grad;
    mod interrupt;
    mod mixed;
    #[cfg(feature = "reference")]
    mod theory;
    mod windows;
}
