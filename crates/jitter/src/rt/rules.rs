//! Selects the policy of a thread by its name.

use std::collections::BTreeSet;

use unjank_host::sched::Policy;
use unjank_host::{Error, Result};

use super::profile::Profile;
use super::rule::Rule;

/// The rules of the command line, those of a profile, and the policy of all
/// other threads. The first rule that matches counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    others: Option<Policy>,
}

/// The part of the [`Rules`] that applies to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleMatch {
    /// The rule with this number.
    Rule(usize),
    /// No rule; the policy of all other threads.
    Others,
}

impl Rules {
    /// Combines the rules of the command line, `--others` and a profile.
    ///
    /// # Errors
    /// `Invalid` if there is no rule.
    pub fn new(
        typed: Vec<Rule>,
        others: Option<Policy>,
        profile: Option<&Profile>,
    ) -> Result<Self> {
        let mut rules = typed;
        if let Some(profile) = profile {
            rules.extend(profile.rules()?);
        }
        if rules.is_empty() && others.is_none() {
            return Err(Error::Invalid(
                "there is nothing to set; give --thread 'PATTERN=POLICY', --others POLICY or \
                 --profile NAME"
                    .to_owned(),
            ));
        }
        Ok(Self { rules, others })
    }

    /// The rules, in the order of precedence.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every policy that may be given.
    pub fn policies(&self) -> impl Iterator<Item = Policy> + '_ {
        self.rules.iter().map(|rule| rule.policy).chain(self.others)
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

    /// The policy of a thread with this name.
    pub fn choose(&self, name: &str) -> Option<(RuleMatch, Policy)> {
        let rule = self.rules.iter().position(|rule| rule.pattern.matches(name));
        match rule {
            Some(at) => Some((RuleMatch::Rule(at), self.rules[at].policy)),
            None => self.others.map(|policy| (RuleMatch::Others, policy)),
        }
    }

    /// The numbers of all rules that match a name, including those that another
    /// rule takes precedence over.
    pub fn matching<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let rules = self.rules.iter().enumerate();
        rules.filter(|(_, rule)| rule.pattern.matches(name)).map(|(number, _)| number)
    }

    /// The patterns that matched nothing, given the numbers of the rules that
    /// did: each one of the command line, and the profile if none of its rules
    /// matched.
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
    use super::*;

    #[test]
    fn the_first_rule_that_matches_counts() {
        let typed = ["meas*=fifo:80", "m*=fifo:70"].map(|text| text.parse().unwrap());
        let rules = Rules::new(typed.to_vec(), Some("batch".parse().unwrap()), None).unwrap();
        let chosen = |name| rules.choose(name).unwrap().0;
        assert_eq!(chosen("meas"), RuleMatch::Rule(0));
        assert_eq!(chosen("main"), RuleMatch::Rule(1));
        assert_eq!(chosen("x"), RuleMatch::Others);
        assert_eq!(rules.highest(), Some(80));
        let unmatched = |name| rules.unmatched(&rules.matching(name).collect());
        assert_eq!(unmatched("meas"), Vec::<String>::new());
        assert_eq!(unmatched("main"), ["'meas*'"]);
        assert!(Rules::new(Vec::new(), None, None).is_err());
    }
}
