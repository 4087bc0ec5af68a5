//! One rule: a name pattern, and the policy of the threads that match it.

use std::fmt;
use std::str::FromStr;

use unjank_host::sched::Policy;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Error, Result};

/// A pattern and the policy of the threads that match it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The pattern of the threads' names.
    pub pattern: ThreadPattern,
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
        Ok(Self { pattern: ThreadPattern::new(pattern)?, policy: policy.parse()?, profile: None })
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
    }
}
