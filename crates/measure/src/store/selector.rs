//! The name of a run: its id, the beginning of it, or its age.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// Selects a run of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The newest run, or the n-th before it: `last`, `last~2`.
    Last(u32),
    /// The run whose id equals this, or begins with it.
    Prefix(String),
}

impl FromStr for Selector {
    type Err = Infallible;

    /// Any text other than `last` or `last~N` is taken as an id: no id holds a
    /// tilde, so a mistyped number finds nothing and is named in the error.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let back = match text.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|back| back.parse().ok()),
            None => None,
        };
        Ok(back.map_or_else(|| Self::Prefix(text.to_owned()), Self::Last))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last(0) => f.write_str("last"),
            Self::Last(back) => write!(f, "last~{back}"),
            Self::Prefix(prefix) => f.write_str(prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_id_or_by_age() {
        let selector = |text: &str| text.parse::<Selector>().unwrap();
        assert_eq!(selector("last"), Selector::Last(0));
        assert_eq!(selector("last~12"), Selector::Last(12));
        for text in ["20261121", "last~", "last~x", "last~-1", "lastly", ""] {
            assert_eq!(selector(text), Selector::Prefix(text.to_owned()));
        }
        for text in ["last", "last~3", "2026"] {
            assert_eq!(selector(text).to_string(), text);
        }
    }
}
