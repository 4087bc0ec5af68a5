//! Parses scheduling policies: `other:5`, `other:-20/100us`, `fifo:80`,
//! `deadline:2ms/10ms/10ms`.

use std::str::FromStr;

use jiff::SignedDuration;

use super::fair::Fair;
use super::policy::{Policy, Priority};
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// The least run time that the kernel admits: `DL_SCALE`, 1024 ns
/// (`__checkparam_dl` in `kernel/sched/deadline.c`).
const LEAST_RUNTIME: u64 = 1_024;

impl FromStr for Policy {
    type Err = Error;

    /// Parses `other[:NICE[/SLICE]]`, `batch[:NICE[/SLICE]]`, `idle`, `fifo:N`,
    /// `rr:N` and `deadline:RUNTIME/DEADLINE/PERIOD`. Times have a unit or are
    /// nanoseconds. Parses every policy that [`Policy`] prints, and the forms in
    /// older records: `other:nice+5`, times without a unit.
    fn from_str(text: &str) -> Result<Self> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("other", rest) => Ok(Self::Other(fair(text, rest)?)),
            ("batch", rest) => Ok(Self::Batch(fair(text, rest)?)),
            ("idle", None) => Ok(Self::Idle),
            ("fifo", Some(rest)) => Ok(Self::Fifo(priority(text, rest)?)),
            ("rr", Some(rest)) => Ok(Self::RoundRobin(priority(text, rest)?)),
            ("deadline", Some(rest)) => deadline(text, rest),
            _ => Err(invalid(
                text,
                "is not a scheduling policy: other[:NICE[/SLICE]], batch[:NICE[/SLICE]], idle, \
                 fifo:1-99, rr:1-99 or deadline:RUNTIME/DEADLINE/PERIOD",
            )),
        }
    }
}

fn invalid(text: &str, what: &str) -> Error {
    let start: String = text.chars().take(60).collect();
    Error::Invalid(format!("{start:?} {what}"))
}

fn fair(text: &str, rest: Option<&str>) -> Result<Fair> {
    let Some(rest) = rest else { return Ok(Fair::default()) };
    let (nice, slice) = match rest.split_once('/') {
        Some((nice, slice)) => (nice, Some(slice)),
        None => (rest, None),
    };
    let number = nice.strip_prefix("nice").unwrap_or(nice).parse().ok();
    let nice = number
        .filter(|nice| (-20..=19).contains(nice))
        .ok_or_else(|| invalid(text, "needs a nice value from -20 to 19"))?;
    let wrong = || invalid(text, "needs a slice from 100us to 100ms after the nice value");
    let slice = slice.map(|slice| {
        let slice = nanos(slice).map(Nanos);
        slice.filter(|slice| (Fair::SHORTEST..=Fair::LONGEST).contains(slice)).ok_or_else(wrong)
    });
    Ok(Fair { nice, slice: slice.transpose()? })
}

fn priority(text: &str, rest: &str) -> Result<Priority> {
    let number: u8 =
        rest.parse().map_err(|_| invalid(text, "needs a real-time priority from 1 to 99"))?;
    Priority::new(number)
}

fn deadline(text: &str, rest: &str) -> Result<Policy> {
    let wrong = || invalid(text, "needs three times, such as deadline:2ms/10ms/10ms");
    let mut lengths = rest.split('/').map(nanos);
    let mut next = || lengths.next().flatten().ok_or_else(wrong);
    let (runtime, deadline, period) = (next()?, next()?, next()?);
    if lengths.next().is_some() {
        return Err(wrong());
    }
    if runtime < LEAST_RUNTIME || runtime > deadline || deadline > period || period > 1 << 62 {
        return Err(invalid(
            text,
            "is refused by the kernel: the run time must be at least 1024 ns and at most the \
             deadline, which must be at most the period",
        ));
    }
    Ok(Policy::Deadline { runtime, deadline, period })
}

fn nanos(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let duration: SignedDuration = text.parse().ok()?;
        u64::try_from(duration.as_nanos()).ok()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(text: &str) -> Option<Policy> {
        text.parse().ok()
    }

    #[test]
    fn every_policy_can_be_parsed() {
        let priority = |n| Priority::new(n).unwrap();
        assert_eq!(policy("other"), Some(Policy::other(0)));
        assert_eq!(policy("other:-5"), Some(Policy::other(-5)));
        assert_eq!(policy("batch:19"), Some(Policy::batch(19)));
        let slice = Some(Nanos(100_000));
        assert_eq!(policy("other:-20/100us"), Some(Policy::Other(Fair { nice: -20, slice })));
        assert_eq!(policy("idle"), Some(Policy::Idle));
        assert_eq!(policy("fifo:80"), Some(Policy::Fifo(priority(80))));
        assert_eq!(policy("rr:1"), Some(Policy::RoundRobin(priority(1))));
        let deadline =
            Policy::Deadline { runtime: 2_000_000, deadline: 10_000_000, period: 20_000_000 };
        assert_eq!(policy("deadline:2ms/10ms/20ms"), Some(deadline));
    }

    #[test]
    fn policies_in_older_records_can_be_parsed() {
        let cases = [
            ("other:nice+5/10000us", "other:5/10ms"),
            ("batch:nice-20/1234567ns", "batch:-20/1234567ns"),
            ("deadline:1000000/10000000/10000000", "deadline:1ms/10ms/10ms"),
        ];
        for (older, typed) in cases {
            assert_eq!(policy(older).unwrap().to_string(), typed);
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        for (text, says) in [
            ("fifo:0", "1 to 99"),
            ("fifo:100", "1 to 99"),
            ("fifo:300", "1 to 99"),
            ("fifo", "fifo:1-99"),
            ("rr:-1", "1 to 99"),
            ("other:20", "from -20 to 19"),
            ("batch:nice", "from -20 to 19"),
            ("other:0/99us", "a slice from 100us"),
            ("other:0/1s", "to 100ms"),
            ("batch:0/", "a slice from"),
            ("idle:1", "not a scheduling policy"),
            ("FIFO:1", "not a scheduling policy"),
            ("", "not a scheduling policy"),
            ("deadline:1ms/2ms", "three times"),
            ("deadline:1ms/2ms/3ms/4ms", "three times"),
            ("deadline:-1ms/2ms/3ms", "three times"),
            ("deadline:3ms/2ms/1ms", "refused by the kernel"),
            ("deadline:1us/2ms/3ms", "refused by the kernel"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    fn fair() -> impl Strategy<Value = Fair> {
        let slice = proptest::option::of((100_000_u64..=100_000_000).prop_map(Nanos));
        (-20_i32..=19, slice).prop_map(|(nice, slice)| Fair { nice, slice })
    }

    fn any_policy() -> impl Strategy<Value = Policy> {
        let priority = || (1_u8..=99).prop_map(|n| Priority::new(n).unwrap());
        let times = (1_024_u64..1 << 40, 0_u64..1 << 40, 0_u64..1 << 40);
        prop_oneof![
            fair().prop_map(Policy::Other),
            fair().prop_map(Policy::Batch),
            Just(Policy::Idle),
            priority().prop_map(Policy::Fifo),
            priority().prop_map(Policy::RoundRobin),
            times.prop_map(|(runtime, more, rest)| Policy::Deadline {
                runtime,
                deadline: runtime + more,
                period: runtime + more + rest,
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_printed_policy_is_parsed(policy in any_policy()) {
            prop_assert_eq!(policy.to_string().parse::<Policy>().unwrap(), policy);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,80}") {
            let _either = text.parse::<Policy>();
        }
    }
}
