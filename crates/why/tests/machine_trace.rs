//! A trace of a machine that is written while it is recorded comes back.

#![expect(clippy::unwrap_used, reason = "tests")]

mod invented;

use std::collections::BTreeMap;

use invented::possible;
use proptest::prelude::*;
use unjank_host::process::listing::ListedProcess;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};
use unjank_host::tracefs::trace_file::{self, Annex, Recorded};
use unjank_host::tracefs::{Context, CpuTrace, Event, EventKind, Gap, Lost, StorageEvent, Trace};
use unjank_why::export::{MachineTrace, MachineTraceEnd};

/// When the recording begins and ends.
const BEGIN: u64 = 0;
const END: u64 = 5_000;

fn process(number: u32, of_kernel: bool) -> ListedProcess {
    let threads = vec![(ThreadId(number), format!("t{number}"))];
    let name = format!("/usr/bin/t{number}");
    let parent = if of_kernel { 2 } else { 1 };
    ListedProcess { number, parent, name, of_kernel, threads }
}

/// The trace, written in parts of so many events, and read.
fn again(trace: &Trace, part: usize) -> Recorded {
    let processes = [process(2, true), process(7, false)];
    let clocks = BTreeMap::new();
    let mut written = MachineTrace::begin(Vec::new(), at(BEGIN), &processes, &clocks).unwrap();
    for cpu in &trace.cpus {
        let mut gaps =
            cpu.gaps.iter().filter(|gap| gap.from > at(0) && gap.to < at(END)).peekable();
        let mut places = (0..cpu.events.len()).step_by(part).peekable();
        while let Some(from) = places.next() {
            let end = places.peek().copied().unwrap_or(cpu.events.len());
            let events: Vec<Event> = cpu.events.range(from..end).collect();
            let last = events.last().unwrap().at;
            let mut own = Vec::new();
            while let Some(gap) = gaps.next_if(|gap| gap.to <= last) {
                // It begins at 0 if no event of the part is before it.
                let is_first = events.first().is_some_and(|event| event.at >= gap.to);
                own.push(if is_first { Gap { from: at(0), ..*gap } } else { *gap });
            }
            let events = events.into_iter().collect();
            written
                .add(CpuTrace { cpu: cpu.cpu, events, gaps: own, ..CpuTrace::default() })
                .unwrap();
        }
    }
    assert_eq!(written.events(), trace.len() as u64);
    let end = MachineTraceEnd {
        at: at(END),
        processes: vec![process(7, false), process(8, false)],
        lost: Lost { overwritten: 3, dropped: 4 },
        annex: Annex { kernel_threads: [2, 17].into(), ..Annex::default() },
    };
    let (bytes, size) = written.finish(end).unwrap();
    assert_eq!(size, bytes.len() as u64);
    trace_file::read(&bytes).unwrap()
}

#[test]
fn processes_losses_and_gaps_come_back() {
    let ended = StorageEvent::Ended { thread: ThreadId(7), last: None };
    let script = Script::new()
        .runs(0, 10, 9, 7)
        .loses(0, 20, 40)
        .sleeps(0, 100, 7, 0)
        .runs(1, 50, 0, 8)
        .wakes(1, 150, 7, 0)
        .runs(0, 160, 0, 7)
        .happens(0, 170, Context::Thread, EventKind::Storage(ended))
        .sleeps(0, 400, 7, 0);
    for part in [1, 2, 100] {
        let read = again(&script.trace(), part);
        assert_eq!(read.trace.lost, Lost { overwritten: 3, dropped: 4 });
        let gaps = |cpu: usize| -> Vec<(u64, u64)> {
            let gaps = read.trace.cpu(cpu).unwrap().gaps.iter();
            gaps.map(|gap| (gap.from.as_nanos(), gap.to.as_nanos())).collect()
        };
        let nanos = |micros: u64| at(micros).as_nanos();
        let lost = gaps(0).into_iter().find(|gap| gap.1 == nanos(40)).unwrap();
        assert!(lost.0 == nanos(20) || lost.0 == nanos(10), "{lost:?}");
        assert_eq!(gaps(1).last(), Some(&(nanos(END), u64::MAX)));
        assert_eq!(read.processes.named("t8").collect::<Vec<_>>(), [8]);
        assert_eq!(read.processes.of_threads[&ThreadId(7)], 7);
        assert_eq!(read.trace.kernel_threads, [ThreadId(2)]);
        let annex = read.annex.unwrap();
        assert_eq!((annex.thread, annex.kernel_threads), (0, [2, 17].into()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_events_come_back_whatever_the_parts(
        bytes in proptest::collection::vec(0_u8.., 0..600),
        part in 1_usize..50,
    ) {
        let trace = Script::invented(&possible(&bytes)).trace();
        let (one, other) = (again(&trace, part), again(&trace, usize::MAX));
        prop_assert_eq!(one.trace.cpus.len(), other.trace.cpus.len());
        for (cpu, whole) in one.trace.cpus.iter().zip(&other.trace.cpus) {
            prop_assert_eq!(&cpu.events, &whole.events);
            let switches = |cpu: &CpuTrace| -> Vec<Event> {
                let is_switch = |event: &Event| matches!(event.kind, EventKind::Switch { .. });
                cpu.events.iter().filter(is_switch).collect()
            };
            let (read, recorded) = (switches(cpu), switches(trace.cpu(cpu.cpu).unwrap()));
            let times = |switches: &[Event]| switches.iter().map(|it| (it.at, it.current)).collect();
            let (read, recorded): (Vec<_>, Vec<_>) = (times(&read), times(&recorded));
            prop_assert_eq!(read, recorded);
        }
    }
}
