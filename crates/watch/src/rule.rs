//! Threads that must not be late: `pipewire*=5ms`.

use std::fmt;

use unjank_units::Nanos;

/// A rule: threads by their name, and how long they may wait for a CPU after they were woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pattern: String,
    /// The longest wait.
    pub limit: Nanos,
}

impl Rule {
    /// A rule for threads whose name matches a pattern, in which `*` stands for any letters.
    ///
    /// # Errors
    /// An empty pattern, or a limit of zero.
    pub fn new(pattern: &str, limit: Nanos) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("a rule begins with the name of a thread: pipewire*=5ms".to_owned());
        }
        if limit == Nanos::ZERO {
            return Err("a limit is longer than zero".to_owned());
        }
        Ok(Self { pattern: pattern.to_owned(), limit })
    }

    /// Whether a thread of this name has the rule.
    pub fn applies_to(&self, name: &str) -> bool {
        matches(self.pattern.as_bytes(), name.as_bytes())
    }
}

/// Whether a name matches a pattern, in a time that grows with the product of their lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // The last star, and the name's place at which it was tried.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, place));
            at += 1;
        } else if pattern.get(at) == name.get(place) {
            (at, place) = (at + 1, place + 1);
        } else if let Some((last, tried)) = star {
            (at, place) = (last + 1, tried + 1);
            star = Some((last, tried + 1));
        } else {
            return false;
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|letter| *letter == b'*'))
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
    fn a_star_stands_for_any_letters() {
        for (pattern, name, expected) in [
            ("pipewire", "pipewire", true),
            ("pipewire", "pipewire-pulse", false),
            ("pipewire*", "pipewire-pulse", true),
            ("*wire*", "pipewire-pulse", true),
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("a**", "a", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_needs_a_name_and_a_limit() {
        let rule = Rule::new("pipewire*", Nanos::from_millis(5)).unwrap();
        assert!(rule.applies_to("pipewire-pulse") && !rule.applies_to("bash"));
        assert_eq!(rule.to_string(), "pipewire*=5.00 ms");
        assert!(Rule::new("", Nanos::from_millis(5)).is_err());
        assert!(Rule::new("a", Nanos::ZERO).is_err());
    }

    proptest::proptest! {
        #[test]
        fn a_pattern_matches_as_its_parts_do(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
            // Every way to give the stars letters.
            fn slow(pattern: &[u8], name: &[u8]) -> bool {
                match pattern.split_first() {
                    None => name.is_empty(),
                    Some((b'*', rest)) => (0..=name.len()).any(|taken| slow(rest, &name[taken..])),
                    Some((letter, rest)) => name.first() == Some(letter) && slow(rest, &name[1..]),
                }
            }
            let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
            proptest::prop_assert_eq!(matches(pattern, name), slow(pattern, name));
        }
    }
}
