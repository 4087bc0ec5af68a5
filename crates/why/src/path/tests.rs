use unjank_host::tracefs::script::{Script, at};

use super::*;

/// The segments of a path as text.
fn path(script: &Script, thread: u32, from: u64, to: u64) -> Vec<String> {
    let history = History::of(&script.trace());
    let path = critical_path(&history, ThreadId(thread), at(from), at(to));
    let mut end = at(from);
    for segment in &path.segments {
        assert_eq!(segment.from, end, "the segments fill the window");
        end = segment.to;
    }
    assert_eq!(end, at(to));
    let show = |segment: &Segment| {
        format!(
            "{}-{} t{} {} {:?}",
            segment.from.as_nanos(),
            segment.to.as_nanos(),
            segment.thread.0,
            segment.way.name(),
            segment.activity
        )
    };
    path.segments.iter().map(show).collect()
}

#[test]
fn a_thread_that_waits_for_another_is_explained_by_what_that_did() {
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .sleeps(0, 100, 7, 0)
        .runs(1, 150, 9, 3)
        .runs(1, 200, 3, 9)
        .wakes(1, 300, 7, 0)
        .runs(0, 310, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 400),
        [
            "0-100 t7 own Computing",
            "100-150 t9 other Computing",
            "150-200 t9 other RunQueue",
            "200-300 t9 other Computing",
            "300-310 t7 own RunQueue",
            "310-400 t7 own Computing",
        ]
    );
}
