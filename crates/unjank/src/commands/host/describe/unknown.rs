//! The text for unknown values.

pub(super) const UNKNOWN: &str = "n/a";

/// The text, or `n/a` if it is empty.
pub(super) fn or_unknown(text: &str) -> &str {
    if text.is_empty() { UNKNOWN } else { text }
}
