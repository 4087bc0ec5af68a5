//! Threads that must not be late: `pipewire*=5ms`.

use std::fmt;

use unjank_host::thread_pattern::ThreadPattern;
use unjank_units::Nanos;

/// A rule: threads by their name, and how long they may wait for a CPU after they were woken.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pattern: ThreadPattern,
    /// The longest wait.
    pub limit: Nanos,
}

impl Rule {
    /// A rule for threads whose name matches a pattern, in which `*` stands for any letters
    /// and `?` for one.
    ///
    /// # Errors
    /// An empty pattern, or a limit of zero.
    pub fn new(pattern: &str, limit: Nanos) -> Result<Self, String> {
        let pattern = ThreadPattern::new(pattern)
            .map_err(|_| "a rule begins with the name of a thread: pipewire*=5ms".to_owned())?;
        if limit == Nanos::ZERO {
            return Err("a limit is longer than zero".to_owned());
        }
        Ok(Self { pattern, limit })
    }

    /// Whether a thread of this name has the rule.
    pub fn applies_to(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_needs_a_name_and_a_limit() {
        let rule = Rule::new("pipewire*", Nanos::from_millis(5)).unwrap();
        assert!(rule.applies_to("pipewire-pulse") && !rule.applies_to("bash"));
        let long = Rule::new("VM Periodic Task Thread", Nanos::from_millis(5)).unwrap();
        assert!(long.applies_to("VM Periodic Tas"), "as the kernel cuts it");
        assert_eq!(rule.to_string(), "pipewire*=5.00 ms");
        assert!(Rule::new("", Nanos::from_millis(5)).is_err());
        assert!(Rule::new("a", Nanos::ZERO).is_err());
    }
}
