//! The last step of a program on the way to being ready: which thread made it,
//! and when.
//!
//! Any thread of a program can make it ready. The first thread may only wait for the end
//! of all others.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Event, EventKind, EventsIter, SystemCall, Trace};
use unjank_units::Nanos;

use super::explained::Explained;
use super::family::Family;
use super::names::thread_name;
use crate::history::History;
use crate::path::{critical_path, is_listen, is_send_of_bytes};

/// How it was noticed that a program is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noticed {
    /// It sent something for which this thread of another process waited: a line,
    /// a notification, a window by way of the display's server.
    Received(ThreadId),
    /// It listened on a port, on which connections were tried.
    Listening,
}

/// The last step of a program before it was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStep {
    /// The thread that made it.
    pub thread: ThreadId,
    /// The time of the step.
    pub at: Timestamp,
    /// The thread that took most of the time from then on, and that time. Threads of the
    /// program, and the thread that noticed it, do not count.
    pub then: Option<(ThreadId, Nanos)>,
}

/// The shortest time after the last step, and its share of the launch, that is
/// worth a warning.
const NOTABLE: Nanos = Nanos::from_millis(2);
const NOTABLE_SHARE: u64 = 20;

impl LastStep {
    /// A warning if the program, which is explained up to this step, was seen to be ready
    /// much later.
    pub fn rest(&self, launch: &Explained, ready: Timestamp) -> Option<String> {
        let rest = ready.since(self.at);
        if rest < NOTABLE || rest.get() < launch.total().get() / NOTABLE_SHARE {
            return None;
        }
        let by = self.then.map(|(thread, time)| {
            format!(", of which {} took {time}", thread_name(launch.history(), thread))
        });
        Some(format!(
            "the program was seen to be ready {rest} after its last step{}; that time is not \
             explained",
            by.unwrap_or_default()
        ))
    }
}

/// The last step of `family` before the program was ready, in the time from `from` to `ready`.
/// `None` if the trace does not have it.
///
/// The thread that received something is followed back to the thread of the
/// program that caused it. If it did not sleep before, or was busy with what it had
/// received earlier, the program's last call that sends something is taken.
pub fn last_step(
    trace: &Trace,
    history: &History,
    family: &Family,
    noticed: Noticed,
    (from, ready): (Timestamp, Timestamp),
) -> Option<LastStep> {
    let call = |is_it: fn(i64) -> bool| {
        let (at, thread) = last_call(trace, family, is_it, (from, ready))?;
        Some(LastStep { thread, at, then: None })
    };
    match noticed {
        Noticed::Listening => call(is_listen),
        Noticed::Received(receiver) => match sent_to(history, family, receiver, (from, ready)) {
            Some((step, busy)) if busy < NOTABLE => Some(step),
            Some((step, _)) => {
                call(is_send_of_bytes).filter(|call| call.at > step.at).or(Some(step))
            }
            None => call(is_send_of_bytes),
        },
    }
}

/// Where the path of `receiver` last left the family, and how long it computed
/// from then on.
fn sent_to(
    history: &History,
    family: &Family,
    receiver: ThreadId,
    (from, ready): (Timestamp, Timestamp),
) -> Option<(LastStep, Nanos)> {
    // Before its birth, its parent waited for the program's exec.
    let begin = history.life(receiver, ready)?.begin().max(from);
    let path = critical_path(history, receiver, begin, ready);
    let is_own = |thread: ThreadId| family.contains(thread);
    let last = path.segments.iter().rposition(|segment| is_own(segment.thread))?;
    let (mut busy, mut others) = (Nanos::ZERO, BTreeMap::<u32, Nanos>::new());
    for segment in path.segments.iter().skip(last + 1) {
        if segment.thread != receiver {
            let time = others.entry(segment.thread.0).or_default();
            *time = *time + segment.length();
        } else if segment.activity.has_cpu() {
            busy = busy + segment.length();
        }
    }
    let most = others.into_iter().max_by_key(|(_, time)| *time);
    let step = path.segments.get(last)?;
    let then = most.map(|(thread, time)| (ThreadId(thread), time));
    Some((LastStep { thread: step.thread, at: step.to, then }, busy))
}

