//! Recordings of any events, explained: no path is longer or shorter than its window, and every
//! window that is chosen has a beginning before its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_why::choose::{ChoiceOptions, OwnRecording, choose};
use unjank_why::export::{folded, perfetto};
use unjank_why::report::{About, Clocks, Explained, Launches, findings};

fuzz_target!(|bytes: &[u8]| {
    let [thread, from, to, events @ ..] = bytes else { return };
    let trace = Script::invented(events).trace();
    let (from, to) = (u64::from(*from.min(to)) * 16, u64::from(*from.max(to)) * 16);
    let (highest, at_start) = ([(0, 2_000_000)].into(), [(0, 1_000_000)].into());
    let clocks = Clocks { highest, at_start, ..Clocks::default() };
    let thread = ThreadId((*thread).into());
    let own = OwnRecording { thread, first: thread, window: (at(from), at(to)) };
    let names = ["victim".to_owned(), thread.0.to_string()].map(Some);
    for (process, own) in names.into_iter().map(|name| (name, None)).chain([(None, Some(own))]) {
        let wanted = ChoiceOptions { process, ..ChoiceOptions::default() };
        if let Ok(chosen) = choose(&trace, &wanted, own, &Stop::default()) {
            assert!(chosen.from.0 < chosen.to.0);
        }
    }
    let launch = Explained::new(trace, thread, (at(from), at(to)), clocks);
    let sum: u64 = launch.path().segments.iter().map(|segment| segment.length().get()).sum();
    assert_eq!(sum, to - from);
    assert_eq!(launch.split().total().get(), to - from);
    let mut out = Vec::new();
    perfetto(&launch, &mut out).expect("memory can be written");
    folded(&launch, &mut out).expect("memory can be written");
    let about = About::default();
    let said = findings(&Launches::single(launch, &about), &about);
    assert!(said.facts.iter().all(|fact| fact.value.is_finite()));
});
