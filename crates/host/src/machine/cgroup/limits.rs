//! The limits of a cgroup, including those of its ancestors.

use std::path::Path;

use super::hierarchy::{Hierarchies, Location};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::{Bytes, Nanos};

/// Version 1 expresses "unlimited" as a limit of about 2^63 bytes.
const UNLIMITED: u64 = 1 << 62;

/// A limit of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quota {
    pub(super) cpus: f64,
    pub(super) period: Nanos,
    pub(super) throttled: Option<u64>,
}

/// The tightest limits of memory, and the memory that counts against them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MemoryLimits {
    pub(super) limit: Option<Bytes>,
    pub(super) high: Option<Bytes>,
    pub(super) used: Option<Bytes>,
    pub(super) swap: Option<Bytes>,
}

/// The tightest CPU quota of the cgroup and its ancestors.
pub(super) fn cpu(root: &Root, location: &Location) -> Result<Option<Quota>> {
    let mut tightest: Option<Quota> = None;
    for dir in &location.levels {
        let Some((cpus, period)) = quota(root, location.version, dir)? else { continue };
        if tightest.is_none_or(|tightest| cpus < tightest.cpus) {
            let throttled = counter(root, &dir.join("cpu.stat"), "nr_throttled")?;
            tightest = Some(Quota { cpus, period, throttled });
        }
    }
    Ok(tightest)
}

/// The quota of one cgroup: CPUs, and the period over which they are counted.
pub(super) fn quota(root: &Root, version: u8, dir: &Path) -> Result<Option<(f64, Nanos)>> {
    let (quota, period) = if version == 2 {
        let path = dir.join("cpu.max");
        match root.read_if_there(&path)? {
            None => return Ok(None),
            Some(text) => parse_cpu_max(&text, &path)?,
        }
    } else {
        let number = |file: &str| root.read_number_if_there::<i64>(dir.join(file));
        (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
    };
    Ok(match (quota, period) {
        (Some(quota), Some(period)) if quota > 0 && period > 0 => {
            Some((quota as f64 / period as f64, Nanos::from_micros(period.unsigned_abs())))
        }
        _ => None,
    })
}

/// Parses `50000 100000`, or `max 100000` for no quota; both in microseconds.
pub(crate) fn parse_cpu_max(text: &str, path: &Path) -> Result<(Option<i64>, Option<i64>)> {
    let number = |word: &str| {
        word.parse::<i64>()
            .map_err(|_| Error::parse(path, 1, "expected a quota and a period in microseconds"))
    };
    let mut words = text.split_whitespace();
    let quota = words.next().filter(|&word| word != "max").map(number).transpose()?;
    Ok((quota, words.next().map(number).transpose()?))
}

/// The real-time budget, if the kernel rations it by cgroup.
pub(super) fn realtime_runtime(root: &Root, location: &Location) -> Result<Option<Nanos>> {
    let Some(dir) = location.levels.first() else { return Ok(None) };
    let micros = root.read_number_if_there::<i64>(dir.join("cpu.rt_runtime_us"))?;
    Ok(micros.and_then(|micros| u64::try_from(micros).ok()).map(Nanos::from_micros))
}

/// The utilisation clamps of this cgroup, in percent.
pub(super) fn clamps(root: &Root, location: &Location) -> Result<(Option<f64>, Option<f64>)> {
    let Some(dir) = location.levels.first() else { return Ok((None, None)) };
    let clamp = |file: &str| {
        let path = dir.join(file);
        root.read_if_there(&path)?.map(|text| parse_clamp(&text, &path)).transpose()
    };
    Ok((clamp("cpu.uclamp.min")?, clamp("cpu.uclamp.max")?))
}

/// Parses a percentage with two decimals, or `max`.
fn parse_clamp(text: &str, path: &Path) -> Result<f64> {
    let percent = if text == "max" { Some(100.0) } else { text.parse().ok() };
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| Error::parse(path, 1, "expected a percentage or \"max\""))
}

