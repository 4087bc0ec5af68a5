//! The built-in load app as what is launched, once for each length.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use regex::Regex;
use unjank_host::frequency::Frequencies;
use unjank_host::sched::CpuSet;
use unjank_host::{Nanos, Root};
use unjank_launch::bench::{Program, Ready, Workload};
use unjank_launch::load::{Rate, STEP};
use unjank_measure::{Fact, Findings, Unit};

use super::{Sweep, wrong};

/// `unjank launch load` with each length, ready with its line.
pub(super) fn workloads(
    lengths: &[Nanos],
    sweep: &Sweep,
    root: &Root,
    findings: &mut Findings,
) -> Result<Vec<Workload>> {
    if let Some(twice) =
        (1..lengths.len()).find(|&place| lengths[..place].contains(&lengths[place]))
    {
        return Err(wrong(format!("the load {} is there twice", lengths[twice])).into());
    }
    let mut common: Vec<OsString> = vec![
        "--basic".into(),
        nanoseconds(sweep.basic).into(),
        "--threads".into(),
        sweep.threads.0.map_or("all".to_owned(), |threads| threads.to_string()).into(),
    ];
    if sweep.emulated_clock {
        // What is missing is said before anything is launched.
        Frequencies::open(root, &CpuSet::allowed()?)?;
        common.push("--emulated-clock".into());
        findings.warn(format!(
            "emulated clock: the load app counts cycles by the frequency that the governor set, and \
             sees a change of it within {STEP}"
        ));
    } else {
        let rate = Rate::calibrate().context("while calibrating the load")?;
        common.extend(["--rate".into(), rate.get().to_string().into()]);
        findings.facts.push(Fact::new(
            "launch/bench/full_speed",
            rate.get() as f64 * 1_000.0,
            Unit::PerSecond,
        ));
    }
    let ready = Regex::new("^on screen: ").context("while preparing to read the load app")?;
    let workload = |&length: &Nanos| {
        let own = ["/proc/self/exe".into(), "launch".into(), "load".into()];
        let command =
            own.into_iter().chain([nanoseconds(length).into()]).chain(common.iter().cloned());
        Workload {
            name: format!("load-{}", short(length)),
            program: Program { command: command.collect(), ready: Ready::Stdout(ready.clone()) },
            times_itself: true,
        }
    };
    Ok(lengths.iter().map(workload).collect())
}

/// As the load app reads it.
fn nanoseconds(length: Nanos) -> String {
    if length == Nanos::ZERO { "0".to_owned() } else { format!("{}ns", length.get()) }
}

/// Without a space: a segment of a name.
fn short(length: Nanos) -> String {
    let nanos = length.get();
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let whole = |&(_, unit): &(&str, u64)| nanos > 0 && nanos.is_multiple_of(unit);
    match units.into_iter().find(whole) {
        Some((name, unit)) => format!("{}{name}", nanos / unit),
        None => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values;

    #[test]
    fn a_length_survives_both_forms() {
        for (text, expected) in [("0", "0"), ("1500ms", "1500ms"), ("2s", "2s"), ("3us", "3us")] {
            let length = values::duration_or_zero(text).unwrap();
            assert_eq!(short(length), expected);
            assert_eq!(values::duration_or_zero(&nanoseconds(length)), Ok(length));
            assert_eq!(values::duration_or_zero(&short(length)), Ok(length));
        }
    }
}
