//! Which thread gets which policy, by its name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use unjank_host::sched::Policy;
use unjank_host::threads::LONGEST_NAME;
use unjank_host::{Error, Result};
use wildmatch::WildMatch;

use super::profile::Profile;

/// A pattern of thread names: `*` stands for anything, `?` for one character.
///
/// The kernel keeps 15 bytes of a name. So what stands before the first `*` is
/// cut to 15 bytes, too: `VM Periodic Task Thread` is the thread that the
/// kernel knows as `VM Periodic Tas`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    text: String,
    glob: WildMatch,
    /// The same as the kernel would have cut it, where it is longer.
    cut: Option<WildMatch>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// `Invalid` for an empty one, which no thread's name could match.
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

    /// Whether a thread of this name, as the kernel has it, is meant.
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
    /// The pattern.
    pub pattern: Pattern,
    /// The policy.
    pub policy: Policy,
    /// The profile that it comes from, if nobody typed it.
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

/// All rules: those that were typed, those of a profile, and the policy of
/// every other thread. The first one that matches counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    process: Option<Policy>,
}

/// What of the [`Rules`] applies to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// The rule with this number.
    Rule(usize),
    /// None; the policy of the whole process.
    Process,
}

impl Rules {
    /// Puts rules together.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    pub fn new(
        typed: Vec<Rule>,
        process: Option<Policy>,
        profile: Option<&Profile>,
    ) -> Result<Self> {
        let mut rules = typed;
        if let Some(profile) = profile {
            rules.extend(profile.rules()?);
        }
        if rules.is_empty() && process.is_none() {
            return Err(Error::Invalid(
                "there is nothing to set: --thread 'PATTERN=POLICY', --process POLICY or \
                 --profile NAME"
                    .to_owned(),
            ));
        }
        Ok(Self { rules, process })
    }

    /// The rules, first one first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every policy that may be given.
    pub fn policies(&self) -> impl Iterator<Item = Policy> + '_ {
        self.rules.iter().map(|rule| rule.policy).chain(self.process)
    }

    /// Whether one of them is a real-time policy.
    pub fn are_realtime(&self) -> bool {
        self.policies().any(Policy::is_realtime)
    }

    /// The highest real-time priority among them.
    pub fn highest(&self) -> Option<u8> {
        self.policies()
            .filter_map(|policy| match policy {
                Policy::Fifo(priority) | Policy::RoundRobin(priority) => Some(priority.get()),
                _ => None,
            })
            .max()
    }

    /// What a thread with this name gets.
    pub fn choose(&self, name: &str) -> Option<(Applies, Policy)> {
        let rule = self.rules.iter().position(|rule| rule.pattern.matches(name));
        match rule {
            Some(at) => Some((Applies::Rule(at), self.rules[at].policy)),
            None => self.process.map(|policy| (Applies::Process, policy)),
        }
    }

    /// The numbers of all rules that match a name, also of those that another
    /// one comes before.
    pub fn matching<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let rules = self.rules.iter().enumerate();
        rules.filter(|(_, rule)| rule.pattern.matches(name)).map(|(number, _)| number)
    }

    /// Patterns that have matched nothing, if the rules in `matched` have: every
    /// one that was typed, and the profile if none of its own has.
    pub fn unmatched(&self, matched: &BTreeSet<usize>) -> Vec<String> {
        let all = || self.rules.iter().enumerate();
        let typed = all().filter(|(at, rule)| rule.profile.is_none() && !matched.contains(at));
        let mut unmatched: Vec<String> =
            typed.map(|(_, rule)| format!("'{}'", rule.pattern)).collect();
        let mut of_profile = all().filter(|(_, rule)| rule.profile.is_some()).peekable();
        if let Some(profile) = of_profile.peek().and_then(|(_, rule)| rule.profile)
            && !of_profile.any(|(at, _)| matched.contains(&at))
        {
            unmatched.push(format!("the profile {profile}"));
        }
        unmatched
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
    fn a_name_that_the_kernel_cut_is_known_by_its_beginning() {
        assert!(matches("VM Periodic Task Thread", "VM Periodic Tas"));
        assert!(matches("VM Periodic Task*", "VM Periodic Tas"));
        assert!(matches("Shenandoah GC Threads#?", "Shenandoah GC T"));
        assert!(!matches("VM Periodic Task Thread", "VM Periodic"));
        assert!(!matches("VM Periodic Task Thread", "VM Periodic Tax"));
        // What comes after a star may be anywhere, so nothing can be said of it.
        assert!(!matches("VM*Thread", "VM Periodic Tas"));
    }

    #[test]
    fn the_last_sign_parts_pattern_and_policy() {
        let rule: Rule = "a=b*=fifo:80".parse().unwrap();
        assert_eq!(rule.to_string(), "a=b*=fifo:80");
        assert!(rule.pattern.matches("a=bc"));
        for wrong in ["meas*", "=fifo:80", "meas=", "meas=fifo:100", "meas=fifo"] {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let typed = ["meas*=fifo:80", "m*=fifo:70"].map(|text| text.parse().unwrap());
        let rules = Rules::new(typed.to_vec(), Some("batch".parse().unwrap()), None).unwrap();
        let chosen = |name| rules.choose(name).unwrap().0;
        assert_eq!(chosen("meas"), Applies::Rule(0));
        assert_eq!(chosen("main"), Applies::Rule(1));
        assert_eq!(chosen("x"), Applies::Process);
        assert_eq!(rules.highest(), Some(80));
        let unmatched = |name| rules.unmatched(&rules.matching(name).collect());
        assert_eq!(unmatched("meas"), Vec::<String>::new());
        assert_eq!(unmatched("main"), ["'meas*'"]);
        assert!(Rules::new(Vec::new(), None, None).is_err());
    }

    proptest! {
        #[test]
        fn any_rule_is_taken(text in ".{0,60}", name in ".{0,20}") {
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
