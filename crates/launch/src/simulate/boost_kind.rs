//! Kinds of boosts, and their writes under each governor.

use std::str::FromStr;

use unjank_host::{Error, Nanos, Result};

use super::{NamedBoost, Scenario};
use crate::model::{Boost, Governor, Khz, Launch, Profile, Tunable};

/// Writes of a service at a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoostKind {
    /// No writes.
    None,
    /// Shortens the governor's period.
    Plain,
    /// Writes the shorter period twice, as each write makes the governor evaluate the load.
    DoubleTap,
    /// Raises the lower limit of the frequency to the highest one.
    MinFreq,
    /// Lets the scheduler treat tasks as large.
    Uclamp,
    /// The governor `performance` instead, all the time.
    Performance,
}

/// The times of a boost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoostTimes {
    /// The governor's period during a launch, for boosts that shorten it.
    pub during: Nanos,
    /// Time from the launch to the first write.
    pub reaction: Nanos,
    /// Time between the two writes of a double tap.
    pub tap: Nanos,
}

impl BoostKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Plain, Self::DoubleTap, Self::MinFreq, Self::Uclamp, Self::Performance];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Plain => "plain",
            Self::DoubleTap => "double-tap",
            Self::MinFreq => "min-freq",
            Self::Uclamp => "uclamp",
            Self::Performance => "performance",
        }
    }
}

impl FromStr for BoostKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("unknown boost {text:?}; expected one of {known}")
        })
    }
}

impl Scenario {
    /// The boosts to compare: `none` first, which the others are compared with,
    /// and then `kinds`; without kinds, all that the governor accepts.
    ///
    /// # Errors
    /// `Invalid` for an unknown governor, or a kind that it has no period for.
    pub fn boosts(&self, kinds: &[BoostKind], times: &BoostTimes) -> Result<Vec<NamedBoost>> {
        let governor = self.governor()?;
        if kinds.is_empty() {
            let all = BoostKind::ALL.into_iter();
            let named = all.filter_map(|kind| self.make(kind, times, &governor).ok());
            return Ok(named.filter(|named| self.accepts(named, &governor)).collect());
        }
        let others = kinds.iter().filter(|kind| **kind != BoostKind::None);
        let kinds = [BoostKind::None].into_iter().chain(others.copied());
        kinds.map(|kind| self.make(kind, times, &governor)).collect()
    }

    /// One boost.
    ///
    /// # Errors
    /// As for [`boosts`](Self::boosts).
    pub fn boost(&self, kind: BoostKind, times: &BoostTimes) -> Result<NamedBoost> {
        self.make(kind, times, &self.governor()?)
    }

    fn make(&self, kind: BoostKind, times: &BoostTimes, governor: &Governor) -> Result<NamedBoost> {
        let BoostTimes { during, reaction, tap } = *times;
        let during = u32::try_from(during.get() / 1_000).unwrap_or(u32::MAX);
        let period = [Tunable::SamplingRate, Tunable::TimerRate]
            .into_iter()
            .find_map(|tunable| Some((tunable, governor.value(tunable)?)));
        let khz = |frequency| Khz::from(frequency).0;
        let table = &self.machine.table;
        let none = || {
            let reason = "this governor has no period that could be shortened";
            Error::Invalid(format!("--boost {}: {reason}", kind.name()))
        };
        let boost = match kind {
            BoostKind::None | BoostKind::Performance => Boost::none(),
            BoostKind::Plain => {
                let (tunable, usual) = period.ok_or_else(none)?;
                Boost::plain(reaction, tunable, during, usual)
            }
            BoostKind::DoubleTap => {
                let usual = governor.value(Tunable::SamplingRate).ok_or_else(none)?;
                Boost::double_tap(reaction, tap, during, usual)
            }
            BoostKind::MinFreq => {
                Boost::min_freq(reaction, khz(table.highest()), khz(table.lowest()))
            }
            BoostKind::Uclamp => Boost::plain(reaction, Tunable::UclampMin, 1024, 0),
        };
        Ok(NamedBoost {
            name: kind.name().to_owned(),
            boost,
            performance: kind == BoostKind::Performance,
        })
    }

    /// Whether the governor accepts all writes of a boost.
    fn accepts(&self, named: &NamedBoost, governor: &Governor) -> bool {
        let profile = Profile::launch(Nanos(1), Nanos::ZERO, 1);
        let launch = Launch {
            machine: &self.machine,
            governor,
            profile: &profile,
            boost: &named.boost,
            phase: Nanos::ZERO,
            record: false,
        };
        launch.check().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;

    const TIMES: BoostTimes = BoostTimes {
        during: Nanos::from_millis(50),
        reaction: Nanos::from_micros(100),
        tap: Nanos::from_millis(8),
    };

    fn names(boosts: &[NamedBoost]) -> Vec<&str> {
        boosts.iter().map(|boost| boost.name.as_str()).collect()
    }

    #[test]
    fn without_kinds_there_are_all_that_the_governor_accepts() {
        let all = |governor| scenario(governor).boosts(&[], &TIMES).unwrap();
        let ondemand = ["none", "plain", "double-tap", "min-freq", "performance"];
        assert_eq!(names(&all("ondemand")), ondemand);
        assert_eq!(names(&all("schedutil")), ["none", "min-freq", "uclamp", "performance"]);
    }

    #[test]
    fn every_boost_is_compared_with_none() {
        let kinds = [BoostKind::MinFreq, BoostKind::None];
        let boosts = scenario("ondemand").boosts(&kinds, &TIMES).unwrap();
        assert_eq!(names(&boosts), ["none", "min-freq"]);
        let refused = scenario("schedutil").boost(BoostKind::Plain, &TIMES).unwrap_err();
        assert!(refused.to_string().contains("no period"), "{refused}");
    }

    #[test]
    fn names_are_read_back() {
        for kind in BoostKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("turbo".parse::<BoostKind>().unwrap_err().contains("expected one of none, plain"));
    }
}
