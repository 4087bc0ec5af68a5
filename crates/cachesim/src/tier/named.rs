//! Policies of a tier by their names on the command line: `paper`, `always/arc`, `gate/lru` …

use std::fmt;
use std::str::FromStr;

use super::{PerPage, Tier, Traffic, Waits};
use crate::admission::{
    Admission, Age, Always, Budget, Gate, Ghost, Never, Refault, RejectFirst, SecondEviction,
    WriteRate,
};
use crate::page::{Space, SpaceError};
use crate::paged::Paged;
use crate::replacement::{Policy, Replacement, UnknownPolicy, Visit};

/// An admission rule, which decides which pages enter, and a replacement policy, which decides
/// which page leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TierPolicy {
    /// The rule that admits pages.
    pub admission: AdmissionRule,
    /// The policy that chooses the page to evict.
    pub replacement: Policy,
}

/// An admission rule: which pages enter a tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AdmissionRule {
    /// None: there is no tier.
    Never,
    /// Every page.
    Always,
    /// A page from its second eviction on.
    Second,
    /// The same, if its first eviction is among the last rejected ones: so many times the tier's
    /// pages.
    Ghost(f64),
    /// The same, within two windows of so many times the tier's pages.
    RejectFirst(f64),
    /// A page that came back sooner than the page of the tier that stays away for the longest.
    Refault,
    /// A page that was evicted more often than the pages that would fill the tier; all counts are
    /// halved once while each page is evicted so many times on average.
    Gate(u32),
    /// Every page while there is room; a page that is idle for a day leaves.
    Age,
}

/// The result of a replay through a tier.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Reads and writes.
    pub traffic: Traffic,
    /// Reads and writes of storage by page, if they were counted.
    pub per_page: Option<PerPage>,
    /// The page-ins that each launch waited for.
    pub waits: Vec<Waits>,
    /// Pages that the rule admitted and the write budget rejected.
    pub over_budget: u64,
    /// The memory that the tier's metadata takes, in bytes.
    pub bytes: usize,
}

impl TierPolicy {
    /// No tier at all.
    pub const NONE: Self = Self { admission: AdmissionRule::Never, replacement: Policy::Lru };
    /// The policy of Bahn & Kim.
    pub const PAPER: Self = Self { admission: AdmissionRule::Second, replacement: Policy::Lru };
    /// unjank's own policy, for a tier whose writes are expensive.
    pub const REFAULT: Self = Self { admission: AdmissionRule::Refault, replacement: Policy::Lru };
    /// The policy of Android's memory daemon.
    pub const MMD: Self = Self { admission: AdmissionRule::Age, replacement: Policy::Lru };

    /// Every rule with LRU, and every replacement policy with `always`.
    pub fn all() -> Vec<Self> {
        let rules = [
            AdmissionRule::Refault,
            AdmissionRule::Second,
            AdmissionRule::Always,
            AdmissionRule::Ghost(1.0),
            AdmissionRule::Ghost(8.0),
            AdmissionRule::RejectFirst(1.0),
            AdmissionRule::Gate(4),
            AdmissionRule::Age,
        ];
        let of_rule = |admission| Self { admission, replacement: Policy::Lru };
        let of_policy =
            |policy: &Policy| Self { admission: AdmissionRule::Always, replacement: *policy };
        let others = Policy::ALL.iter().filter(|policy| **policy != Policy::Lru);
        rules.into_iter().map(of_rule).chain(others.map(of_policy)).collect()
    }

    const NAMED: [(&'static str, Self); 4] = [
        ("none", Self::NONE),
        ("refault", Self::REFAULT),
        ("paper", Self::PAPER),
        ("mmd", Self::MMD),
    ];

    /// Replays the requests of memory through an initially empty tier of `capacity` pages.
    ///
    /// # Errors
    /// A capacity of zero or too many pages.
    pub fn replay(
        self,
        paged: &Paged,
        capacity: u64,
        count_pages: bool,
    ) -> Result<Replayed, SpaceError> {
        self.replay_within(paged, capacity, count_pages, None)
    }

    /// Like [`replay`](Self::replay), with a limit on the rate of writes of the tier.
    ///
    /// # Errors
    /// A capacity of zero or too many pages.
    pub fn replay_within(
        self,
        paged: &Paged,
        capacity: u64,
        count_pages: bool,
        budget: Option<WriteRate>,
    ) -> Result<Replayed, SpaceError> {
        let space = Space::new(capacity, paged.footprint.into())?;
        let mut admission = self.admission.make(space)?;
        if let Some(rate) = budget {
            admission = Box::new(Budget::new(admission, rate));
        }
        Ok(self.replacement.visit(space, Replay { paged, admission, count_pages }))
    }
}

impl AdmissionRule {
    /// The rule for an empty tier.
    ///
    /// # Errors
    /// The rule would remember too many pages.
    pub fn make(self, tier: Space) -> Result<Box<dyn Admission + Send>, SpaceError> {
        let (footprint, capacity) = (tier.footprint(), tier.capacity());
        let times = |times: f64| (times * f64::from(capacity)).round().max(1.0) as u32;
        Ok(match self {
            Self::Never => Box::new(Never),
            Self::Always => Box::new(Always),
            Self::Second => Box::new(SecondEviction::new(footprint)),
            Self::Ghost(of) => Box::new(Ghost::new(footprint, times(of))?),
            Self::RejectFirst(of) => Box::new(RejectFirst::new(footprint, times(of))),
            Self::Refault => Box::new(Refault::new(tier)),
            Self::Gate(life) => Box::new(Gate::new(footprint, capacity, life)),
            Self::Age => Box::new(Age::new(tier)),
        })
    }
}

struct Replay<'a> {
    paged: &'a Paged,
    admission: Box<dyn Admission + Send>,
    count_pages: bool,
}

