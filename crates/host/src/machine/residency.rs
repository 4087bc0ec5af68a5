//! Time in each frequency, idle time of CPUs, and time in each idle state: counters of
//! `Documentation/cpu-freq/cpufreq-stats.rst`, of `proc_stat(5)` and of
//! `Documentation/admin-guide/pm/cpuidle.rst`.

use std::collections::BTreeMap;
use std::path::Path;

use super::cpufreq::{FrequencyPolicy, policies};
use super::reader::Reader;
use super::topology::parse_list;
use crate::clock::user_tick;
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::{Hertz, Nanos};

const STAT: &str = "/proc/stat";

/// An upper bound on frequencies of a clock, and on CPUs.
const MOST: usize = 8_192;

/// The cpufreq policies of this machine that have an online CPU.
///
/// # Errors
/// `Parse` if the list of online CPUs is malformed.
pub fn frequency_policies(root: &Root) -> Result<Vec<FrequencyPolicy>> {
    let online = Path::new("/sys/devices/system/cpu/online");
    let list = root.read_if_there(online)?.unwrap_or_default();
    let online: Vec<usize> = parse_list(&list, online)?.iter().collect();
    let mut found = policies(&mut Reader::new(root), &online);
    found.retain(|policy| !policy.cpus.is_empty());
    Ok(found)
}

/// The time that the clock of the policy in `dir` has spent in each frequency
/// since boot, in steps of a tick of `USER_HZ` (10 ms). `None` if the kernel
/// has no such statistics.
///
/// # Errors
/// `File`, also for a policy that no longer exists; `Parse`.
pub fn time_in_state(root: &Root, dir: &Path) -> Result<Option<Vec<(Hertz, Nanos)>>> {
    let path = dir.join("stats/time_in_state");
    match root.read_if_there(&path)? {
        Some(text) => parse_time_in_state(&text, &path, user_tick()).map(Some),
        None => Ok(None),
    }
}

/// The idle time of each online CPU since boot, including waits for storage, in
/// steps of a tick of `USER_HZ` (10 ms).
///
/// # Errors
/// `File` without procfs; `Parse`.
pub fn idle_times(root: &Root) -> Result<Vec<(usize, Nanos)>> {
    parse_idle_times(&root.read(STAT)?, user_tick())
}

/// The use of an idle state by all CPUs since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdleUse {
    /// The state's name: `C1`, `WFI` …
    pub name: String,
    /// The CPUs that have it.
    pub cpus: u64,
    /// The time that they have spent in it, summed, in steps of a microsecond.
    pub time: Nanos,
    /// How often a CPU has entered it.
    pub entries: u64,
}

/// The use of each idle state, the shallowest first; empty without cpuidle.
///
/// # Errors
/// `File` if a state's files cannot be read; `Parse`.
pub fn idle_uses(root: &Root) -> Result<Vec<IdleUse>> {
    let cpus = Path::new("/sys/devices/system/cpu");
    let mut uses: BTreeMap<usize, IdleUse> = BTreeMap::new();
    for cpu in root.list(cpus)?.iter().filter(|name| name.starts_with("cpu")).take(MOST) {
        let states = cpus.join(cpu).join("cpuidle");
        // The directory of the driver has the same name as those of CPUs with states.
        if cpu == "cpuidle" || !root.exists(&states) {
            continue;
        }
        for state in root.list(&states)? {
            let number = state.strip_prefix("state").and_then(|number| number.parse().ok());
            let Some(number) = number else { continue };
            let file = |name: &str| states.join(&state).join(name);
            let of_all = uses.entry(number).or_default();
            of_all.cpus += 1;
            root.read(file("name"))?.trim().clone_into(&mut of_all.name);
            let time: u64 = root.read_number(file("time"))?;
            of_all.time = of_all.time + Nanos::from_micros(time);
            of_all.entries += root.read_number::<u64>(file("usage"))?;
        }
    }
    Ok(uses.into_values().collect())
}

/// Parses lines of a frequency in kHz and a number of ticks.
pub(crate) fn parse_time_in_state(
    text: &str,
    path: &Path,
    tick: Nanos,
) -> Result<Vec<(Hertz, Nanos)>> {
    let line = |(index, line): (usize, &str)| {
        let wrong = || Error::parse(path, index + 1, "expected a frequency and a number of ticks");
        let (khz, ticks) = line.trim().split_once(' ').ok_or_else(wrong)?;
        let khz = khz.parse().map_err(|_| wrong())?;
        let ticks = ticks.trim().parse().map_err(|_| wrong())?;
        Ok((Hertz::from_khz(khz), tick.times(ticks)))
    };
    text.lines().take(MOST).enumerate().map(line).collect()
}

