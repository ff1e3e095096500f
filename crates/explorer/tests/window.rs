//! The explorer as its user sees it, driven through accessibility names; no window system is needed.

// A test that is skipped says so.
#[allow(clippy::print_stderr)]
mod window {
    mod controls;
    mod desk;
    mod hostile;
    mod matrix;
    mod operator;
    mod pictures;
    mod share;
    mod views;
}
