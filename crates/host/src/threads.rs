//! The threads of a process: `/proc/PID/task`.

use serde::{Deserialize, Serialize};

use crate::clock::user_tick;
use crate::error::{Error, Result};
use crate::process::stat::Stat;
use crate::root::Root;
use crate::sched::{CpuSet, Policy, Priority, ThreadId, policy_of};
use unjank_units::Nanos;

/// The kernel keeps this many bytes of a thread's name: `TASK_COMM_LEN` − 1.
pub const LONGEST_NAME: usize = 15;

/// The start time of a thread, in clock ticks since boot: field 22 of
/// `proc_pid_stat(5)`. With the thread's id it identifies the thread even if
/// the id is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Began(pub u64);

/// One thread at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its thread id (TID).
    pub id: ThreadId,
    /// Its name, of which the kernel keeps [`LONGEST_NAME`] bytes.
    pub name: String,
    /// Its start time, which differs from that of a later thread with the same id.
    pub began: Began,
    /// Its policy; `None` for a policy unknown to unjank (`sched_ext`).
    pub policy: Option<Policy>,
    /// Its nice value, which it keeps while it is real-time.
    pub nice: i32,
    /// Its CPU time, in clock ticks.
    pub cpu_time: Nanos,
}

/// Threads of a process, and how many ended during the listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The threads that existed.
    pub threads: Vec<Thread>,
    /// The number of threads that ended before they were read.
    pub gone: usize,
}

/// The parts of a thread's state that need a second file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The CPUs it may run on.
    pub cpus: CpuSet,
    /// How often it has slept or waited.
    pub sleeps: u64,
}

/// The ids of the threads of `process`, its main thread first.
///
/// # Errors
/// `Invalid` if the process does not exist.
pub fn ids(root: &Root, process: u32) -> Result<Vec<ThreadId>> {
    let names = root.list(format!("/proc/{process}/task"))?;
    let ids: Vec<ThreadId> =
        names.iter().filter_map(|name| name.parse().ok().map(ThreadId)).collect();
    if ids.is_empty() {
        return Err(Error::Invalid(format!("no such process: {process}")));
    }
    Ok(ids)
}