/// The files of one version of the memory controller.
struct MemoryFiles {
    limit: &'static str,
    high: Option<&'static str>,
    used: &'static str,
    swap: Option<&'static str>,
    /// The name in `memory.stat` of page cache that was not used lately,
    /// including that of descendants.
    inactive_file: &'static str,
}

fn memory_files(version: u8) -> MemoryFiles {
    if version == 2 {
        MemoryFiles {
            limit: "memory.max",
            high: Some("memory.high"),
            used: "memory.current",
            swap: Some("memory.swap.max"),
            inactive_file: "inactive_file",
        }
    } else {
        MemoryFiles {
            limit: "memory.limit_in_bytes",
            high: None,
            used: "memory.usage_in_bytes",
            swap: None,
            inactive_file: "total_inactive_file",
        }
    }
}

/// The tightest memory limits of the cgroup and its ancestors.
pub(super) fn memory(root: &Root, location: &Location) -> Result<MemoryLimits> {
    let files = memory_files(location.version);
    let mut tightest = MemoryLimits::default();
    for dir in &location.levels {
        let used = bytes(root, &dir.join(files.used))?;
        let limit = bytes(root, &dir.join(files.limit))?;
        if limit.is_some_and(|limit| tightest.limit.is_none_or(|known| limit < known)) {
            (tightest.limit, tightest.used) = (limit, used);
        }
        tightest.used = tightest.used.or(used);
        for (file, known) in [(files.high, &mut tightest.high), (files.swap, &mut tightest.swap)] {
            let found = file.map(|file| bytes(root, &dir.join(file))).transpose()?.flatten();
            *known = [*known, found].into_iter().flatten().min();
        }
    }
    Ok(tightest)
}

/// How much more memory this process's cgroups allow, as far as they limit it:
/// limit − use, with page cache that was not used lately counted as free, since
/// reclaim takes it first.
pub(crate) fn memory_left(root: &Root) -> Result<Option<Bytes>> {
    let Some(location) = Hierarchies::read(root)?.and_then(|all| all.of("memory")) else {
        return Ok(None);
    };
    let files = memory_files(location.version);
    let mut least = None;
    for dir in &location.levels {
        let hard = bytes(root, &dir.join(files.limit))?;
        let high = files.high.map(|file| bytes(root, &dir.join(file))).transpose()?.flatten();
        let Some(limit) = [hard, high].into_iter().flatten().min() else { continue };
        let used = bytes(root, &dir.join(files.used))?.unwrap_or_default();
        let cache = counter(root, &dir.join("memory.stat"), files.inactive_file)?;
        let kept = used.get().saturating_sub(cache.unwrap_or_default());
        let left = Bytes(limit.get().saturating_sub(kept));
        least = Some(least.map_or(left, |least: Bytes| least.min(left)));
    }
    Ok(least)
}

/// A size in bytes; `None` if it is unlimited or the file does not exist, as in
/// the root cgroup.
fn bytes(root: &Root, path: &Path) -> Result<Option<Bytes>> {
    let text = root.read_if_there(path)?;
    let Some(number) = text.filter(|text| text != "max") else { return Ok(None) };
    let bytes: u64 = number
        .parse()
        .map_err(|_| Error::parse(path, 1, "expected a number of bytes or \"max\""))?;
    Ok((bytes < UNLIMITED).then_some(Bytes(bytes)))
}

