//! The locks that the path waited for.

use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_measure::Unit;
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names;
use crate::history::Wait;
use crate::path::{Certainty, LockWait, is_futex_with_operation};

/// The most rows of the table.
const SHOWN: usize = 10;
/// The most holders that are named in a row.
const NAMED: usize = 2;

/// The operations of `futex(2)` that take a lock with priority inheritance, without flags
/// (`FUTEX_LOCK_PI`, `FUTEX_WAIT_REQUEUE_PI`, `FUTEX_LOCK_PI2`), and the mask of operations:
/// `include/uapi/linux/futex.h`.
const LOCKS_PI: [u64; 3] = [6, 11, 13];
const OPERATION: u64 = 0x7f;

/// A futex or a kernel lock, with the first thread of the process that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lock {
    process: u32,
    address: u64,
    kind: LockKind,
}

/// The kind of a lock, as far as the waits show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LockKind {
    /// A futex for any use: a mutex, a condition variable, a semaphore.
    Any,
    /// A futex whose holder inherits priority.
    Inherits,
    /// A lock of the kernel, by its type.
    Kernel(&'static str),
}

/// The waits for one lock.
#[derive(Debug, Default)]
struct Waited<'a> {
    time: Nanos,
    /// Each with its time on the path.
    waits: Vec<(&'a LockWait, Nanos)>,
}

/// A row for each lock, the one with most time first; `None` if the path never waited for
/// one. While the holder of a lock waits for another lock, the time counts for the other one.
pub(super) fn table(launch: &Explained) -> Option<Table> {
    let mut locks: Vec<(Lock, Waited<'_>)> = waited(launch).into_iter().collect();
    locks.sort_by_key(|(lock, waited)| (std::cmp::Reverse(waited.time), *lock));
    let columns = [
        Column::text("lock"),
        Column::text("of"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("waits", Unit::Count),
        Column::text("held by"),
        Column::text("evidence"),
        Column::text("waits in"),
        Column::text("holder in"),
    ];
    let mut table = Table::new("why/locks", "Locks that the path waited for", columns);
    for (lock, waited) in locks.iter().take(SHOWN) {
        table.push([
            lock.words().into(),
            names::thread_name(&launch.history, ThreadId(lock.process)).into(),
            TableCell::number(waited.time.get() as f64),
            TableCell::number(waited.waits.len() as f64),
            holders(launch, waited).into(),
            waited.evidence().into(),
            waited.sleeper_in(launch).into(),
            waited.holder_in(launch).into(),
        ]);
    }
    let others = locks.iter().skip(SHOWN).map(|(_, waited)| waited.time);
    let time = others.fold(Nanos::ZERO, |sum, time| sum + time);
    if locks.len() > SHOWN {
        let others = counted(locks.len() - SHOWN, "other lock", "other locks");
        table = table.with_note(format!("{others}: {time} in all"));
    }
    (!table.rows.is_empty()).then_some(table)
}

fn waited(launch: &Explained) -> BTreeMap<Lock, Waited<'_>> {
    let mut times = vec![Nanos::ZERO; launch.path.locks.len()];
    for segment in &launch.path.segments {
        let time = segment.lock.and_then(|lock| times.get_mut(lock as usize));
        if let Some(time) = time {
            *time = *time + segment.length();
        }
    }
    let mut locks: BTreeMap<Lock, Waited<'_>> = BTreeMap::new();
    for (wait, time) in launch.path.locks.iter().zip(times) {
        if let Some(lock) = Lock::of(launch, wait) {
            let waited = locks.entry(lock).or_default();
            waited.time = waited.time + time;
            waited.waits.push((wait, time));
        }
    }
    locks
}

impl Lock {
    fn of(launch: &Explained, wait: &LockWait) -> Option<Self> {
        let process = launch.history.first_of_process(wait.thread, wait.to).0;
        let (number, [address, operation]) = match wait.wait {
            Wait::Call { number, arguments } => (number, arguments),
            Wait::KernelLock { lock, flags, .. } => {
                let kind = LockKind::Kernel(flags.lock_type());
                return Some(Self { process, address: lock, kind });
            }
            Wait::Fault { .. } | Wait::Unknown | Wait::Lost | Wait::Stopped => return None,
        };
        let kind = if is_futex_with_operation(number) && LOCKS_PI.contains(&(operation & OPERATION))
        {
            LockKind::Inherits
        } else {
            LockKind::Any
        };
        Some(Self { process, address, kind })
    }

    fn words(self) -> String {
        let kind = match self.kind {
            LockKind::Any => "",
            LockKind::Inherits => ", inherits priority",
            LockKind::Kernel(lock_type) => return names::kernel_lock(lock_type, self.address),
        };
        format!("futex {:#x}{kind}", self.address)
    }
}

impl Waited<'_> {
    fn evidence(&self) -> &'static str {
        let proved = self.waits.iter().all(|(wait, _)| wait.certainty == Certainty::Proved);
        if proved { "proved" } else { "inferred" }
    }

    /// The functions in which threads waited longest.
    fn sleeper_in(&self, launch: &Explained) -> String {
        self.longest(|wait| Some(launch.chain_off_cpu(wait.thread, wait.to)))
    }

    /// The functions in which the holders were longest.
    fn holder_in(&self, launch: &Explained) -> String {
        self.longest(|wait| launch.chain_between(wait.waker, (wait.from, wait.to)))
    }

    /// The chain of functions with the most time, where `functions` gives the chain of a wait.
    fn longest(&self, functions: impl Fn(&LockWait) -> Option<String>) -> String {
        let mut times: BTreeMap<String, Nanos> = BTreeMap::new();
        for (wait, time) in &self.waits {
            let of = functions(wait).filter(|text| !text.is_empty());
            let of = of.map(|text| times.entry(text).or_default());
            if let Some(sum) = of {
                *sum = *sum + *time;
            }
        }
        let longest = times.into_iter().max_by_key(|(_, time)| *time);
        longest.map(|(functions, _)| functions).unwrap_or_default()
    }
}

