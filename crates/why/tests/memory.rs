//! What an explained recording holds, in bytes for each event.

mod load;

use load::{Recorded, forget_peak, held, peak, recording};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::at;
use unjank_why::report::{About, Clocks, Explained, Launches, findings};

const EVENTS: usize = 200_000;
/// The most bytes for each event: held after the explanation, and at the peak of the replays.
const GOAL: usize = 100;

/// One test, because the allocator counts for the whole process.
#[test]
fn an_event_takes_at_most_a_hundred_bytes() {
    for recorded in [Recorded::Scheduling, Recorded::Calls] {
        let before = held();
        let (trace, end) = recording(recorded, EVENTS);
        let events = trace.len();
        assert!(events >= EVENTS);
        let for_each = |bytes: usize| bytes.saturating_sub(before).div_ceil(events);
        forget_peak();
        let window = (at(0), at(end));
        let launch = Explained::new(trace, ThreadId(7), window, Clocks::default());
        let explained = for_each(held());
        let about = About::default();
        let launches = Launches::single(launch, &about);
        let said = findings(&launches, &about);
        assert!(!said.verdicts.is_empty());
        let most = for_each(peak());
        assert!(explained <= GOAL, "{recorded:?}: {explained} B an event are held");
        assert!(most <= GOAL, "{recorded:?}: {most} B an event at most");
        // Otherwise the test would pass if the recording were not held.
        assert!(explained >= 24, "{recorded:?}: {explained} B an event are held");
    }
}
