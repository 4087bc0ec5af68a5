//! Counters of a thread of another process: CPU time, waits for a CPU,
//! switches. Differences between two readings show its activity.

use crate::clock::user_tick;
use crate::error::{Error, Result};
use crate::root::Root;
use crate::sched::{CpuSet, ThreadId};
use crate::threads::{self, Thread};
use unjank_units::Nanos;

/// The counters of a thread since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The thread when the counters were read.
    pub thread: Thread,
    /// Its CPU time, in nanoseconds if the kernel counts them
    /// (`CONFIG_SCHED_INFO`), else in clock ticks.
    pub cpu: Nanos,
    /// Its CPU time outside the kernel. Unless the kernel times each entry
    /// (`CONFIG_VIRT_CPU_ACCOUNTING_GEN`), this is `cpu` split in proportion to
    /// the clock ticks: `cputime_adjust` of `kernel/sched/cputime.c`.
    pub user: Nanos,
    /// Its CPU time in the kernel, with the same reservation.
    pub system: Nanos,
    /// The time it was runnable but did not run; `None` if the kernel does not
    /// count it.
    pub ready: Option<Nanos>,
    /// Voluntary switches: it slept or waited.
    pub voluntary: u64,
    /// Involuntary switches: it was preempted, or it called `sched_yield(2)`
    /// and another thread was ready to run.
    pub involuntary: u64,
    /// The CPUs it may run on; empty if the kernel does not report them.
    pub cpus: CpuSet,
}

/// The counters of `thread` of `process`; `None` if it has ended.
///
/// # Errors
/// If `stat` is malformed.
pub fn of(root: &Root, process: u32, thread: ThreadId) -> Result<Option<Activity>> {
    let file = |name: &str| format!("/proc/{process}/task/{}/{name}", thread.0);
    let (Ok(stat), Ok(status)) = (root.read(file("stat")), root.read(file("status"))) else {
        return Ok(None);
    };
    // Without CONFIG_SCHED_INFO the file does not exist.
    let schedstat = root.read(file("schedstat")).unwrap_or_default();
    let activity = parse(thread, &stat, &status, &schedstat);
    let wrong = || Error::parse(file("stat"), 1, "expected the 41 fields of proc_pid_stat(5)");
    activity.map(Some).ok_or_else(wrong)
}

fn parse(thread: ThreadId, stat: &str, status: &str, schedstat: &str) -> Option<Activity> {
    let (thread, [user, system]) = threads::parse_with_times(thread, stat)?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let count = |name: &str| field(name).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let mut exact = schedstat.split_ascii_whitespace().map(|word| word.parse().ok().map(Nanos));
    let tick = user_tick();
    Some(Activity {
        cpu: exact.next().flatten().unwrap_or(thread.cpu_time),
        ready: exact.next().flatten(),
        user: tick.times(user),
        system: tick.times(system),
        voluntary: count("voluntary_ctxt_switches:"),
        involuntary: count("nonvoluntary_ctxt_switches:"),
        cpus: field("Cpus_allowed_list:")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or_default(),
        thread,
    })
}

/// Parses the three texts as a thread's files; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(stat: &str, status: &str, schedstat: &str) {
    let _either = parse(ThreadId(1), stat, status, schedstat);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    const STAT: &str = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 3 0 99 1 2 \
         18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";
    const STATUS: &str = "Name:\ta\nCpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t5\n\
         nonvoluntary_ctxt_switches:\t2\n";

    #[test]
    fn a_thread_is_read_from_three_files() {
        let seen = parse(ThreadId(7), STAT, STATUS, "1999000111 30 4").unwrap();
        assert_eq!((seen.cpu, seen.ready), (Nanos(1_999_000_111), Some(Nanos(30))));
        let millis = Nanos::from_millis;
        assert_eq!((seen.user, seen.system), (millis(1_500), millis(500)));
        assert_eq!((seen.voluntary, seen.involuntary), (5, 2));
        assert_eq!(seen.cpus, CpuSet::new([0, 1]));
        assert_eq!(seen.thread.name, "a) b");
        let without = parse(ThreadId(7), STAT, "", "").unwrap();
        assert_eq!((without.cpu, without.ready), (millis(2_000), None));
        assert_eq!(parse(ThreadId(7), "nonsense", STATUS, ""), None);
    }

    #[test]
    fn this_thread_has_activity() {
        let (root, me) = (Root::system(), ThreadId::current());
        let look = || of(&root, std::process::id(), me).unwrap().unwrap();
        let before = look();
        // A thread that loses its CPU while it falls asleep may find the time over.
        unjank_needs::wait::until("it slept and computed", || {
            (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
            let after = look();
            after.voluntary > before.voluntary && after.cpu > before.cpu
        });
        assert_eq!(of(&root, std::process::id(), ThreadId(u32::MAX)).unwrap(), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(stat in ".{0,200}", status in ".{0,100}", schedstat in ".{0,40}") {
            let _either = parse(ThreadId(1), &stat, &status, &schedstat);
        }
    }
}
