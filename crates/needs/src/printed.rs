//! What a program has printed.

use std::process::Output;
use std::str;

/// Its standard output.
///
/// # Panics
/// If it is not UTF-8.
#[track_caller]
pub fn stdout(output: &Output) -> &str {
    text(&output.stdout)
}

/// Its standard error.
///
/// # Panics
/// If it is not UTF-8.
#[track_caller]
pub fn stderr(output: &Output) -> &str {
    text(&output.stderr)
}

#[track_caller]
fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii()))
}
