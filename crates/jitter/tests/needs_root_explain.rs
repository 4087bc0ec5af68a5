//! Causes of late wake-ups on the running kernel.
//!
//! Needs root. Without it, fails if `UNJANK_TEST_ALL=1`, otherwise prints that it
//! was skipped.

// Tests fail by panicking, and print why they were skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use unjank_host::clock::thread_cpu_time;
use unjank_host::sched::{
    AffinityGuard, CpuSet, Policy, Priority, ThreadId, set_policy, timer_slack,
};
use unjank_host::tracefs::{InstanceOptions, Occupant, Trace, Tracefs};
use unjank_host::{Bytes, Nanos, Root, Support, Timestamp};
use unjank_jitter::explain::{Cause, Culprit, LateWakeUp, Phase, cause_of};
use unjank_needs::wait::until_some;

fn tracefs() -> Option<Tracefs> {
    match Tracefs::open(&Root::system()) {
        Support::Yes(tracefs) => Some(tracefs),
        Support::No(reason) => {
            unjank_needs::skip(format!("tracefs: {reason}"));
            None
        }
    }
}

/// Repeats an attempt until it succeeds and no event is lost: on a busy machine, there may be too
/// many for the buffers. Returns the trace, too.
fn traced<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<(Trace, T)> {
    let tracefs = tracefs()?;
    let options = InstanceOptions { buffer: Bytes::from_mib(16), ..InstanceOptions::default() };
    let whole = until_some("the attempt succeeds, and no event is lost", || {
        let instance = tracefs.instance(&options).unwrap();
        instance.start().unwrap();
        let result = attempt();
        instance.stop().unwrap();
        let trace = instance.read_events().unwrap();
        let lost = trace.lost.overwritten + trace.lost.dropped;
        result.filter(|_| lost == 0).map(|result| (trace, result))
    });
    Some(whole)
}

/// Nearly always enough for a thread to start and to fall asleep.
const LEAD: Nanos = Nanos::from_millis(200);

/// A real-time thread that computes from the moment that it receives. Returns whether it had the CPU
/// for all but a millisecond of that time.
fn hog(cpu: usize, name: &str, length: Nanos) -> (JoinHandle<bool>, Sender<Timestamp>) {
    let (begin, moment) = channel::<Timestamp>();
    let (is_ready, ready) = channel();
    let work = move || {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        let priority = Priority::new(20).unwrap();
        set_policy(ThreadId::current(), Policy::Fifo(priority), true).unwrap();
        is_ready.send(()).unwrap();
        let start = moment.recv().unwrap();
        start.sleep_until();
        let cpu_before = thread_cpu_time();
        while Timestamp::now() < start + length {}
        thread_cpu_time() - cpu_before + Nanos::from_millis(1) >= length
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
    let traced = traced(|| {
        // A thread may call itself anything.
        let (hog, begin) = hog(cpu, "evil ==> 1\n\x1b[m", Nanos::from_millis(8));
        let start = Timestamp::now() + LEAD;
        begin.send(start).unwrap();
        let (late, in_time) = sleeps_until(cpu, start + Nanos::from_millis(3));
        // On a busy machine, a thread may start too late to be kept waiting, or the hog may wait.
        let had_the_cpu = hog.join().unwrap();
        // The kernel's fair server may let an ordinary thread run before a real-time one.
        let kept_waiting = late.ran >= late.due + Nanos::from_millis(4);
        (in_time && had_the_cpu && kept_waiting).then_some(late)
    });
    let Some((trace, late)) = traced else { return };
    let cause = cause(&trace, &late);
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
    let Some(tracefs) = tracefs() else { return };
    let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
    let cpu = CpuSet::allowed().unwrap().iter().last().unwrap();
    let late = sleep_until(cpu, Timestamp::now() + Nanos::from_millis(1));
    instance.start().unwrap();
    instance.stop().unwrap();
    let answer = cause_of(&instance.read_events().unwrap(), &late);
    assert_eq!(answer.reason(), Some("the trace lost events here"));
}

#[test]
fn an_undisturbed_wake_up_is_explained_too() {
    let allowed = CpuSet::allowed().unwrap();
    let slept = |cpu| {
        // On a busy machine, a thread may start too late to sleep at all.
        let (late, in_time) = sleeps_until(cpu, Timestamp::now() + LEAD);
        in_time.then_some(late)
    };
    let traced = traced(|| allowed.iter().map(slept).collect::<Option<Vec<LateWakeUp>>>());
    let Some((trace, wakeups)) = traced else { return };
    for late in wakeups {
        let cause = cause(&trace, &late);
        println!("{} late: {cause}", cause.late());
        assert_eq!(cause.late(), late.ran.since(late.due));
    }
}