impl Visit for Replay<'_> {
    type Output = Replayed;

    fn visit<R: Replacement>(self, cache: R) -> Replayed {
        let mut tier = Tier::new(cache, self.admission);
        if self.count_pages {
            tier.count_pages();
        }
        let waits = tier.replay(self.paged);
        let (over_budget, bytes) = (tier.over_budget(), tier.bytes());
        let per_page = tier.per_page().cloned();
        Replayed { traffic: *tier.traffic(), per_page, waits, over_budget, bytes }
    }
}

impl fmt::Display for TierPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.iter().find(|(_, known)| known == self) {
            Some((name, _)) => f.pad(name),
            None => f.pad(&format!("{}/{}", self.admission, self.replacement)),
        }
    }
}

impl fmt::Display for AdmissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Always => f.write_str("always"),
            Self::Second => f.write_str("second"),
            Self::Ghost(times) => write!(f, "ghost={times}"),
            Self::RejectFirst(times) => write!(f, "reject-first={times}"),
            Self::Refault => f.write_str("refault"),
            Self::Gate(life) => write!(f, "gate={life}"),
            Self::Age => f.write_str("age"),
        }
    }
}

/// A name that is no policy of a tier.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnknownTierPolicy {
    /// The part after the slash.
    #[error(transparent)]
    Replacement(#[from] UnknownPolicy),
    /// The part before the slash.
    #[error(
        "unknown admission rule {0:?}; rules: always, second, ghost=TIMES, reject-first=TIMES, \
         refault, gate=LIFE (a whole number), age, never; rules with a policy: none, refault, paper, mmd"
    )]
    Admission(String),
}

impl FromStr for TierPolicy {
    type Err = UnknownTierPolicy;

    /// `RULE/POLICY`, or a name for both. A rule alone goes with LRU, a policy alone with `always`.
    fn from_str(typed: &str) -> Result<Self, UnknownTierPolicy> {
        if let Some((_, known)) = Self::NAMED.iter().find(|(name, _)| *name == typed) {
            return Ok(*known);
        }
        if let Some((rule, policy)) = typed.split_once('/') {
            return Ok(Self { admission: rule.parse()?, replacement: policy.parse()? });
        }
        match (typed.parse(), typed.parse()) {
            (Ok(admission), _) => Ok(Self { admission, replacement: Policy::Lru }),
            (_, Ok(replacement)) => Ok(Self { admission: AdmissionRule::Always, replacement }),
            (Err(unknown), _) => Err(unknown),
        }
    }
}

impl FromStr for AdmissionRule {
    type Err = UnknownTierPolicy;

    fn from_str(typed: &str) -> Result<Self, UnknownTierPolicy> {
        let (name, value) = typed.split_once('=').map_or((typed, None), |(n, v)| (n, Some(v)));
        let unknown = || UnknownTierPolicy::Admission(typed.to_owned());
        let times = |otherwise: f64| {
            let times: f64 = value.map_or(Ok(otherwise), str::parse).map_err(|_| unknown())?;
            if times > 0.0 && times <= 1e6 { Ok(times) } else { Err(unknown()) }
        };
        match (name, value) {
            ("never", None) => Ok(Self::Never),
            ("always", None) => Ok(Self::Always),
            ("second", None) => Ok(Self::Second),
            ("age", None) => Ok(Self::Age),
            ("refault", None) => Ok(Self::Refault),
            ("ghost", _) => Ok(Self::Ghost(times(1.0)?)),
            ("reject-first", _) => Ok(Self::RejectFirst(times(1.0)?)),
            ("gate", None) => Ok(Self::Gate(4)),
            ("gate", Some(life)) => match life.parse() {
                Ok(life @ 1..=1_000_000) => Ok(Self::Gate(life)),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_printed() {
        for typed in
            ["none", "paper", "mmd", "always/arc", "ghost=8/lru", "gate=4/s3-fifo", "refault/lirs"]
        {
            assert_eq!(typed.parse::<TierPolicy>().unwrap().to_string(), typed);
        }
        for wrong in ["gate=0.5", "gate=0", "gate=4.5", "gate=", "gate=-1", "gate=1000001"] {
            assert!(wrong.parse::<TierPolicy>().is_err(), "{wrong}");
        }
        assert_eq!("second/lru".parse(), Ok(TierPolicy::PAPER));
        assert_eq!("second".parse(), Ok(TierPolicy::PAPER));
        assert_eq!("larc".parse::<TierPolicy>().unwrap().to_string(), "always/larc");
    }

    #[test]
    fn an_unknown_policy_is_an_error_that_lists_all() {
        let error = |typed: &str| typed.parse::<TierPolicy>().unwrap_err().to_string();
        assert!(
            error("sometimes").starts_with("unknown admission rule \"sometimes\"; rules: always")
        );
        assert!(error("always/rlu").starts_with("unknown policy \"rlu\""));
        assert!(error("ghost=0/lru").starts_with("unknown admission rule \"ghost=0\""));
    }
}
