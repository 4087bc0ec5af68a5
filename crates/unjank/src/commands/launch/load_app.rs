//! Workloads of the built-in load app, one for each length.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use regex::Regex;
use unjank_host::frequency::Frequencies;
use unjank_host::sched::CpuSet;
use unjank_host::{Error, Nanos, Root};
use unjank_launch::bench::{Program, Ready, Workload};
use unjank_launch::load::{Rate, STEP};
use unjank_launch::paper;
use unjank_measure::{Fact, Findings, Unit};

use super::load::{BASIC, Threads};
use crate::values;

/// Options of the built-in load app.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The built-in load app")]
pub(crate) struct LoadAppArgs {
    /// Launch the built-in load app with each of these loads
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    pub(crate) load: Option<Vec<Nanos>>,
    /// Threads of its load: a number, or one on each CPU
    #[arg(long, value_name = "N|all", default_value = "all", requires = "load")]
    pub(crate) threads: Threads,
    /// Its basic work, on one thread
    #[arg(long, value_name = "TIME", default_value = BASIC, value_parser = values::duration_or_zero, requires = "load")]
    pub(crate) basic: Nanos,
    /// Count cycles by the frequency that the governor set, as in the virtual phone
    #[arg(long, requires = "load")]
    pub(crate) emulated_clock: bool,
}

/// `unjank launch load` with each length; ready when it prints its line.
pub(crate) fn workloads(
    lengths: &[Nanos],
    args: &LoadAppArgs,
    root: &Root,
    findings: &mut Findings,
) -> Result<Vec<Workload>> {
    if let Some(twice) =
        (1..lengths.len()).find(|&place| lengths[..place].contains(&lengths[place]))
    {
        return Err(Error::Invalid(format!("the load {} is given twice", lengths[twice])).into());
    }
    let mut common: Vec<OsString> = vec![
        "--basic".into(),
        nanoseconds(args.basic).into(),
        "--threads".into(),
        args.threads.0.map_or("all".to_owned(), |threads| threads.to_string()).into(),
    ];
    if args.emulated_clock {
        // Reports missing files before anything is launched.
        Frequencies::open(root, &CpuSet::allowed()?)?;
        common.push("--emulated-clock".into());
        findings.warn(format!(
            "emulated clock: the load app counts cycles by the frequency that the governor set, and \
             notices a change within {STEP}"
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
            name: paper::workload(length),
            program: Program::new(command.collect(), Ready::Stdout(ready.clone())),
            times_itself: true,
        }
    };
    Ok(lengths.iter().map(workload).collect())
}

/// In the form that the load app parses.
fn nanoseconds(length: Nanos) -> String {
    if length == Nanos::ZERO { "0".to_owned() } else { format!("{}ns", length.get()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_survives_the_way_to_the_app() {
        for text in ["0", "1500ms", "2s", "3us"] {
            let length = values::duration_or_zero(text).unwrap();
            assert_eq!(values::duration_or_zero(&nanoseconds(length)), Ok(length));
            assert_eq!(paper::workload(length), format!("load-{text}"));
        }
    }
}
