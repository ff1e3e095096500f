//! How a result reaches the notebook: evcxr's protocol.
//!
//! The kernel calls `evcxr_display` of the value that a cell ends with, and takes from its standard output what stands between two
//! lines of its own. A cell has one result of each MIME type; the reader's program shows the richest that it can.

use base64::Engine as _;
use std::io::Write as _;

/// One form of a result.
pub(crate) fn content(mime: &str, text: &str) {
    let mut out = std::io::stdout().lock();
    // Without a kernel on the other side there is nobody to tell of a broken pipe.
    let _ = writeln!(out, "EVCXR_BEGIN_CONTENT {mime}\n{}\nEVCXR_END_CONTENT", text.trim_end_matches('\n'));
}

/// A picture, with the words that stand for it.
pub(crate) fn picture(png: &[u8], words: &str) {
    content("image/png", &base64::engine::general_purpose::STANDARD.encode(png));
    content("text/plain", words);
}

/// A table or other text in two forms.
pub(crate) fn html(html: &str, plain: &str) {
    content("text/html", html);
    content("text/plain", plain);
}
