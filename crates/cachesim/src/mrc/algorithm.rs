//! The subject of a miss-ratio curve: a replacement policy, or Belady's offline optimum.

use std::fmt;
use std::str::FromStr;

use super::external::External;
use crate::bounds::Belady;
use crate::replacement::{Policy, UnknownPolicy};

/// Decides which page leaves a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// A policy that knows the requests up to now.
    Online(Policy),
    /// An optimum that knows all requests.
    Offline(Belady),
    /// A policy of another program.
    External(External),
}

/// The offline optima by their names on the command line.
const OFFLINE: [(&str, Belady); 2] =
    [("belady", Belady::Demand), ("belady-bypass", Belady::Bypass)];

impl Algorithm {
    /// Whether it knows the future.
    pub fn is_offline(self) -> bool {
        matches!(self, Self::Offline(_))
    }
}

impl From<Policy> for Algorithm {
    fn from(policy: Policy) -> Self {
        Self::Online(policy)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Online(policy) => policy.fmt(f),
            Self::External(external) => f.pad(external.policy().name()),
            Self::Offline(Belady::Demand) => f.pad(OFFLINE[0].0),
            Self::Offline(Belady::Bypass) => f.pad(OFFLINE[1].0),
        }
    }
}

/// A name or parameter that no algorithm has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownAlgorithm {
    /// No policy has this name or parameter.
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
    /// Neither a policy nor an optimum has this name.
    #[error("{0}, {first}, {second}", first = OFFLINE[0].0, second = OFFLINE[1].0)]
    Name(UnknownPolicy),
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Parses a [policy](Policy) with its parameters, `belady` or `belady-bypass`.
    fn from_str(typed: &str) -> Result<Self, UnknownAlgorithm> {
        let named = |(name, _): &&(&str, Belady)| typed.eq_ignore_ascii_case(name);
        if let Some((_, belady)) = OFFLINE.iter().find(named) {
            return Ok(Self::Offline(*belady));
        }
        match typed.parse() {
            Ok(policy) => Ok(Self::Online(policy)),
            // The message ends with the names of all policies.
            Err(unknown @ UnknownPolicy::Name { .. }) => Err(UnknownAlgorithm::Name(unknown)),
            Err(unknown) => Err(UnknownAlgorithm::Policy(unknown)),
        }
    }
}

/// One value of a `--policy` option: an algorithm, or `all` policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Algorithms(pub Vec<Algorithm>);

impl FromStr for Algorithms {
    type Err = UnknownAlgorithm;

    fn from_str(typed: &str) -> Result<Self, UnknownAlgorithm> {
        if typed.eq_ignore_ascii_case("all") {
            return Ok(Self(Policy::ALL.iter().copied().map(Algorithm::Online).collect()));
        }
        Ok(Self(vec![typed.parse()?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optima_are_named_beside_policies() {
        for typed in ["belady", "belady-bypass", "2q:kin=0.1"] {
            assert_eq!(typed.parse::<Algorithm>().unwrap().to_string(), typed);
        }
        assert_eq!("Belady".parse(), Ok(Algorithm::Offline(Belady::Demand)));
        assert_eq!("all".parse::<Algorithms>().unwrap().0.len(), Policy::ALL.len());
        let error = |typed: &str| typed.parse::<Algorithms>().unwrap_err().to_string();
        assert!(error("min").starts_with("unknown policy \"min\"; expected one of fifo, lru"));
        assert!(error("min").ends_with(", mq, belady, belady-bypass"), "{}", error("min"));
        assert_eq!(error("lru:size=1"), "lru has no parameter \"size\"; it has none");
    }
}
