use super::super::event::{Context, Irq, PrevState, Softirq};
use super::super::trace::Gap;
use super::*;
use unjank_units::Nanos;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn task(tid: u32) -> Task {
    let comm = if tid == 0 { "swapper/1".into() } else { format!("t{tid}").as_str().into() };
    Task { tid: ThreadId(tid), comm, prio: 120 }
}

fn switch(prev: u32, next: u32) -> EventKind {
    EventKind::Switch { prev: task(prev), prev_state: PrevState::Runnable, next: task(next) }
}

fn irq(number: i32) -> Irq {
    Irq { number, name: "disk".into() }
}

/// A trace in which the current thread of each event follows from the
/// switches. Before the first switch, it is the thread that this one switches
/// away.
fn trace(events: &[(u64, EventKind)], gaps: &[(u64, u64)]) -> CpuTrace {
    let switches = |&(_, kind): &(u64, EventKind)| match kind {
        EventKind::Switch { prev, next, .. } => Some((prev.tid, next.tid)),
        _ => None,
    };
    let mut current = events.iter().find_map(switches).map_or(ThreadId(0), |(prev, _)| prev);
    let events = events.iter().map(|event| {
        let mut at_event = current;
        if let Some((prev, next)) = switches(event) {
            (at_event, current) = (prev, next);
        }
        Event { at: at(event.0), current: at_event, context: Context::Thread, kind: event.1 }
    });
    let gap = |&(from, to): &(u64, u64)| Gap { from: at(from), to: at(to) };
    CpuTrace {
        cpu: 1,
        events: events.collect(),
        gaps: gaps.iter().map(gap).collect(),
        ..CpuTrace::default()
    }
}

fn between(trace: &CpuTrace, from: u64, to: u64) -> Vec<(u64, u64, String)> {
    let stretches = trace.between(at(from), at(to));
    let plain = |s: Stretch| (s.from.as_nanos(), s.to.as_nanos(), s.who.to_string());
    stretches.into_iter().map(plain).collect()
}

fn stretch(from: u64, to: u64, who: &str) -> (u64, u64, String) {
    (from, to, who.to_owned())
}

#[test]
fn threads_follow_each_other() {
    let trace = trace(&[(10, switch(1, 2)), (20, switch(2, 0)), (30, switch(0, 3))], &[]);
    let whole = [stretch(5, 10, "t1"), stretch(10, 20, "t2"), stretch(20, 30, "idle")];
    assert_eq!(between(&trace, 5, 30), whole);
    assert_eq!(between(&trace, 12, 14), [stretch(12, 14, "t2")]);
    assert_eq!(between(&trace, 40, 50), [stretch(40, 50, "t3")]);
    assert!(between(&trace, 14, 12).is_empty());
}

#[test]
fn time_of_interrupts_is_taken_from_the_interrupted() {
    let softirq = Softirq(3);
    let trace = trace(
        &[
            (10, switch(1, 2)),
            (12, EventKind::SoftirqEntry(softirq)),
            (14, EventKind::IrqEntry(irq(24))),
            (15, EventKind::IrqExit(24)),
            (18, EventKind::SoftirqExit(softirq)),
            (20, switch(2, 1)),
        ],
        &[],
    );
    let parts = [
        stretch(11, 12, "t2"),
        stretch(12, 14, "softirq NET_RX"),
        stretch(14, 15, "irq 24 (disk)"),
        stretch(15, 18, "softirq NET_RX"),
        stretch(18, 20, "t2"),
    ];
    assert_eq!(between(&trace, 11, 20), parts);
    assert_eq!(
        between(&trace, 13, 16),
        [
            stretch(13, 14, "softirq NET_RX"),
            stretch(14, 15, "irq 24 (disk)"),
            stretch(15, 16, "softirq NET_RX"),
        ]
    );
}

#[test]
fn an_exit_without_its_entry_changes_nothing() {
    let trace = trace(
        &[(10, EventKind::IrqExit(24)), (11, EventKind::Idle(None)), (20, switch(0, 2))],
        &[],
    );
    assert_eq!(between(&trace, 5, 20), [stretch(5, 20, "idle")]);
}

#[test]
fn idle_states_are_distinguished() {
    let idle = EventKind::Idle;
    let trace = trace(&[(10, switch(1, 0)), (11, idle(Some(2))), (15, idle(None))], &[]);
    assert_eq!(
        between(&trace, 10, 16),
        [stretch(10, 11, "idle"), stretch(11, 15, "idle state 2"), stretch(15, 16, "idle"),]
    );
}

#[test]
fn nothing_is_claimed_about_a_gap() {
    let events = [(10, switch(1, 2)), (20, switch(2, 3)), (40, switch(4, 5))];
    let trace = trace(&events, &[(0, 10), (20, 30), (50, u64::MAX)]);
    assert_eq!(
        between(&trace, 0, 60),
        [stretch(10, 20, "t2"), stretch(30, 40, "t4"), stretch(40, 50, "t5"),]
    );
    assert!(between(&trace, 22, 28).is_empty());
    assert!(between(&trace, 55, 60).is_empty());
}

