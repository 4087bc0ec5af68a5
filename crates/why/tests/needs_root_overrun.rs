//! A recording of which the kernel lost events is not explained as if it were whole.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::thread;
use std::time::Duration;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{InstanceOptions, RawPages, Trace, Tracefs};
use unjank_host::{Bytes, Root, Support, Timestamp};
use unjank_measure::{Answer, Unit};
use unjank_needs::wait::until_some;
use unjank_why::path::Activity;
use unjank_why::record::MACHINE_EVENTS;
use unjank_why::report::{About, Clocks, Explained, Launches, findings};
use unjank_why::split::Cell;

/// Sleeps, each with at least three events of about 70 bytes.
const MANY: u32 = 2_000;
const FEW: u32 = 50;
/// Room for a few dozen sleeps.
const SMALL: Bytes = Bytes(4_096);
/// Room for what the whole machine does in seconds.
const LARGE: Bytes = Bytes::from_mib(16);

fn tracefs() -> Option<Tracefs> {
    if !unjank_needs::root() {
        return None;
    }
    match Tracefs::open(&Root::system()) {
        Support::Yes(tracefs) => Some(tracefs),
        Support::No(reason) => {
            unjank_needs::skip(reason);
            None
        }
    }
}

/// Records a thread that sleeps `sleeps` times with buffers of this size. Returns the trace, the
/// thread, and the time from its first to its last sleep.
fn recorded(
    tracefs: &Tracefs,
    sleeps: u32,
    buffer: Bytes,
) -> (Trace, ThreadId, (Timestamp, Timestamp)) {
    let events = MACHINE_EVENTS.iter().map(|&event| event.to_owned()).collect();
    let options = InstanceOptions { buffer, events, ..InstanceOptions::default() };
    let instance = tracefs.instance(&options).unwrap();
    let mut pages = RawPages::default();
    // Opens the buffers, which nobody empties from here on.
    instance.take_pages(&mut pages).unwrap();
    instance.start().unwrap();
    let sleeper = thread::spawn(move || {
        let from = Timestamp::now();
        (0..sleeps).for_each(|_| thread::sleep(Duration::from_micros(10)));
        (ThreadId::current(), (from, Timestamp::now()))
    });
    let (sleeper, window) = sleeper.join().unwrap();
    instance.stop().unwrap();
    instance.take_pages(&mut pages).unwrap();
    let trace = instance.decode(pages).unwrap();
    instance.remove().unwrap();
    (trace, sleeper, window)
}

/// Counts the events that the kernel lost.
fn lost(trace: &Trace) -> u64 {
    trace.lost.overwritten + trace.lost.dropped
}

#[test]
fn lost_events_are_counted_and_leave_the_time_unknown() {
    let Some(tracefs) = tracefs() else { return };
    let (trace, sleeper, (from, to)) = recorded(&tracefs, MANY, SMALL);
    let lost = lost(&trace);
    // The sleeper's events alone are more than the buffers hold.
    assert!(lost > u64::from(MANY), "{lost} events were lost");
    let launch = Explained::new(trace, sleeper, (from, to), Clocks::default());
    assert_eq!(launch.split().total(), to.since(from), "every nanosecond has one cause");
    let unknown = launch.split().of_cell(Cell::Of(Activity::Unknown));
    assert!(unknown.get() > 0, "{:?}", launch.split());
    let about = About::default();
    let said = findings(&Launches::single(launch, &about), &about);
    let counted = format!("the kernel lost {lost} trace events");
    assert!(said.warnings.iter().any(|it| it.contains(&counted)), "{:?}", said.warnings);
    assert_eq!(said.verdicts[0].answer, Answer::CannotTell, "{}", said.verdicts[0].reason);
    assert!(said.verdicts[0].reason.contains("were lost"), "{}", said.verdicts[0].reason);
}

#[test]
fn a_recording_that_is_whole_is_not_said_to_have_lost_events() {
    let Some(tracefs) = tracefs() else { return };
    // The buffers are large enough, unless the rest of the machine is very busy.
    let (trace, sleeper, window) = until_some("a recording is whole", || {
        Some(recorded(&tracefs, FEW, LARGE)).filter(|(trace, ..)| lost(trace) == 0)
    });
    let launch = Explained::new(trace, sleeper, window, Clocks::default());
    let about = About::default();
    let said = findings(&Launches::single(launch, &about), &about);
    assert!(said.warnings.iter().all(|it| !it.contains("trace events")), "{:?}", said.warnings);
    let total = said.facts.iter().find(|fact| fact.name == "why/total").unwrap();
    assert_eq!(
        (total.value, total.unit),
        (window.1.since(window.0).get() as f64, Unit::Nanoseconds)
    );
}