/// Parses the lines `cpuN user nice system idle iowait …`.
pub(crate) fn parse_idle_times(text: &str, tick: Nanos) -> Result<Vec<(usize, Nanos)>> {
    let cpus = text.lines().enumerate().filter_map(|(index, line)| {
        let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        (!cpu.is_empty()).then_some((index, cpu, ticks))
    });
    cpus.take(MOST)
        .map(|(index, cpu, ticks)| {
            let wrong = || Error::parse(STAT, index + 1, "expected \"cpuN\" and four numbers");
            let mut ticks = ticks.split_whitespace().skip(3).map(str::parse::<u64>);
            let idle = ticks.next().and_then(Result::ok).ok_or_else(wrong)?;
            let waiting = ticks.next().unwrap_or(Ok(0)).map_err(|_| wrong())?;
            let cpu = cpu.parse().map_err(|_| wrong())?;
            Ok((cpu, tick.times(idle.saturating_add(waiting))))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const TICK: Nanos = Nanos::from_millis(10);

    #[test]
    fn times_are_ticks() {
        let text = "1200000 25\n200000 975\n";
        let times = parse_time_in_state(text, Path::new("/x"), TICK).unwrap();
        assert_eq!(
            times,
            [
                (Hertz(1_200_000_000), Nanos::from_millis(250)),
                (Hertz(200_000_000), Nanos::from_millis(9_750))
            ]
        );
        for wrong in ["1200000", "x 5", "5 x", "1 2\n\n"] {
            let error = parse_time_in_state(wrong, Path::new("/x"), TICK).unwrap_err();
            assert!(error.to_string().starts_with("cannot parse /x, line "), "{error}");
        }
    }

    #[test]
    fn each_cpu_has_its_idle_time() {
        let text = "cpu  5 0 5 70 20\ncpu0 4 0 1 30 10 0 0\ncpu3 1 0 4 40\nintr 7";
        let idle = parse_idle_times(text, TICK).unwrap();
        assert_eq!(idle, [(0, Nanos::from_millis(400)), (3, Nanos::from_millis(400))]);
        for wrong in ["cpu0 1 2 3", "cpux 1 2 3 4", "cpu0 1 2 3 4 x", "cpu0 1 2 3 -4"] {
            assert!(parse_idle_times(wrong, TICK).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kernel_without_statistics_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(time_in_state(&root, Path::new("/policy0")).unwrap(), None);
        fs::create_dir_all(dir.path().join("policy0/stats")).unwrap();
        fs::write(dir.path().join("policy0/stats/time_in_state"), "1000 1\n").unwrap();
        let times = time_in_state(&root, Path::new("/policy0")).unwrap().unwrap();
        assert_eq!(times, [(Hertz::from_khz(1_000), user_tick())]);
        assert!(idle_times(&root).is_err());
    }

    #[test]
    fn the_uses_of_all_cpus_are_summed() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let cpus = dir.path().join("sys/devices/system/cpu");
        fs::create_dir_all(cpus.join("cpuidle")).unwrap();
        fs::create_dir_all(cpus.join("cpu1")).unwrap();
        assert_eq!(idle_uses(&root).unwrap(), [], "no CPU has states");
        for (cpu, state, name, values) in [
            ("cpu0", "state0", "POLL", ["10", "2"]),
            ("cpu0", "state1", "C1", ["500", "7"]),
            ("cpu1", "state1", "C1", ["1500", "3"]),
        ] {
            let state = cpus.join(cpu).join("cpuidle").join(state);
            fs::create_dir_all(&state).unwrap();
            for (file, text) in [("name", name), ("time", values[0]), ("usage", values[1])] {
                fs::write(state.join(file), format!("{text}\n")).unwrap();
            }
        }
        let idle = |name: &str, cpus, micros, entries| IdleUse {
            name: name.to_owned(),
            cpus,
            time: Nanos::from_micros(micros),
            entries,
        };
        assert_eq!(idle_uses(&root).unwrap(), [idle("POLL", 1, 10, 2), idle("C1", 2, 2_000, 10)]);
        fs::write(cpus.join("cpu1/cpuidle/state1/time"), "long").unwrap();
        assert!(idle_uses(&root).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_times_or_an_error(text in "(cpu)?[0-9 x\n]{0,80}") {
            let _any = parse_idle_times(&text, TICK);
            let _any = parse_time_in_state(&text, Path::new("/x"), TICK);
        }
    }
}
