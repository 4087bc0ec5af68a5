//! Paths of a thread that looks for pages to evict.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::{Context, EventKind};

use super::super::{Activity, critical_path};
use super::wakers::calls;
use crate::history::History;

fn happens(script: Script, nanos: u64, kind: EventKind) -> Script {
    script.happens(0, nanos, Context::Thread, kind)
}

/// The activities of thread 7 up to a moment, each with its end.
fn activities(script: &Script, to: u64) -> Vec<(u64, Activity)> {
    let history = History::of(&script.trace());
    let path = critical_path(&history, ThreadId(7), at(10), at(to));
    path.segments.iter().map(|segment| (segment.to.as_nanos(), segment.activity)).collect()
}

#[test]
fn a_search_for_pages_to_evict_is_no_computing() {
    let script = happens(Script::new().runs(0, 0, 0, 7), 20, EventKind::ReclaimBegins);
    let script = happens(script, 50, EventKind::ReclaimEnds);
    // It loses its CPU within the second search.
    let script = happens(script, 70, EventKind::ReclaimBegins).runs(0, 80, 7, 4).runs(0, 90, 4, 7);
    let script = happens(script, 110, EventKind::ReclaimEnds).sleeps(0, 140, 7, 0);
    assert_eq!(
        activities(&script, 140),
        [
            (20, Activity::Computing),
            (50, Activity::Reclaim),
            (70, Activity::Computing),
            (80, Activity::Reclaim),
            (90, Activity::RunQueue),
            (110, Activity::Reclaim),
            (140, Activity::Computing),
        ]
    );
}

#[test]
fn a_search_whose_end_is_not_in_the_trace_is_computing() {
    let begun = || happens(Script::new().runs(0, 0, 0, 7), 20, EventKind::ReclaimBegins);
    let computing = [(140, Activity::Computing)];
    // The next call shows that it is over.
    let calls = happens(begun(), 130, calls(libc::SYS_read)).sleeps(0, 140, 7, 0);
    assert_eq!(activities(&calls, 140), computing);
    // The end may be in the gap; the end after it may be that of another search.
    let lost = happens(begun().loses(0, 30, 60), 70, EventKind::TimerEnds);
    let lost = happens(lost, 120, EventKind::ReclaimEnds).sleeps(0, 140, 7, 0);
    assert!(activities(&lost, 140).iter().all(|(_, activity)| *activity != Activity::Reclaim));
    // Only the end of the recording cuts a search off.
    let cut = begun().happens(1, 140, Context::Thread, EventKind::TimerEnds);
    assert_eq!(activities(&cut, 140), [(20, Activity::Computing), (140, Activity::Reclaim)]);
}
