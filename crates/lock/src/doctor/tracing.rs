//! Traces the system calls and wake-ups of the watched threads in windows.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Instance, InstanceOptions, Tracefs, buffer_per_cpu};
use unjank_host::waiting_call::{WaitingCall, has_our_numbers};
use unjank_host::{Bytes, Nanos, Result, Root, Support, Timestamp};

/// The length of a window.
pub(super) const WINDOW: Nanos = Nanos::from_millis(25);
/// The length of a period, which has one window.
pub(super) const PERIOD: Nanos = Nanos::from_millis(125);
/// The buffer of each CPU, enough for a window with two million calls a second.
const BUFFER: Bytes = Bytes::from_mib(4);

/// Start and end of a system call.
const ENTER: &str = "raw_syscalls/sys_enter";
const EXIT: &str = "raw_syscalls/sys_exit";
/// A thread wakes another …
const WAKING: &str = "sched/sched_waking";
/// … by itself: `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ` of
/// `include/linux/trace_events.h` say that it was only interrupted.
const BY_ITSELF: &str = "!(common_flags & 24)";

/// A trace instance for these threads and those that they start. It is off
/// outside of windows.
pub(crate) fn open(root: &Root, process: u32, threads: &[ThreadId]) -> Result<Support<Instance>> {
    if has_our_numbers(root, process) == Some(false) {
        return Ok(Support::no("the program's system calls have numbers of another architecture"));
    }
    let tracefs = match Tracefs::open(root) {
        Support::Yes(tracefs) => tracefs,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    tracefs.remove_leftovers()?;
    let (begin, end) = (WaitingCall::filter(true), WaitingCall::filter(false));
    let events = [(ENTER, begin), (EXIT, end), (WAKING, BY_ITSELF.to_owned())];
    let events = events.map(|(event, filter)| (event.to_owned(), filter));
    let instance = tracefs.instance(&InstanceOptions {
        buffer: buffer_per_cpu(root, BUFFER),
        events: events.iter().map(|(event, _)| event.clone()).collect(),
        filters: events.into(),
        threads: threads.to_vec(),
        and_theirs: true,
        ..InstanceOptions::default()
    })?;
    match instance.notes().first() {
        Some(missing) => Ok(Support::No(format!("{}: {}", missing.what, missing.reason))),
        None => Ok(Support::Yes(instance)),
    }
}

/// The start of a window: its place in the period follows the golden ratio, so
/// that no loop of the program runs in step with the windows.
pub(crate) fn begin(start: Timestamp, number: u64, seed: u64) -> Timestamp {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = number.wrapping_add(seed).wrapping_mul(GOLDEN) >> 32;
    let room = (PERIOD - WINDOW).get();
    start + PERIOD.times(number) + Nanos((room * place) >> 32)
}

/// Records until the window ends or `stop` returns true.
pub(crate) fn record(
    instance: &Instance,
    stop: impl Fn() -> bool,
) -> Result<(Timestamp, Timestamp)> {
    instance.start()?;
    let started = Timestamp::now();
    (started + WINDOW).sleep_until_or(stop);
    let stopped = Timestamp::now();
    instance.stop()?;
    Ok((started, stopped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_period_has_its_window() {
        let start = Timestamp::from_nanos(1_000);
        for number in 0..100 {
            let from = start + PERIOD.times(number);
            let begins = begin(start, number, 42).since(from);
            assert!(begin(start, number, 42) >= from && begins + WINDOW <= PERIOD, "{begins}");
        }
        assert_ne!(begin(start, 0, 1), begin(start, 0, 2));
    }
}
