//! Causes of late wake-ups on the running kernel.
//!
//! Needs root. Without it, fails if `UNJANK_TEST_ALL=1`, otherwise prints that it
//! was skipped.

// Tests fail by panicking, and print why they were skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use unjank_host::sched::{
    AffinityGuard, CpuSet, Policy, Priority, ThreadId, set_policy, timer_slack,
};
use unjank_host::tracefs::{Instance, InstanceOptions, Occupant, Trace, Tracefs};
use unjank_host::{Nanos, Root, Support, Timestamp};
use unjank_jitter::explain::{Cause, Culprit, LateWakeUp, Phase, cause_of};

fn instance() -> Option<Instance> {
    match Tracefs::open(&Root::system()) {
        Support::Yes(tracefs) => Some(tracefs.instance(&InstanceOptions::default()).unwrap()),
        Support::No(reason) => {
            unjank_needs::skip(format!("tracefs: {reason}"));
            None
        }
    }
}

/// Nearly always enough for a thread to start and to fall asleep.
const LEAD: Nanos = Nanos::from_millis(200);

/// A real-time thread that computes from the moment that it receives.
fn hog(cpu: usize, name: &str, length: Nanos) -> (JoinHandle<()>, Sender<Timestamp>) {
    let (begin, moment) = channel::<Timestamp>();
    let (is_ready, ready) = channel();
    let work = move || {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        let priority = Priority::new(20).unwrap();
        set_policy(ThreadId::current(), Policy::Fifo(priority), true).unwrap();
        is_ready.send(()).unwrap();
        let start = moment.recv().unwrap();
        start.sleep_until();
        while Timestamp::now() < start + length {}
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work).unwrap();
    ready.recv().unwrap();
    (thread, begin)
}

fn sleep_until(cpu: usize, due: Timestamp) -> LateWakeUp {
    sleeps_until(cpu, due).0
}

/// The same, and whether the thread went to sleep before the moment.
fn sleeps_until(cpu: usize, due: Timestamp) -> (LateWakeUp, bool) {
    let victim = thread::spawn(move || {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        let timer_slack = timer_slack().unwrap();
        let in_time = Timestamp::now() < due;
        due.sleep_until();
        let ran = Timestamp::now();
        (LateWakeUp { thread: ThreadId::current(), due, ran, timer_slack }, in_time)
    });
    victim.join().unwrap()
}

fn cause(trace: &Trace, late: &LateWakeUp) -> Cause {
    match cause_of(trace, late) {
        Support::Yes(cause) => cause,
        Support::No(reason) => panic!("{reason}"),
    }
}

#[test]
fn the_hog_is_named() {
    let cpu = CpuSet::allowed().unwrap().iter().last().unwrap();
    // On a busy machine, a thread may start too late to be kept waiting.
    let (instance, late) = loop {
        let Some(instance) = instance() else { return };
        instance.start().unwrap();
        // A thread may call itself anything.
        let (hog, begin) = hog(cpu, "evil ==> 1\n\x1b[m", Nanos::from_millis(8));
        let start = Timestamp::now() + LEAD;
        begin.send(start).unwrap();
        let (late, in_time) = sleeps_until(cpu, start + Nanos::from_millis(3));
        instance.stop().unwrap();
        hog.join().unwrap();
        if in_time {
            break (instance, late);
        }
    };
    let cause = cause(&instance.read_events().unwrap(), &late);
    assert_eq!(cause.late(), late.ran.since(late.due));
    // On a busy machine, another thread may run after it, and for longer.
    let named = |culprit: &&Culprit| match culprit.who {
        Occupant::Thread(task) => task.comm.as_bytes() == b"evil ==> 1\n\x1b[m",
        _ => false,
    };
    let worst = cause.culprits.iter().find(named).unwrap_or_else(|| panic!("{cause:?}"));
    assert_eq!((worst.phase, worst.cpu), (Phase::Wait, cpu));
    assert!(worst.held >= Nanos::from_millis(3), "{cause:?}");
    let sentence = cause.to_string();
    assert!(sentence.contains("evil ==> 1\\n\\u{1b}[m"), "{sentence}");
}

#[test]
fn a_wake_up_before_the_recording_is_not_explained() {
    let Some(instance) = instance() else { return };
    let cpu = CpuSet::allowed().unwrap().iter().last().unwrap();
    let late = sleep_until(cpu, Timestamp::now() + Nanos::from_millis(1));
    instance.start().unwrap();
    instance.stop().unwrap();
    let answer = cause_of(&instance.read_events().unwrap(), &late);
    assert_eq!(answer.reason(), Some("the trace lost events here"));
}

#[test]
fn an_undisturbed_wake_up_is_explained_too() {
    let Some(instance) = instance() else { return };
    let allowed = CpuSet::allowed().unwrap();
    instance.start().unwrap();
    let slept = |cpu| loop {
        // On a busy machine, a thread may start too late to sleep at all.
        let (late, in_time) = sleeps_until(cpu, Timestamp::now() + LEAD);
        if in_time {
            break late;
        }
    };
    let wakeups: Vec<LateWakeUp> = allowed.iter().map(slept).collect();
    instance.stop().unwrap();
    let trace = instance.read_events().unwrap();
    for late in wakeups {
        let cause = cause(&trace, &late);
        println!("{} late: {cause}", cause.late());
        assert_eq!(cause.late(), late.ran.since(late.due));
    }
}