/// `render (4712) 12.1 ms, hog (9) 3.40 ms and 2 others`: those that ended the waits.
fn holders(launch: &Explained, waited: &Waited<'_>) -> String {
    let mut times: BTreeMap<u32, Nanos> = BTreeMap::new();
    for (wait, time) in &waited.waits {
        let of_holder = times.entry(wait.waker.0).or_default();
        *of_holder = *of_holder + *time;
    }
    let mut times: Vec<(u32, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let name = |thread: u32| names::thread_name(&launch.history, ThreadId(thread));
    if let [(only, _)] = times.as_slice() {
        return name(*only);
    }
    let named = times.iter().take(NAMED).map(|(thread, time)| format!("{} {time}", name(*thread)));
    let named = named.collect::<Vec<_>>().join(", ");
    match times.len().saturating_sub(NAMED) {
        0 => named,
        1 => format!("{named} and another"),
        others => format!("{named} and {others} others"),
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Support;
    use unjank_host::stacks::{StackCause, Stacks};
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, EventKind, StorageEvent, SystemCall};

    use super::*;
    use crate::path::Way;
    use crate::report::scripted::explained;

    fn call(number: i64, address: u64, operation: u64) -> EventKind {
        let arguments = [address, operation, 0, 0, 0, 0];
        EventKind::SystemCall(SystemCall::Begins { number, arguments })
    }

    fn locks(script: &Script, end: u64) -> Vec<String> {
        let launch = explained(script, end);
        let text = |cell: &TableCell| match cell {
            TableCell::Text(text) => text.clone(),
            TableCell::Number(number) => number.value.to_string(),
            TableCell::Empty => String::new(),
        };
        let rows = table(&launch).map(|table| table.rows).unwrap_or_default();
        rows.iter()
            .map(|row| row.iter().take(6).map(text).collect::<Vec<_>>().join(" | "))
            .collect()
    }

    /// Thread 7 waits for a lock of 9, which waits in it for one of 11.
    fn chain() -> Script {
        Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .runs(2, 0, 0, 11)
            .happens(0, 90, Context::Thread, call(libc::SYS_futex, 0x1000, 0))
            .sleeps(0, 100, 7, 0)
            .happens(1, 190, Context::Thread, call(libc::SYS_futex, 0x2000, 128 | 6))
            .sleeps(1, 200, 9, 0)
            .happens(2, 490, Context::Thread, call(libc::SYS_futex, 0x2000, 128 | 7))
            .wakes(2, 500, 9, 1)
            .runs(1, 510, 0, 9)
            .happens(1, 590, Context::Thread, call(libc::SYS_futex, 0x1000, 1))
            .wakes(1, 600, 7, 0)
            .runs(0, 610, 0, 7)
    }

    #[test]
    fn a_lock_within_another_has_its_time() {
        let script = chain().sleeps(0, 700, 7, 0);
        assert_eq!(
            locks(&script, 700),
            [
                "futex 0x2000, inherits priority | hog (9) | 300 | 1 | t11 (11) | inferred",
                "futex 0x1000 | victim (7) | 200 | 1 | hog (9) | inferred",
            ]
        );
    }

    #[test]
    fn a_value_of_futex_wait_is_no_operation() {
        const FUTEX_WAIT: i64 = 455;
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .happens(0, 90, Context::Thread, call(FUTEX_WAIT, 0x1000, 6))
            .sleeps(0, 100, 7, 0)
            .wakes(1, 600, 7, 0)
            .runs(0, 600, 0, 7)
            .sleeps(0, 700, 7, 0);
        assert_eq!(
            locks(&script, 700),
            ["futex 0x1000 | victim (7) | 500 | 1 | hog (9) | inferred"]
        );
    }

    #[test]
    fn waits_for_one_lock_are_one_row() {
        let script = chain()
            .happens(0, 650, Context::Thread, call(libc::SYS_futex, 0x1000, 0))
            .sleeps(0, 660, 7, 0)
            .wakes(2, 700, 7, 0)
            .runs(0, 700, 0, 7)
            .sleeps(0, 800, 7, 0);
        let expected = "futex 0x1000 | victim (7) | 240 | 2 | hog (9) 200 ns, t11 (11) 40 ns | \
                        inferred";
        assert_eq!(locks(&script, 800)[1], expected);
    }

    #[test]
    fn a_wait_for_the_end_of_a_thread_is_no_lock() {
        let joins = |operation: u64, value: u64| {
            let arguments = [0x3000, operation, value, 0, 0, 0];
            let waits = SystemCall::Begins { number: libc::SYS_futex, arguments };
            let script = Script::new()
                .runs(0, 0, 0, 7)
                .runs(1, 0, 0, 9)
                .happens(0, 90, Context::Thread, EventKind::SystemCall(waits))
                .sleeps(0, 100, 7, 0)
                .happens(1, 400, Context::Thread, call(libc::SYS_exit, 0, 0))
                .wakes(1, 500, 7, 0)
                .runs(0, 500, 0, 7)
                .sleeps(0, 700, 7, 0);
            locks(&script, 700)
        };
        // FUTEX_WAIT_BITSET with FUTEX_CLOCK_REALTIME, and FUTEX_WAIT.
        assert!(joins(265, 9).is_empty() && joins(0, 9).is_empty());
        let lock = "futex 0x3000 | victim (7) | 400 | 1 | hog (9) | proved";
        assert_eq!(joins(265, 0x8000_0009), [lock], "a robust lock");
        assert_eq!(joins(265 + 128, 9), [lock], "a private futex is another one");
    }

    /// The thread 9, which 7 has started, does `call` and wakes 7, which waits in a futex.
    fn woken_during(during: EventKind, same_process: bool) -> Vec<String> {
        let started = StorageEvent::Started { thread: ThreadId(9), same_process };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .happens(0, 10, Context::Thread, EventKind::Storage(started))
            .runs(1, 20, 0, 9)
            .happens(0, 90, Context::Thread, call(libc::SYS_futex, 0x3000, 128))
            .sleeps(0, 100, 7, 0)
            .happens(1, 400, Context::Thread, during)
            .wakes(1, 500, 7, 0)
            .runs(0, 500, 0, 7)
            .sleeps(0, 700, 7, 0);
        locks(&script, 700)
    }

    #[test]
    fn a_wait_that_the_end_of_the_process_or_a_signal_ends_is_no_lock() {
        let ends = call(libc::SYS_exit_group, 0, 0);
        assert!(woken_during(ends, true).is_empty());
        let lock = "futex 0x3000 | victim (7) | 400 | 1 | hog (9) | inferred";
        assert_eq!(woken_during(ends, false), [lock], "of another process");
        assert!(woken_during(call(libc::SYS_tgkill, 0, 0), true).is_empty());
    }

    #[test]
    fn the_array_of_futex_waitv_is_no_lock() {
        const FUTEX_WAITV: i64 = 449;
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(1, 0, 0, 9)
            .happens(0, 90, Context::Thread, call(FUTEX_WAITV, 0x7ffe_0000, 2))
            .sleeps(0, 100, 7, 0)
            .wakes(1, 600, 7, 0)
            .runs(0, 600, 0, 7)
            .sleeps(0, 700, 7, 0);
        assert!(locks(&script, 700).is_empty());
        assert_eq!(explained(&script, 700).path().waits[0].way, Way::Lock);
    }

    #[test]
    fn a_lock_has_the_functions_of_sleeper_and_holder() {
        let mut launch = explained(&chain().sleeps(0, 700, 7, 0), 700);
        launch.add_stacks(Support::Yes(Stacks::made_up(&[
            (
                ThreadId(7),
                at(101),
                StackCause::Switch,
                &["pthread_mutex_lock", "get", "main", "clone3"],
            ),
            (
                ThreadId(9),
                at(201),
                StackCause::Switch,
                &["pthread_mutex_lock", "put", "work", "clone3"],
            ),
            (ThreadId(11), at(250), StackCause::Clock, &["sum", "other", "clone3"]),
            (ThreadId(11), at(350), StackCause::Clock, &["add", "other", "clone3"]),
            (ThreadId(11), at(450), StackCause::Clock, &["add", "other", "clone3"]),
        ])));
        let table = table(&launch).unwrap();
        let functions = |row: usize| [6, 7].map(|at| table.rows[row][at].clone());
        let (put, add) = ("pthread_mutex_lock <- put <- work", "add <- other");
        assert_eq!(functions(0), [TableCell::from(put), add.into()]);
        let get = "pthread_mutex_lock <- get <- main";
        assert_eq!(functions(1), [TableCell::from(get), put.into()]);
    }

    #[test]
    fn a_path_without_locks_has_no_table() {
        assert!(locks(&Script::new().runs(0, 0, 0, 7).sleeps(0, 100, 7, 0), 100).is_empty());
    }
}