#[test]
fn without_a_switch_the_interrupted_thread_has_the_cpu() {
    let events = [(10, EventKind::IrqEntry(irq(1))), (12, EventKind::IrqExit(1))];
    let mut trace = trace(&events, &[]);
    let current = ThreadId(77);
    trace.events = trace.events.iter().map(|event| Event { current, ..event }).collect();
    let parts = [
        stretch(0, 10, "thread 77"),
        stretch(10, 12, "irq 1 (disk)"),
        stretch(12, 20, "thread 77"),
    ];
    assert_eq!(between(&trace, 0, 20), parts);
    assert!(between(&CpuTrace::new(1), 0, 20).is_empty());
}

#[test]
fn a_missing_switch_is_not_guessed() {
    // The switch from the idle task to thread 2 is missing: it happened
    // after the interrupt, before the next event.
    let events = [
        (10, switch(1, 0)),
        (20, EventKind::IrqEntry(irq(1))),
        (22, EventKind::IrqExit(1)),
        (30, EventKind::Mark("hello".into())),
        (40, switch(2, 0)),
    ];
    let mut trace = trace(&events, &[]);
    let mut changed: Vec<Event> = trace.events.iter().collect();
    changed[3].current = ThreadId(2);
    trace.events = changed.into_iter().collect();
    let parts = [
        stretch(10, 20, "idle"),
        stretch(20, 22, "irq 1 (disk)"),
        stretch(30, 40, "t2"),
        stretch(40, 50, "idle"),
    ];
    assert_eq!(between(&trace, 10, 50), parts);
    assert_eq!(between(&trace, 25, 35), [stretch(30, 35, "t2")]);
}

/// A search through all events and gaps for each window would take minutes here.
#[test]
fn a_thread_may_run_for_any_number_of_events() {
    const EVENTS: u64 = 200_000;
    let calls = (0..EVENTS).map(|nanos| (1_000_000 + nanos * 10, EventKind::TimerEnds));
    let mut events: Vec<(u64, EventKind)> = vec![(999_999, switch(0, 2))];
    events.extend(calls);
    let gaps: Vec<(u64, u64)> = (0..100_000).map(|gap| (gap * 4, gap * 4 + 2)).collect();
    let trace = trace(&events, &gaps);
    for from in (1_000_000..1_000_000 + EVENTS * 10).step_by(200) {
        assert_eq!(between(&trace, from, from + 100), [stretch(from, from + 100, "t2")]);
    }
}

fn any_event() -> impl proptest::strategy::Strategy<Value = EventKind> {
    use proptest::prelude::*;
    prop_oneof![
        (0_u32..4, 0_u32..4).prop_map(|(prev, next)| switch(prev, next)),
        (0_i32..3).prop_map(|number| EventKind::IrqEntry(irq(number))),
        (0_i32..3).prop_map(EventKind::IrqExit),
        (0_u32..3).prop_map(|number| EventKind::SoftirqEntry(Softirq(number))),
        (0_u32..3).prop_map(|number| EventKind::SoftirqExit(Softirq(number))),
        proptest::option::of(0_u32..2).prop_map(EventKind::Idle),
    ]
}

proptest::proptest! {
    #[test]
    fn stretches_fill_the_window_without_overlap(
        events in proptest::collection::vec((0_u64..100, any_event()), 0..40),
        gaps in proptest::collection::vec((0_u64..100, 0_u64..20), 0..3),
        from in 0_u64..120,
        length in 0_u64..60,
    ) {
        let mut trace = trace(&events, &[]);
        let gap = |&(from, length): &(u64, u64)| Gap { from: at(from), to: at(from + length) };
        trace.gaps = gaps.iter().map(gap).collect();
        trace.events.sort();
        trace.finish(at(0), at(u64::MAX));
        let found = trace.between(at(from), at(from + length));
        let mut end = at(from);
        for stretch in &found {
            proptest::prop_assert!(end <= stretch.from && stretch.from < stretch.to);
            end = stretch.to;
        }
        proptest::prop_assert!(end <= at(from + length));
        let current = |event: Event| event.current;
        let mut last = trace.events.first().map(current);
        let whole = trace.events.iter().all(|event| {
            let continues = last == Some(event.current);
            last = Some(match event.kind {
                EventKind::Switch { next, .. } => next.tid,
                _ => event.current,
            });
            continues
        });
        if trace.gaps.is_empty() && whole && !trace.events.is_empty() {
            let sum = found.iter().fold(Nanos::ZERO, |sum, stretch| sum + stretch.length());
            proptest::prop_assert_eq!(sum, Nanos(length));
        }
    }
}
