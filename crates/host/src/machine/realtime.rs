//! Limits on real-time threads.

use serde::{Deserialize, Serialize};

use super::reader::Reader;
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::{Bytes, Nanos};

const LIMITS: &str = "/proc/self/limits";

/// Limits on real-time threads: `sched(7)`, `getrlimit(2)`. These are the soft
/// limits, which the kernel enforces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RealtimeLimits {
    /// `/proc/sys/kernel/sched_rt_period_us`.
    pub period: Option<Nanos>,
    /// `/proc/sys/kernel/sched_rt_runtime_us`; `None` if throttling is off (−1)
    /// or unknown.
    pub runtime: Option<Nanos>,
    /// Whether the kernel throttles real-time threads.
    pub throttled: bool,
    /// `RLIMIT_RTPRIO`: the highest priority an unprivileged thread may take;
    /// `None` is unlimited.
    pub rtprio: Option<u64>,
    /// `RLIMIT_RTTIME`: how long a real-time thread may compute without
    /// sleeping; `None` is unlimited.
    pub rttime: Option<Nanos>,
    /// `RLIMIT_NICE`, as the nice value it allows (−20 … 19).
    pub nice: Option<i64>,
    /// `RLIMIT_MEMLOCK`; `None` is unlimited.
    pub memlock: Option<Bytes>,
}

pub(super) fn read(reader: &mut Reader) -> RealtimeLimits {
    let root = reader.root();
    let micros = |file: &str| root.read_number_if_there::<i64>(format!("/proc/sys/kernel/{file}"));
    let (period, runtime) = (micros("sched_rt_period_us"), micros("sched_rt_runtime_us"));
    let limits = Limits::read(root);
    let absent = "the kernel does not throttle real-time threads";
    let period = reader.wanted("realtime.period", period, absent);
    let runtime = reader.wanted("realtime.runtime", runtime, absent);
    let limits = reader
        .wanted("realtime.limits", limits, "no /proc/self/limits: is procfs mounted?")
        .unwrap_or_default();
    let nanos = |micros: i64| u64::try_from(micros).ok().map(Nanos::from_micros);
    RealtimeLimits {
        period: period.and_then(nanos),
        runtime: runtime.and_then(nanos),
        // A runtime as long as the period throttles nothing (sched(7)).
        throttled: runtime
            .is_some_and(|runtime| runtime >= 0 && period.is_none_or(|period| runtime < period)),
        rtprio: limits.rtprio.number(),
        rttime: limits.rttime.number().map(Nanos::from_micros),
        nice: limits.nice.nice_value(),
        memlock: limits.memlock.number().map(Bytes),
    }
}

/// The parts of `/proc/self/limits` that this crate uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    rtprio: Limit,
    rttime: Limit,
    nice: Limit,
    memlock: Limit,
}

/// A soft limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Limit {
    #[default]
    Unknown,
    Unlimited,
    At(u64),
}

impl Limit {
    fn number(self) -> Option<u64> {
        match self {
            Self::At(limit) => Some(limit),
            Self::Unknown | Self::Unlimited => None,
        }
    }

    /// `RLIMIT_NICE` counts from 1 (nice 19) to 40 (nice −20); 0 allows no
    /// value below the thread's own.
    fn nice_value(self) -> Option<i64> {
        match self {
            Self::Unknown => None,
            Self::Unlimited => Some(-20),
            Self::At(limit) => Some((20 - limit.min(40) as i64).min(19)),
        }
    }
}

impl Limits {
    fn read(root: &Root) -> Result<Option<Self>> {
        root.read_if_there(LIMITS)?.map(|text| Self::parse(&text)).transpose()
    }

    /// Parses one limit per line: its name, soft limit, hard limit, unit.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut limits = Self::default();
        for (number, line) in text.lines().enumerate() {
            let soft = |name: &str| {
                let rest = line.strip_prefix(name)?;
                Some(soft_limit(rest).ok_or_else(|| {
                    Error::parse(LIMITS, number + 1, "expected a number or \"unlimited\"")
                }))
            };
            let fields = [
                ("Max locked memory", &mut limits.memlock),
                ("Max nice priority", &mut limits.nice),
                ("Max realtime priority", &mut limits.rtprio),
                ("Max realtime timeout", &mut limits.rttime),
            ];
            for (name, field) in fields {
                if let Some(limit) = soft(name) {
                    *field = limit?;
                }
            }
        }
        Ok(limits)
    }
}

fn soft_limit(rest: &str) -> Option<Limit> {
    match rest.split_whitespace().next()? {
        "unlimited" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::At),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_are_read_by_name() {
        let limits = Limits::parse(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max locked memory         8388608              unlimited            bytes     \n\
             Max nice priority         31                   40                   \n\
             Max realtime priority     95                   99                   \n\
             Max realtime timeout      unlimited            unlimited            us        ",
        )
        .unwrap();
        assert_eq!(limits.memlock.number(), Some(8 << 20));
        assert_eq!(limits.nice.nice_value(), Some(-11));
        assert_eq!(limits.rtprio.number(), Some(95));
        assert_eq!((limits.rttime, limits.rttime.number()), (Limit::Unlimited, None));
    }

    #[test]
    fn the_nice_limit_counts_the_other_way() {
        assert_eq!(Limit::At(0).nice_value(), Some(19));
        assert_eq!(Limit::At(40).nice_value(), Some(-20));
        assert_eq!(Limit::At(u64::MAX).nice_value(), Some(-20));
        assert_eq!(Limit::Unlimited.nice_value(), Some(-20));
        assert_eq!(Limit::Unknown.nice_value(), None);
    }

    #[test]
    fn a_malformed_limit_is_reported_with_its_line() {
        let error = Limits::parse("Limit\nMax realtime priority  many").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot parse /proc/self/limits, line 2: expected a number or \"unlimited\""
        );
        assert!(Limits::parse("Max locked memory").is_err());
        assert_eq!(Limits::parse("").unwrap(), Limits::default());
    }
}
