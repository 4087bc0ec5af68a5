use unjank_host::tracefs::script::{Script, at};

use unjank_host::sched::ThreadId;

use super::*;
use crate::history::History;

mod binder;
mod evidence;
mod gaps;
mod own;
mod packets;
mod reclaim;
mod storage;
mod timers;
mod wakers;

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

#[test]
fn only_what_comes_after_the_last_event_of_a_thread_is_unknown() {
    let script = Script::new().runs(0, 0, 9, 7).sleeps(0, 100, 7, 0);
    assert_eq!(path(&script, 7, 0, 400), ["0-100 t7 own Computing", "100-400 t7 own Unknown"]);
}

#[test]
fn an_interrupt_is_explained_by_what_it_was_about() {
    use unjank_host::tracefs::{Context, EventKind, Irq};
    let woken = |tid| EventKind::Waking { task: unjank_host::tracefs::script::task(tid), cpu: 0 };
    let irq = EventKind::IrqEntry(Irq { number: 9, name: "gpu".into() });
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .sleeps(0, 100, 7, 0)
        .expires(1, 200)
        .happens(1, 201, Context::Irq, woken(7))
        .runs(0, 210, 0, 7)
        .sleeps(0, 300, 7, 0)
        .happens(0, 400, Context::Thread, irq)
        .happens(0, 401, Context::Irq, woken(7))
        .runs(0, 401, 0, 7)
        .sleeps(0, 500, 7, 0)
        .happens(0, 600, Context::Irq, woken(7))
        .runs(0, 600, 0, 7)
        .sleeps(0, 700, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 700),
        [
            "0-100 t7 own Computing",
            "100-201 t7 own Timer",
            "201-210 t7 own RunQueue",
            "210-300 t7 own Computing",
            "300-401 t7 own Device",
            "401-500 t7 own Computing",
            "500-600 t7 own Unknown",
            "600-700 t7 own Computing",
        ]
    );
}

#[test]
fn a_work_item_leads_to_the_thread_that_queued_it() {
    use unjank_host::tracefs::{Context, EventKind};
    let queued = EventKind::WorkQueued { item: 5, function: 6 };
    let begins = EventKind::WorkBegins { item: 5, function: 6 };
    let script = Script::new()
        .runs(0, 0, 0, 7)
        .runs(1, 0, 0, 9)
        .runs(2, 0, 0, 3)
        .sleeps(0, 100, 7, 0)
        .happens(2, 150, Context::Thread, queued)
        .happens(1, 200, Context::Thread, begins)
        .wakes(1, 300, 7, 0)
        .runs(0, 300, 0, 7)
        .sleeps(0, 400, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 400),
        [
            "0-100 t7 own Computing",
            "100-150 t3 other Computing",
            "150-300 t9 other Computing",
            "300-400 t7 own Computing",
        ]
    );
}

#[test]
fn a_thread_that_was_born_in_the_window_leads_to_its_parent() {
    use unjank_host::tracefs::{Context, EventKind, StorageEvent};
    let started = StorageEvent::Started { thread: ThreadId(7), same_process: true };
    let script = Script::new()
        .runs(0, 0, 0, 3)
        .happens(0, 100, Context::Thread, EventKind::Storage(started))
        .wakes(0, 110, 7, 1)
        .runs(1, 130, 0, 7)
        .sleeps(1, 200, 7, 0);
    assert_eq!(
        path(&script, 7, 0, 200),
        ["0-100 t3 own Computing", "100-130 t7 own RunQueue", "130-200 t7 own Computing"]
    );
}

mod invented {
    use proptest::prelude::*;
    use unjank_host::input::Stop;
    use unjank_host::tracefs::{Context, EventKind, Gap};
    use unjank_units::Nanos;

    use super::*;
    use crate::report::{About, Clocks, Explained, Launches, findings};
    use crate::what_if::{Change, Replays, Window};

    const CPUS: usize = 3;
    const THREADS: u32 = 6;

    /// A machine of three CPUs and six threads, whose events follow from a list of numbers.
    #[derive(Debug, Default)]
    struct Machine {
        running: [u32; CPUS],
        ready: Vec<u32>,
        asleep: Vec<u32>,
    }

    fn invent(choices: &[(u8, u8, u8)]) -> (Script, u64) {
        let mut machine = Machine { asleep: (1..=THREADS).collect(), ..Machine::default() };
        let (mut script, mut now) = (Script::new(), 0);
        for &(what, cpu, gap) in choices {
            now += u64::from(gap) + 1;
            let cpu = usize::from(cpu) % CPUS;
            let current = machine.running[cpu];
            script = match what % 5 {
                // The current thread falls asleep, or is preempted.
                choice @ (0 | 1) => {
                    let next = if machine.ready.is_empty() { 0 } else { machine.ready.remove(0) };
                    machine.running[cpu] = next;
                    if current == 0 && next == 0 {
                        script
                    } else if choice == 0 || current == 0 {
                        machine.asleep.extend((current != 0).then_some(current));
                        script.sleeps(cpu, now, current, next)
                    } else {
                        machine.ready.push(current);
                        script.runs(cpu, now, current, next)
                    }
                }
                // It wakes another; an idle CPU cannot.
                2 | 3 if current != 0 && !machine.asleep.is_empty() => {
                    let woken = machine.asleep.remove(0);
                    machine.ready.push(woken);
                    script.wakes(cpu, now, woken, cpu)
                }
                // A timer does.
                _ if !machine.asleep.is_empty() => {
                    let woken = machine.asleep.remove(0);
                    machine.ready.push(woken);
                    let task = unjank_host::tracefs::script::task(woken);
                    let waking = EventKind::Waking { task, cpu };
                    script.expires(cpu, now).happens(cpu, now, Context::Irq, waking)
                }
                _ => script,
            };
        }
        (script, now)
    }