/// The last time that a thread of the family began a system call with such a number.
fn last_call(
    trace: &Trace,
    family: &Family,
    is_wanted: fn(i64) -> bool,
    (from, to): (Timestamp, Timestamp),
) -> Option<(Timestamp, ThreadId)> {
    let is_it = |event: &Event| {
        matches!(event.kind, EventKind::SystemCall(SystemCall::Begins { number, .. })
            if is_wanted(number))
            && family.contains(event.current)
    };
    let of_cpu = |events: EventsIter<'_>| events.rev().find(is_it);
    let calls = trace.cpus.iter().filter_map(|cpu| of_cpu(cpu.events_in(from, to)));
    let calls = calls.map(|event| (event.at, event.current));
    calls.max_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, StorageEvent};

    use super::*;
    use crate::report::scripted::explained;

    /// Unjank (30) has launched 7 and started 40, which waits on CPU 2 for what
    /// the program sends. 7 has started the thread 21, and waits for its end.
    fn launch() -> Script {
        starts(starts(Script::new(), 0, 5, 30, 40, true), 1, 50, 7, 21, true)
            .runs(2, 10, 0, 40)
            .sleeps(2, 20, 40, 0)
            .happens(1, 55, Context::Thread, calls(libc::SYS_futex))
            .runs(0, 60, 30, 21)
            .sleeps(1, 60, 7, 0)
    }

    fn starts(script: Script, cpu: usize, at: u64, by: u32, thread: u32, same: bool) -> Script {
        let event = StorageEvent::Started { thread: ThreadId(thread), same_process: same };
        script.runs(cpu, at - 1, 0, by).happens(cpu, at, Context::Thread, EventKind::Storage(event))
    }

    #[allow(clippy::useless_conversion, reason = "c_long has 32 bits on some machines")]
    fn calls(number: libc::c_long) -> EventKind {
        let number = i64::from(number);
        EventKind::SystemCall(SystemCall::Begins { number, arguments: [0; 6] })
    }

    fn step(script: &Script, noticed: Noticed, ready: u64) -> Option<(u32, u64, Option<u32>)> {
        let (trace, window) = (script.trace(), (at(30), at(ready)));
        let history = History::of(&trace);
        let family = Family::of(&trace, ThreadId(7), at(ready));
        let step = last_step(&trace, &history, &family, noticed, window)?;
        Some((step.thread.0, step.at.as_nanos(), step.then.map(|(thread, _)| thread.0)))
    }

    #[test]
    fn a_long_rest_is_said_with_the_thread_that_took_it() {
        let script = Script::new().runs(1, 0, 0, 7).runs(0, 0, 0, 9);
        let launch = explained(&script, 50_000_000);
        let then = Some((ThreadId(9), Nanos::from_millis(4)));
        let step = LastStep { thread: ThreadId(7), at: at(50_000_000), then };
        let rest = |ready| step.rest(&launch, at(ready));
        let said = rest(55_000_000).unwrap();
        assert!(said.contains("ready 5.00 ms after its last step, of which hog (9) took 4.00 ms"));
        assert_eq!(rest(52_400_000), None, "less than a twentieth");
        assert_eq!(rest(51_000_000), None);
    }

    const RECEIVED: Noticed = Noticed::Received(ThreadId(40));

    #[test]
    fn the_thread_that_sends_makes_a_program_ready() {
        let sends = launch()
            .happens(0, 890, Context::Thread, calls(libc::SYS_write))
            .wakes(0, 900, 40, 2)
            .runs(2, 910, 0, 40)
            .sleeps(0, 915, 21, 0)
            .sleeps(2, 930, 40, 0);
        assert_eq!(step(&sends, RECEIVED, 920), Some((21, 900, None)));
    }

    #[test]
    fn a_server_between_the_two_is_passed() {
        let shows = launch()
            .wakes(0, 500, 9, 1)
            .runs(1, 510, 0, 9)
            .wakes(1, 600, 40, 2)
            .runs(2, 610, 0, 40)
            .sleeps(2, 650, 40, 0);
        assert_eq!(step(&shows, RECEIVED, 640), Some((21, 500, Some(9))));
    }

    #[test]
    fn without_a_wake_up_it_is_the_last_call_that_sends() {
        let busy = launch()
            .happens(0, 100, Context::Thread, calls(libc::SYS_write))
            .happens(0, 200, Context::Thread, calls(libc::SYS_sendmsg))
            .happens(0, 300, Context::Thread, calls(libc::SYS_read))
            .expires(2, 250)
            .wakes(2, 250, 40, 2)
            .runs(2, 260, 0, 40)
            .sleeps(2, 350, 40, 0);
        assert_eq!(step(&busy, RECEIVED, 340), Some((21, 200, None)));
        assert_eq!(step(&launch(), RECEIVED, 340), None);
        assert_eq!(step(&launch(), Noticed::Received(ThreadId(77)), 340), None);
    }

    #[test]
    fn a_receiver_that_is_busy_is_behind_the_program() {
        // The program prints again while unjank still reads.
        let reads_until = |end| {
            starts(Script::new(), 0, 5, 30, 40, true)
                .runs(2, 10, 0, 40)
                .sleeps(2, 20, 40, 0)
                .runs(1, 30, 0, 7)
                .happens(1, 40, Context::Thread, calls(libc::SYS_write))
                .wakes(1, 50, 40, 2)
                .runs(2, 60, 0, 40)
                .happens(1, 900_000, Context::Thread, calls(libc::SYS_write))
                .sleeps(2, end, 40, 0)
        };
        let slow = step(&reads_until(5_000_000), RECEIVED, 4_000_000);
        assert_eq!(slow, Some((7, 900_000, None)));
        let fast = step(&reads_until(1_100_000), RECEIVED, 1_000_000);
        assert_eq!(fast, Some((7, 50, None)));
    }

    #[test]
    fn the_last_thread_that_listened_before_has_opened_the_port() {
        let listens = launch()
            .runs(1, 70, 0, 9)
            .happens(0, 100, Context::Thread, calls(libc::SYS_listen))
            .happens(0, 200, Context::Thread, calls(libc::SYS_listen))
            .happens(1, 250, Context::Thread, calls(libc::SYS_listen))
            .happens(0, 400, Context::Thread, calls(libc::SYS_listen));
        assert_eq!(step(&listens, Noticed::Listening, 300), Some((21, 200, None)));
        assert_eq!(step(&launch(), Noticed::Listening, 300), None);
    }
}
