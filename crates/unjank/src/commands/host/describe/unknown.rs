//! What is printed where nothing is known.

pub(super) const UNKNOWN: &str = "n/a";

/// The text, if there is one.
pub(super) fn or_unknown(text: &str) -> &str {
    if text.is_empty() { UNKNOWN } else { text }
}