    proptest! {
        #[test]
        fn events_of_every_kind_are_explained_and_said(
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
            thread in 0_u32..64,
            (from, to) in (0_u64..4_000, 0_u64..4_000),
        ) {
            let trace = Script::invented(&bytes).trace();
            let window = (at(from.min(to)), at(from.max(to)));
            let clocks = Clocks {
                highest: [(0, 2_000_000)].into(),
                at_start: [(0, 1_000_000)].into(),
                ..Clocks::default()
            };
            let launch = Explained::new(trace, ThreadId(thread), window, clocks);
            let about = About::default();
            prop_assert_eq!(launch.split().total(), window.1.since(window.0));
            let mut out = Vec::new();
            crate::export::perfetto(&launch, &mut out).unwrap();
            crate::export::folded(&launch, &mut out).unwrap();
            let said = findings(&Launches::single(launch, &about), &about);
            prop_assert!(said.facts.iter().all(|fact| fact.value.is_finite()));
        }

        #[test]
        fn a_path_fills_its_window_and_a_replay_without_a_change_has_its_length(
            choices in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..200),
            cut in any::<(u8, u8)>(),
            lost in proptest::collection::vec((0..CPUS, any::<u16>(), any::<u8>()), 0..4),
        ) {
            let (script, now) = invent(&choices);
            let mut trace = script.trace();
            for (cpu, from, length) in lost {
                let from = now * u64::from(from) / 65_536;
                let gap = Gap { from: at(from), to: at(from + 1 + u64::from(length) * 8) };
                let cpu = &mut trace.cpus[cpu];
                cpu.gaps.push(gap);
                cpu.events.retain(|event| event.at <= gap.from || event.at >= gap.to);
            }
            let history = History::of(&trace);
            let first = now * u64::from(cut.0.min(cut.1)) / 256;
            let last = now * u64::from(cut.0.max(cut.1)) / 256;
            for thread in 1..=THREADS {
                let (id, from, to) = (ThreadId(thread), at(first), at(last));
                let found = critical_path(&history, id, from, to);
                let mut end = from;
                for segment in &found.segments {
                    prop_assert_eq!(segment.from, end);
                    prop_assert!(segment.from < segment.to);
                    end = segment.to;
                    if let Detail::Cpu(cpu) = segment.detail {
                        let lost = trace.cpus[cpu].gaps.iter();
                        let mut lost = lost.filter(|gap| gap.overlaps(segment.from, segment.to));
                        prop_assert_eq!(lost.next(), None, "{:?}", segment);
                    }
                }
                prop_assert_eq!(end, to);
                let Some(life) = history.life(id, to) else { continue };
                let covers = life.spans.begin().is_some_and(|begin| begin <= from)
                    && life.spans.end().is_some_and(|end| end >= to);
                if covers && from < to {
                    let clocks = crate::split::HighestClocks::new();
                    let family = [id].into();
                    let (highest, thread) = (&clocks, id);
                    let window =
                        Window { trace: &trace, history: &history, highest, swap: &[], family: &family, thread, locks: &[], from, to };
                    let stop = Stop::default();
                    let replays = Replays::of(window, &stop).unwrap();
                    let same = replays.length(&Change::default()).unwrap();
                    prop_assert_eq!(same, to.since(from));
                    let boosted = family.clone();
                    let faster = Change { boosted, ..Change::default() };
                    prop_assert!(replays.length(&faster).unwrap() <= same);
                    let split = crate::split::Split::of(&found, &history, &clocks);
                    prop_assert_eq!(split.total(), Nanos(last - first));
                }
            }
        }

        #[test]
        fn the_waits_of_any_program_are_times_of_its_path(
            bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
            (first, thread) in (0_u32..8, 0_u32..8),
        ) {
            let history = History::of(&Script::invented(&bytes).trace());
            let threads = (ThreadId(first), ThreadId(thread));
            let path = path_of_program(&history, threads, at(0), at(4_000), &Stop::default());
            let sum: u64 = path.segments.iter().map(|segment| segment.length().get()).sum();
            prop_assert_eq!(sum, 4_000);
            prop_assert!(path.waits.is_sorted_by(|before, after| before.to <= after.from));
            for segment in &path.segments {
                if let Some(wait) = segment.wait {
                    let wait = path.waits[wait as usize];
                    prop_assert!(wait.from <= segment.from && segment.to <= wait.to);
                }
            }
        }

        #[test]
        fn any_trace_is_explained_or_unknown(
            events in proptest::collection::vec((0_u8..7, 0_u32..4, 0_u32..4, 0_u8..30), 0..80),
        ) {
            let (mut script, mut now) = (Script::new(), 0);
            for (what, one, other, gap) in events {
                now += u64::from(gap);
                let cpu = one as usize % CPUS;
                script = match what {
                    0 => script.runs(cpu, now, one, other),
                    1 => script.sleeps(cpu, now, one, other),
                    2 => script.wakes(cpu, now, other, cpu),
                    3 => script.expires(cpu, now),
                    4 => script.interrupts(cpu, now, now + 1),
                    5 => script.migrates(cpu, now, other, cpu, 0),
                    _ => script.wakes_late(cpu, now, other, cpu),
                };
            }
            let history = History::of(&script.trace());
            for thread in 0..4 {
                let found = critical_path(&history, ThreadId(thread), at(0), at(now));
                let sum: u64 = found.segments.iter().map(|segment| segment.length().get()).sum();
                prop_assert_eq!(sum, now);
            }
        }
    }
}
