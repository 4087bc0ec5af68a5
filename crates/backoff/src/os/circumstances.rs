//! Circumstances that forbid or shorten spinning, as reported by the kernel.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::ticks::Ticks;

/// Whether the calling thread has a real-time policy. One system call.
#[allow(unsafe_code)]
pub(crate) fn is_real_time() -> bool {
    if cfg!(any(loom, miri)) {
        return false;
    }
    // SAFETY: sched_getscheduler(2) of the calling thread only returns a number.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

/// How long the files' content is used, in nanoseconds.
const BELIEVED: u64 = 100_000_000;
/// For how many readings a squeeze is remembered.
const REMEMBERED: u32 = 10;
/// Stolen time is a squeeze if it is at least the total CPU time over this.
const STOLEN_SHARE: u64 = 20;

/// The time of the last reading, in ticks.
static READ: AtomicU64 = AtomicU64::new(0);
/// The number of readings for which a squeeze is still remembered.
static SQUEEZED: AtomicU32 = AtomicU32::new(0);
static THROTTLED: AtomicU64 = AtomicU64::new(u64::MAX);
static STOLEN: AtomicU64 = AtomicU64::new(u64::MAX);
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Whether there is a squeeze: within the last second, the control group of this
/// process was throttled for its CPU quota (`nr_throttled` in `cpu.stat`), or a
/// hypervisor took 5 % of the CPU time (`steal` in `/proc/stat`).
pub(crate) fn is_squeezed() -> bool {
    SQUEEZED.load(Ordering::Relaxed) > 0
}

/// Reads the files behind [`is_squeezed`], at most once in 100 ms. Called by threads
/// that are about to park. The control group is the one at the first call.
pub(crate) fn check_for_squeeze() {
    if cfg!(any(loom, miri)) {
        return;
    }
    let now = Ticks::now();
    let read = READ.load(Ordering::Relaxed);
    if now - Ticks(read) >= Ticks::from_nanos(BELIEVED)
        && READ.compare_exchange(read, now.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    {
        read_again();
    }
}

#[cold]
fn read_again() {
    let throttled = files::throttled().unwrap_or(0);
    let (stolen, spent) = files::stolen_and_spent().unwrap_or((0, 0));
    let before = THROTTLED.swap(throttled, Ordering::Relaxed);
    let stolen_before = STOLEN.swap(stolen, Ordering::Relaxed);
    let spent_before = SPENT.swap(spent, Ordering::Relaxed);
    let first = stolen_before == u64::MAX;
    let squeezed = !first
        && is_squeeze(
            throttled.saturating_sub(before),
            stolen.saturating_sub(stolen_before),
            spent.saturating_sub(spent_before),
        );
    if squeezed {
        SQUEEZED.store(REMEMBERED, Ordering::Relaxed);
    } else {
        let _ = SQUEEZED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    }
}

/// The decision, from the throttled periods, and from stolen and total CPU time in
/// the same unit.
fn is_squeeze(throttled_periods: u64, stolen: u64, spent: u64) -> bool {
    throttled_periods > 0 || stolen > 0 && stolen.saturating_mul(STOLEN_SHARE) >= spent
}

/// The kernel's files: `Documentation/admin-guide/cgroup-v2.rst`,
/// `Documentation/scheduler/sched-bwc.rst`, proc(5).
mod files {
    use std::fs;
    use std::path::PathBuf;
    use std::string::String;
    use std::sync::OnceLock;

    /// Number of periods in which the control group of this process was throttled so far.
    pub(super) fn throttled() -> Option<u64> {
        static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
        let path = PATH.get_or_init(cpu_stat).as_ref()?;
        throttled_periods(&fs::read_to_string(path).ok()?)
    }

    pub(super) fn throttled_periods(text: &str) -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
    }

    fn cpu_stat() -> Option<PathBuf> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        candidates(&groups).into_iter().find(|path| path.exists())
    }

    /// Possible paths of `cpu.stat`, from `/proc/self/cgroup`.
    pub(super) fn candidates(groups: &str) -> std::vec::Vec<PathBuf> {
        let group = |path: &str| String::from(path.trim_start_matches('/'));
        let lines = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            Some((parts.next()?, parts.next()?, parts.next()?))
        });
        lines
            .flat_map(|(_, controllers, path)| {
                let mounts: &[&str] = if controllers.is_empty() {
                    &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
                } else if controllers.split(',').any(|one| one == "cpu") {
                    &["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", "/dev/cpuctl"]
                } else {
                    &[]
                };
                let path = group(path);
                mounts.iter().map(move |mount| PathBuf::from(mount).join(&path).join("cpu.stat"))
            })
            .collect()
    }

    /// Stolen and total time of all CPUs, in the ticks of `/proc/stat`.
    pub(super) fn stolen_and_spent() -> Option<(u64, u64)> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        all_cpus(text.lines().next()?)
    }

    /// Parses: user nice system idle iowait irq softirq steal.
    pub(super) fn all_cpus(line: &str) -> Option<(u64, u64)> {
        let mut stolen = 0;
        let mut spent = 0_u64;
        for (n, field) in line.strip_prefix("cpu ")?.split_ascii_whitespace().take(8).enumerate() {
            let value: u64 = field.parse().ok()?;
            spent = spent.saturating_add(value);
            if n == 7 {
                stolen = value;
            }
        }
        Some((stolen, spent))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn a_squeeze_is_throttling_or_theft() {
        assert!(!is_squeeze(0, 0, 0));
        assert!(!is_squeeze(0, 0, 100));
        assert!(is_squeeze(1, 0, 100));
        assert!(!is_squeeze(0, 4, 100));
        assert!(is_squeeze(0, 5, 100));
        assert!(is_squeeze(0, u64::MAX, u64::MAX));
    }

    #[test]
    fn files_are_read() {
        assert_eq!(files::throttled_periods("nr_periods 5\nnr_throttled 3\n"), Some(3));
        assert_eq!(files::throttled_periods("usage_usec 5\n"), None);
        assert_eq!(files::throttled_periods("nr_throttled -\n"), None);
        let line = "cpu  1 2 3 4 5 6 7 8 9 10";
        assert_eq!(files::all_cpus(line), Some((8, 36)));
        assert_eq!(files::all_cpus("cpu0 1 2"), None);
        assert_eq!(files::all_cpus("cpu  1 x"), None);
    }

    #[test]
    fn control_groups_of_both_versions_are_found() {
        let paths = |text| -> Vec<_> {
            files::candidates(text).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/user.slice/a:b\n"),
            [
                "/sys/fs/cgroup/user.slice/a:b/cpu.stat",
                "/sys/fs/cgroup/unified/user.slice/a:b/cpu.stat"
            ]
        );
        assert!(
            paths("4:cpu,cpuacct:/top\n3:memory:/x\n")[0].ends_with("cpu,cpuacct/top/cpu.stat")
        );
        assert_eq!(paths("3:memory:/x\ngarbage\n").len(), 0);
    }

    #[test]
    fn this_thread_is_ordinary() {
        assert!(!is_real_time());
    }
}
