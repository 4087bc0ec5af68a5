//! A launch that was exported for Perfetto is read back, and explained as before.

#![expect(clippy::unwrap_used, reason = "tests")]

mod invented;

use std::collections::BTreeMap;

use invented::possible;
use proptest::prelude::*;
use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::trace_file;
use unjank_why::export::perfetto;
use unjank_why::history::History;
use unjank_why::report::{Clocks, Explained};

fn again(launch: &Explained) -> Explained {
    let mut bytes = Vec::new();
    perfetto(launch, &mut bytes).unwrap();
    let recorded = trace_file::read(&bytes).unwrap();
    let annex = recorded.annex.unwrap();
    let mut trace = recorded.trace;
    trace.kernel_threads = annex.kernel_threads.iter().copied().map(ThreadId).collect();
    let clocks =
        Clocks { highest: annex.highest_khz, at_start: annex.start_khz, ..Clocks::default() };
    let history = History::of(&trace);
    let [first, thread] = [annex.first, annex.thread].map(ThreadId);
    let [from, to] = annex.window.map(Timestamp::from_nanos);
    let (threads, window) = ((first, thread), (from, to));
    Explained::of_program(trace, history, threads, window, clocks, &Stop::default()).unwrap()
}

fn check(script: &Script, to: u64) {
    let trace = script.trace();
    let clocks = Clocks {
        highest: BTreeMap::from([(0, 3_000_000), (1, 2_000_000)]),
        at_start: BTreeMap::from([(0, 1_000_000)]),
        ..Clocks::default()
    };
    let launch = Explained::new(trace, ThreadId(7), (at(0), at(to)), clocks);
    let read = again(&launch);
    assert_eq!(read.split(), launch.split());
    assert_eq!(read.path().segments, launch.path().segments);
    assert_eq!(read.trace().lost, launch.trace().lost);
    assert_eq!((read.from, read.to, read.thread), (launch.from, launch.to, launch.thread));
}

#[test]
fn a_launch_with_gaps_comes_back() {
    let script = Script::new()
        .runs(0, 0, 9, 7)
        .loses(0, 20, 40)
        .loses_calls(0, 60, 70)
        .sleeps(0, 100, 7, 0)
        .wakes(1, 150, 7, 0)
        .runs(0, 160, 0, 7)
        .sleeps(0, 400, 7, 0);
    check(&script, 400);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_launch_comes_back(bytes in proptest::collection::vec(0_u8.., 0..600), to in 1_u64..2_000) {
        check(&Script::invented(&possible(&bytes)), to);
    }
}