/// One counter of a file with `name value` lines.
pub(super) fn counter(root: &Root, path: &Path, name: &str) -> Result<Option<u64>> {
    let Some(text) = root.read_if_there(path)? else { return Ok(None) };
    for (number, line) in text.lines().enumerate() {
        if let Some((key, value)) = line.split_once(' ')
            && key == name
        {
            let wrong = |_| Error::parse(path, number + 1, format!("expected {name} and a number"));
            return value.trim().parse().map(Some).map_err(wrong);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine with these files below one cgroup mount.
    fn machine(own: &str, mounts: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let all = [("/proc/self/cgroup", own), ("/proc/self/mountinfo", mounts)];
        for (path, text) in all.iter().chain(files) {
            let path = root.resolve(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, root)
    }

    fn location(root: &Root, controller: &str) -> Location {
        Hierarchies::read(root).unwrap().unwrap().of(controller).unwrap()
    }

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                      33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn the_tightest_quota_of_all_levels_counts() {
        let (_dir, root) = machine(
            "0::/pod/job/task\n",
            V2,
            &[
                ("/sys/fs/cgroup/pod/cpu.max", "50000 20000\n"),
                ("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 9\nnr_throttled 3\n"),
                ("/sys/fs/cgroup/pod/job/cpu.max", "400000 100000\n"),
                ("/sys/fs/cgroup/pod/job/task/cpu.max", "max 100000\n"),
            ],
        );
        let quota = cpu(&root, &location(&root, "cpu")).unwrap();
        let expected = Quota { cpus: 2.5, period: Nanos::from_millis(20), throttled: Some(3) };
        assert_eq!(quota, Some(expected));
    }

    #[test]
    fn version_1_expresses_unlimited_as_a_number() {
        let (_dir, root) = machine(
            "4:memory:/\n2:cpu:/rt\n",
            V1,
            &[
                ("/cg/cpu/rt/cpu.cfs_quota_us", "-1\n"),
                ("/cg/cpu/rt/cpu.cfs_period_us", "100000\n"),
                ("/cg/cpu/rt/cpu.rt_runtime_us", "0\n"),
                ("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("/cg/memory/memory.usage_in_bytes", "4096\n"),
            ],
        );
        let cpu_location = location(&root, "cpu");
        assert_eq!(cpu(&root, &cpu_location).unwrap(), None);
        assert_eq!(realtime_runtime(&root, &cpu_location).unwrap(), Some(Nanos::ZERO));
        let limits = memory(&root, &location(&root, "memory")).unwrap();
        assert_eq!(limits, MemoryLimits { used: Some(Bytes(4096)), ..MemoryLimits::default() });
        assert_eq!(memory_left(&root).unwrap(), None);
    }

    #[test]
    fn memory_left_is_the_least_of_all_levels() {
        let (_dir, root) = machine(
            "0::/pod/job\n",
            V2,
            &[
                ("/sys/fs/cgroup/pod/memory.max", "1000000\n"),
                ("/sys/fs/cgroup/pod/memory.high", "900000\n"),
                ("/sys/fs/cgroup/pod/memory.current", "800000\n"),
                ("/sys/fs/cgroup/pod/memory.stat", "anon 100\ninactive_file 300000\n"),
                ("/sys/fs/cgroup/pod/job/memory.max", "700000\n"),
                ("/sys/fs/cgroup/pod/job/memory.current", "100000\n"),
                ("/sys/fs/cgroup/pod/job/memory.swap.max", "0\n"),
            ],
        );
        assert_eq!(memory_left(&root).unwrap(), Some(Bytes(400_000)));
        assert_eq!(
            memory(&root, &location(&root, "memory")).unwrap(),
            MemoryLimits {
                limit: Some(Bytes(700_000)),
                high: Some(Bytes(900_000)),
                used: Some(Bytes(100_000)),
                swap: Some(Bytes(0)),
            }
        );
    }

    #[test]
    fn utilisation_clamps_are_percentages() {
        let parse = |text: &str| parse_clamp(text, Path::new("/cpu.uclamp.min")).ok();
        assert_eq!(
            (parse("max"), parse("33.50"), parse("0.00")),
            (Some(100.0), Some(33.5), Some(0.0))
        );
        assert_eq!((parse("NaN"), parse("-1"), parse("101"), parse("")), (None, None, None, None));
    }

    #[test]
    fn a_malformed_limit_names_its_file() {
        let (_dir, root) = machine("0::/", V2, &[("/sys/fs/cgroup/cpu.max", "half 100000")]);
        let error = cpu(&root, &location(&root, "cpu")).unwrap_err().to_string();
        assert!(error.starts_with("cannot parse /sys/fs/cgroup/cpu.max, line 1: "), "{error}");
    }
}
