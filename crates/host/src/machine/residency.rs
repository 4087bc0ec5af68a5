//! Time in each frequency and idle time of CPUs: counters of
//! `Documentation/cpu-freq/cpufreq-stats.rst` and of `proc_stat(5)`.

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

    proptest! {
        #[test]
        fn any_text_is_times_or_an_error(text in "(cpu)?[0-9 x\n]{0,80}") {
            let _any = parse_idle_times(&text, TICK);
            let _any = parse_time_in_state(&text, Path::new("/x"), TICK);
        }
    }
}
