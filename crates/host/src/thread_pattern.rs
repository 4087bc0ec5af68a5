//! Patterns of thread names.

use std::fmt;

use wildmatch::WildMatch;

use crate::error::{Error, Result};
use crate::threads::LONGEST_NAME;

/// A pattern of thread names: `*` stands for anything, `?` for one character.
///
/// The kernel keeps 15 bytes of a name. So the part before the first `*` is cut
/// to 15 bytes too: `VM Periodic Task Thread` matches `VM Periodic Tas`.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPattern {
    text: String,
    glob: WildMatch,
    /// The pattern with its head cut to 15 bytes, if that is longer.
    cut: Option<WildMatch>,
}

impl ThreadPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// `Invalid` for an empty pattern, which matches no name.
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::Invalid("an empty pattern matches no thread".to_owned()));
        }
        let head = text.split('*').next().unwrap_or_default().as_bytes();
        let cut = head
            .get(..LONGEST_NAME)
            .filter(|_| head.len() > LONGEST_NAME)
            .map(|head| WildMatch::new(&String::from_utf8_lossy(head)));
        Ok(Self { text: text.to_owned(), glob: WildMatch::new(text), cut })
    }

    /// Whether the pattern matches this name, as the kernel keeps it.
    pub fn matches(&self, name: &str) -> bool {
        self.glob.matches(name) || self.cut.as_ref().is_some_and(|cut| cut.matches(name))
    }
}

impl fmt::Display for ThreadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        ThreadPattern::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name) in [
            ("meas*", "meas"),
            ("GC Thread*", "GC Thread#12"),
            ("GC Thread#?", "GC Thread#0"),
            ("*", ""),
            ("*pool*", "my-pool-3"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("meas", "measure"), ("GC Thread#1", "GC Thread#10"), ("gc*", "GC"), ("?", "")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(ThreadPattern::new("").is_err());
    }

    #[test]
    fn a_long_pattern_matches_the_name_that_the_kernel_cut() {
        assert!(matches("VM Periodic Task Thread", "VM Periodic Tas"));
        assert!(matches("VM Periodic Task*", "VM Periodic Tas"));
        assert!(matches("Shenandoah GC Threads#?", "Shenandoah GC T"));
        assert!(!matches("VM Periodic Task Thread", "VM Periodic"));
        assert!(!matches("VM Periodic Task Thread", "VM Periodic Tax"));
        // The part after a star may begin anywhere, so it is not cut.
        assert!(!matches("VM*Thread", "VM Periodic Tas"));
    }

    proptest! {
        #[test]
        fn a_name_matches_itself_however_long(name in "[a-z #]{1,30}") {
            let kept = &name[..name.len().min(LONGEST_NAME)];
            prop_assert!(matches(&name, kept));
        }
    }
}
