//! One rule: a name pattern, and the policy of the threads that match it.

use std::fmt;
use std::str::FromStr;

use unjank_host::sched::Policy;
use unjank_host::threads::LONGEST_NAME;
use unjank_host::{Error, Result};
use wildmatch::WildMatch;

/// A pattern of thread names: `*` stands for anything, `?` for one character.
///
/// The kernel keeps 15 bytes of a name. So the part before the first `*` is cut
/// to 15 bytes too: `VM Periodic Task Thread` matches `VM Periodic Tas`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    text: String,
    glob: WildMatch,
    /// The pattern with its head cut to 15 bytes, if that is longer.
    cut: Option<WildMatch>,
}

impl Pattern {
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

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A pattern and the policy of the threads that match it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The pattern of the threads' names.
    pub pattern: Pattern,
    /// The policy that these threads get, with its priority or other parameters.
    pub policy: Policy,
    /// The profile that it comes from; `None` for a rule of the command line.
    pub profile: Option<&'static str>,
}

impl FromStr for Rule {
    type Err = Error;

    /// Reads `PATTERN=POLICY`. The last `=` counts: policies have none.
    fn from_str(text: &str) -> Result<Self> {
        let Some((pattern, policy)) = text.rsplit_once('=') else {
            return Err(Error::Invalid(format!(
                "{text:?} is not PATTERN=POLICY, such as 'meas*=fifo:80'"
            )));
        };
        Ok(Self { pattern: Pattern::new(pattern)?, policy: policy.parse()?, profile: None })
    }
}

/// `meas*=fifo:80`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.policy)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(name)
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
        assert!(Pattern::new("").is_err());
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

    #[test]
    fn the_last_equals_sign_separates_pattern_and_policy() {
        let rule: Rule = "a=b*=fifo:80".parse().unwrap();
        assert_eq!(rule.to_string(), "a=b*=fifo:80");
        assert!(rule.pattern.matches("a=bc"));
        for wrong in ["meas*", "=fifo:80", "meas=", "meas=fifo:100", "meas=fifo"] {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,60}", name in ".{0,20}") {
            if let Ok(rule) = text.parse::<Rule>() {
                let _either = rule.pattern.matches(&name);
            }
        }

        #[test]
        fn a_name_matches_itself_however_long(name in "[a-z #]{1,30}") {
            let kept = &name[..name.len().min(LONGEST_NAME)];
            prop_assert!(matches(&name, kept));
        }
    }
}