/// The process of `thread`; `None` if it has ended.
pub fn process_of(root: &Root, thread: ThreadId) -> Option<u32> {
    let text = root.read(format!("/proc/{}/status", thread.0)).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// How long a thread was ready but did not run, since it began (`schedstat`,
/// `Documentation/scheduler/sched-stats.rst`). `None` if it has ended, or if the kernel does not
/// count it.
pub fn run_delay(root: &Root, process: u32, thread: ThreadId) -> Option<Nanos> {
    let text = root.read(format!("/proc/{process}/task/{}/schedstat", thread.0)).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// All threads of the kernel. Empty where `/proc` cannot be read.
pub fn of_kernel(root: &Root) -> Vec<ThreadId> {
    let names = root.list("/proc").unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.parse::<u32>().ok());
    let is_kernel = |number: &u32| {
        let text = root.read(format!("/proc/{number}/stat")).unwrap_or_default();
        Stat::parse(&text).is_some_and(|stat| stat.is_of_kernel())
    };
    numbers.filter(is_kernel).map(ThreadId).collect()
}

/// All threads of `process`. Threads that end during the listing are counted.
///
/// # Errors
/// `Invalid` if the process does not exist.
pub fn list(root: &Root, process: u32) -> Result<Listed> {
    let mut listed = Listed::default();
    for id in ids(root, process)? {
        match look(root, process, id)? {
            Some(thread) => listed.threads.push(thread),
            None => listed.gone += 1,
        }
    }
    Ok(listed)
}

/// One thread of `process`; `None` if it has ended.
///
/// # Errors
/// If `stat` is malformed.
pub fn look(root: &Root, process: u32, thread: ThreadId) -> Result<Option<Thread>> {
    let path = format!("/proc/{process}/task/{}/stat", thread.0);
    // A thread may also end between open and read (ESRCH).
    let Ok(text) = root.read(&path) else { return Ok(None) };
    let Some(mut seen) = parse(thread, &text) else {
        return Err(Error::parse(path, 1, "expected the 41 fields of proc_pid_stat(5)"));
    };
    if root.is_system() && matches!(seen.policy, Some(Policy::Deadline { .. })) {
        seen.policy = policy_of(thread).ok().map(|(policy, _)| policy);
    }
    Ok(Some(seen))
}

/// The state of a thread of `process`, as the letter of `proc_pid_stat(5)`: `R`
/// for running or runnable; `None` if it has ended.
pub fn state(root: &Root, process: u32, thread: ThreadId) -> Option<char> {
    let text = root.read(format!("/proc/{process}/task/{}/stat", thread.0)).ok()?;
    Stat::parse(&text)?.state()
}

/// The affinity of a thread and its number of sleeps; `None` if it has ended or
/// the kernel does not report them.
pub fn status(root: &Root, process: u32, thread: ThreadId) -> Option<Status> {
    let text = root.read(format!("/proc/{process}/task/{}/status", thread.0)).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some(Status {
        cpus: field("Cpus_allowed_list:")?.parse().ok()?,
        sleeps: field("voluntary_ctxt_switches:")?.parse().ok()?,
    })
}

/// CPU time of a thread, in nanoseconds if the kernel counts them
/// (`CONFIG_SCHED_INFO`), else in clock ticks; `None` if it has ended.
pub fn cpu_time(root: &Root, process: u32, thread: ThreadId) -> Option<Nanos> {
    let schedstat = root.read(format!("/proc/{process}/task/{}/schedstat", thread.0));
    let nanos = schedstat.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map(Nanos).or_else(|| Some(look(root, process, thread).ok()??.cpu_time))
}

fn parse(id: ThreadId, text: &str) -> Option<Thread> {
    parse_with_times(id, text).map(|(thread, _)| thread)
}

/// A thread, and its clock ticks outside the kernel and in it. A zombie yields `None`.
pub(crate) fn parse_with_times(id: ThreadId, text: &str) -> Option<(Thread, [u64; 2])> {
    let stat = Stat::parse(text)?;
    let number = |field| stat.number::<u64>(field);
    let times = [number(14)?, number(15)?];
    let ticks = times[0].saturating_add(times[1]);
    let priority = || Priority::new(number(40)?.try_into().ok()?).ok();
    let nice = stat.number(19)?;
    let policy = match number(41)? as i32 {
        libc::SCHED_OTHER => Some(Policy::other(nice)),
        libc::SCHED_BATCH => Some(Policy::batch(nice)),
        libc::SCHED_IDLE => Some(Policy::Idle),
        libc::SCHED_FIFO => Some(Policy::Fifo(priority()?)),
        libc::SCHED_RR => Some(Policy::RoundRobin(priority()?)),
        // The file does not hold its times.
        libc::SCHED_DEADLINE => Some(Policy::Deadline { runtime: 0, deadline: 0, period: 0 }),
        _ => None,
    };
    let thread = Thread {
        id,
        name: stat.name().to_owned(),
        began: Began(number(22)?),
        policy,
        nice,
        cpu_time: user_tick().times(ticks),
    };
    Some((thread, times))
}

/// Parses `text` as a thread's `stat`; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(text: &str) {
    let _either = parse(ThreadId(1), text);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A `stat` with the relevant fields.
    fn stat(name: &str, nice: i32, began: u64, priority: u8, policy: i32) -> String {
        format!(
            "7 ({name}) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 {nice} 3 0 {began} 1 2 \
             18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 {priority} {policy} 0 0 0"
        )
    }

    #[test]
    fn a_thread_with_any_name_is_parsed() {
        let thread = parse(ThreadId(7), &stat("a) b) (c", 5, 99, 0, 0)).unwrap();
        assert_eq!((thread.name.as_str(), thread.began), ("a) b) (c", Began(99)));
        assert_eq!(thread.policy, Some(Policy::other(5)));
        assert_eq!(thread.cpu_time, Nanos::from_millis(2_000));
        let fifo = parse(ThreadId(7), &stat("GC Thread#0", 0, 1, 70, 1)).unwrap();
        assert_eq!(fifo.policy, Some(Policy::Fifo(Priority::new(70).unwrap())));
        assert_eq!(parse(ThreadId(7), &stat("x", 0, 1, 0, 7)).unwrap().policy, None);
        for broken in ["", "7 (a", "7 (a) S 1 2 3", &stat("x", 0, 1, 0, 1)] {
            assert_eq!(parse(ThreadId(7), broken), None, "{broken}");
        }
    }

    #[test]
    fn threads_of_the_kernel_are_known_by_their_flag() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = "9 (kworker/0:0) S) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 11 0 0";
        for (id, text) in [("7", stat("kworker/0:0", 0, 1, 0, 0)), ("9", kernel.to_owned())] {
            fs::create_dir_all(dir.path().join("proc").join(id)).unwrap();
            fs::write(dir.path().join("proc").join(id).join("stat"), text).unwrap();
        }
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        assert_eq!(of_kernel(&Root::at(dir.path())), [ThreadId(9)]);
    }

    #[test]
    fn threads_that_have_ended_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert!(list(&root, 7).unwrap_err().to_string().contains("no such process: 7"));
        for (id, text) in [(7, Some(stat("main", 0, 1, 0, 0))), (10, None), (9, None)] {
            let task = dir.path().join(format!("proc/7/task/{id}"));
            fs::create_dir_all(&task).unwrap();
            if let Some(text) = text {
                fs::write(task.join("stat"), text).unwrap();
            }
        }
        assert_eq!(ids(&root, 7).unwrap(), [7, 9, 10].map(ThreadId));
        let listed = list(&root, 7).unwrap();
        assert_eq!((listed.threads.len(), listed.gone), (1, 2));
        fs::write(dir.path().join("proc/7/task/9/stat"), "nonsense").unwrap();
        assert!(list(&root, 7).is_err());
    }

    #[test]
    fn this_thread_matches_the_kernels_data() {
        let (root, me) = (Root::system(), ThreadId::current());
        let process = std::process::id();
        let seen = look(&root, process, me).unwrap().unwrap();
        assert_eq!(seen.policy, policy_of(me).ok().map(|(policy, _)| policy));
        assert_eq!(status(&root, process, me).unwrap().cpus, CpuSet::allowed().unwrap());
        assert!(cpu_time(&root, process, me).is_some());
        assert!(ids(&root, process).unwrap().contains(&me));
        assert_eq!(process_of(&root, me), Some(process));
        assert_eq!(process_of(&root, ThreadId(u32::MAX)), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(text in ".{0,200}") {
            let _either = parse(ThreadId(1), &text);
        }
    }
}
