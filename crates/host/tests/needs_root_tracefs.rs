//! Private traces on the running kernel.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that
//! it was skipped.

// Tests may fail by panicking, also in their setup, and print why they are
// skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod tracefs_text;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use unjank_host::clock::thread_cpu_time;
use unjank_host::sched::{
    AffinityGuard, CpuSet, Policy, Priority, ThreadId, current_cpu, set_policy,
};
use unjank_host::tracefs::{
    EventKind, Instance, InstanceOptions, Occupant, Trace, Tracefs, remove_instance_named,
    remove_leftovers,
};
use unjank_host::{Bytes, Error, Nanos, Root, Support, Timestamp};
use unjank_needs::wait::{until, until_some};

fn tracefs() -> Option<Tracefs> {
    match Tracefs::open(&Root::system()) {
        Support::Yes(tracefs) => Some(tracefs),
        Support::No(reason) => {
            unjank_needs::skip(format!("tracefs: {reason}"));
            None
        }
    }
}

/// The test's own view of tracefs, made without the code under test.
struct View(OwnedFd);

impl View {
    fn new() -> Self {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).unwrap();
        fsconfig_create(&context).unwrap();
        let none = MountAttrFlags::empty();
        Self(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, none).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

fn count(trace: &Trace, is_it: impl Fn(&EventKind) -> bool) -> usize {
    let events = trace.cpus.iter().flat_map(|cpu| &cpu.events);
    events.filter(|event| is_it(&event.kind)).count()
}

#[test]
fn the_binary_form_says_what_the_text_says() {
    let Some(tracefs) = tracefs() else { return };
    // Other programs may fill the buffer while this thread waits for a CPU.
    let trace = until_some("a recording is whole", || {
        let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
        let trace = both_forms(&instance);
        assert!(instance.read_events().unwrap().is_empty(), "what was read is gone");
        Some(trace).filter(is_whole)
    });
    assert_eq!(count(&trace, |kind| matches!(kind, EventKind::Mark(_))), 39);
    assert!(count(&trace, |kind| matches!(kind, EventKind::Switch { .. })) >= 39);
}

/// Whether the kernel has lost no event.
fn is_whole(trace: &Trace) -> bool {
    trace.lost.overwritten + trace.lost.dropped == 0
}

/// Records 39 marks and sleeps, and compares the events of each CPU with the text.
fn both_forms(instance: &Instance) -> Trace {
    instance.start().unwrap();
    for pause in 1..40 {
        instance.mark(&format!("pause {pause}")).unwrap();
        thread::sleep(Nanos::from_micros(pause * 40).into());
    }
    instance.stop().unwrap();
    instance.mark("after the stop").unwrap();

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.txt");
    assert!(instance.save_text(&file).unwrap() > 1_000);
    let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
    let trace = instance.read_events().unwrap();
    for cpu in &trace.cpus {
        let decoded: Vec<String> =
            cpu.events.iter().map(|event| tracefs_text::of_event(&event, cpu.cpu)).collect();
        assert_eq!(decoded, tracefs_text::of_cpu(&text, cpu.cpu), "CPU {}", cpu.cpu);
        assert_eq!(cpu.undecoded, 0);
    }
    trace
}

#[test]
fn trace_times_are_timestamps() {
    let Some(tracefs) = tracefs() else { return };
    let options = InstanceOptions { events: Vec::new(), ..InstanceOptions::default() };
    let instance = tracefs.instance(&options).unwrap();
    instance.start().unwrap();
    let before = Timestamp::now();
    instance.mark("now").unwrap();
    let after = Timestamp::now();
    let trace = instance.read_events().unwrap();
    let marks: Vec<Timestamp> =
        trace.cpus.iter().flat_map(|cpu| cpu.events.iter().map(|event| event.at)).collect();
    assert_eq!(marks.len(), 1);
    // The two ways to read the clock may round differently.
    let slack = Nanos(1_000);
    assert!(before <= marks[0] + slack && marks[0] <= after + slack);
}

#[test]
fn who_had_the_cpu_while_a_thread_waited() {
    let Some(tracefs) = tracefs() else { return };
    let cpu = CpuSet::allowed().unwrap().iter().last().unwrap();
    // On a busy machine, a thread may start too late, the hog may wait for another one, and the
    // events may be too many for the buffers.
    let (trace, due, (victim, ran)) =
        until_some("the hog has the CPU, and no event is lost", || {
            let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
            instance.start().unwrap();
            let (due, waited) = wait_behind_a_hog(cpu);
            instance.stop().unwrap();
            let trace = instance.read_events().unwrap();
            waited.filter(|_| is_whole(&trace)).map(|waited| (trace, due, waited))
        });
    assert!(!trace.has_gap(due, ran));
    let stretches = trace.cpu(cpu).unwrap().between(due, ran);
    let had = |name: &str| {
        let of_name = stretches.iter().filter(|stretch| stretch.who.to_string() == name);
        of_name.fold(Nanos::ZERO, |sum, stretch| sum + stretch.length())
    };
    assert!(had("hog") >= Nanos::from_millis(3), "{stretches:#?}");
    let is_victim = |who: &Occupant| matches!(who, Occupant::Thread(task) if task.tid == victim);
    assert!(is_victim(&stretches.last().unwrap().who), "{stretches:#?}");
}

/// Lets a thread sleep until a moment at which a real-time hog has its CPU. Returns that moment,
/// and the thread with the moment at which it ran again; `None` if the thread began to sleep too
/// late, or did not have to wait for the hog.
fn wait_behind_a_hog(cpu: usize) -> (Timestamp, Option<(ThreadId, Timestamp)>) {
    let (send, receive) = std::sync::mpsc::channel::<Timestamp>();
    let (is_ready, ready) = std::sync::mpsc::channel();
    let hog = thread::Builder::new().name("hog".to_owned()).spawn(move || {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        let priority = Priority::new(20).unwrap();
        set_policy(ThreadId::current(), Policy::Fifo(priority), true).unwrap();
        is_ready.send(()).unwrap();
        let start = receive.recv().unwrap();
        start.sleep_until();
        let begun = thread_cpu_time();
        while Timestamp::now() < start + Nanos::from_millis(8) {}
        thread_cpu_time() - begun >= Nanos::from_millis(7)
    });
    ready.recv().unwrap();
    let start = Timestamp::now() + Nanos::from_millis(100);
    let due = start + Nanos::from_millis(3);
    send.send(start).unwrap();
    let victim = thread::spawn(move || {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        let in_time = Timestamp::now() < due;
        due.sleep_until();
        in_time.then(|| (ThreadId::current(), Timestamp::now()))
    });
    let waited = victim.join().unwrap();
    let had_the_cpu = hog.unwrap().join().unwrap();
    // The kernel's fair server may let an ordinary thread run before a real-time one.
    let kept_waiting = |ran: Timestamp| ran >= due + Nanos::from_millis(4);
    (due, waited.filter(|&(_, ran)| had_the_cpu && kept_waiting(ran)))
}

#[test]
fn overwritten_events_leave_a_gap_and_are_counted() {
    let Some(tracefs) = tracefs() else { return };
    let options = InstanceOptions {
        buffer: Bytes::from_kib(16),
        events: Vec::new(),
        ..InstanceOptions::default()
    };
    let instance = tracefs.instance(&options).unwrap();
    let _here = AffinityGuard::pin_to(current_cpu()).unwrap();
    instance.start().unwrap();
    let start = Timestamp::now();
    let written = 5_000;
    for number in 0..written {
        instance.mark(&format!("number {number}")).unwrap();
    }
    instance.stop().unwrap();
    let trace = instance.read_events().unwrap();
    let kept = trace.len();
    assert!(kept > 100 && kept < written);
    assert_eq!(trace.lost.overwritten as usize + kept, written);
    let first = trace.cpus.iter().find_map(|cpu| cpu.events.first()).unwrap().at;
    assert!(trace.has_gap(start, first));
    let last = trace.cpus.iter().find_map(|cpu| cpu.events.last()).unwrap().at;
    assert!(!trace.has_gap(first, last));
}

#[test]
fn reading_while_it_records_takes_each_event_once() {
    let Some(tracefs) = tracefs() else { return };
    let options = InstanceOptions { events: Vec::new(), ..InstanceOptions::default() };
    let instance = tracefs.instance(&options).unwrap();
    instance.start().unwrap();
    let is_mark = |kind: &EventKind| matches!(kind, EventKind::Mark(_));
    let start = Timestamp::now();
    for round in 1..=3 {
        for number in 0..100 {
            instance.mark(&format!("round {round} number {number}")).unwrap();
        }
        let trace = instance.read_events().unwrap();
        assert_eq!(count(&trace, is_mark), 100, "round {round}");
        assert_eq!(trace.has_gap(start, start + Nanos(1)), round > 1, "round {round}");
        assert!(trace.has_gap(Timestamp::now(), Timestamp::now() + Nanos(1)));
    }
}

#[test]
fn threads_and_cpus_can_be_chosen() {
    let Some(tracefs) = tracefs() else { return };
    let cpus = CpuSet::allowed().unwrap();
    let (first, last) = (cpus.iter().next().unwrap(), cpus.iter().last().unwrap());
    let options = InstanceOptions {
        cpus: Some(CpuSet::new([first])),
        threads: vec![ThreadId::current()],
        ..InstanceOptions::default()
    };
    let instance = tracefs.instance(&options).unwrap();
    instance.start().unwrap();
    for cpu in [first, last] {
        let _here = AffinityGuard::pin_to(cpu).unwrap();
        thread::sleep(Nanos::from_millis(3).into());
    }
    let trace = instance.read_events().unwrap();
    let me = ThreadId::current();
    assert!(count(&trace, |kind| matches!(kind, EventKind::Switch { .. })) > 0);
    let others = |kind: &EventKind| match kind {
        EventKind::Switch { prev, next, .. } => prev.tid != me && next.tid != me,
        _ => false,
    };
    assert_eq!(count(&trace, others), 0);
    let elsewhere = trace.cpus.iter().filter(|cpu| cpu.cpu != first);
    assert_eq!(elsewhere.map(|cpu| cpu.events.len()).sum::<usize>(), 0);
}

#[test]
fn an_instance_leaves_nothing_behind_and_disturbs_nobody() {
    let Some(tracefs) = tracefs() else { return };
    let _turn = unjank_needs::turns::top_trace();
    let view = View::new();
    let state = || {
        let names = [
            "tracing_on",
            "current_tracer",
            "trace_clock",
            "buffer_size_kb",
            "tracing_cpumask",
            "set_event",
            "set_event_pid",
            "trace_options",
            "events/enable",
            "events/sched/enable",
        ];
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounts = mounts.lines().filter(|line| line.contains("trac")).count();
        (names.map(|name| view.read(name)), mounts)
    };
    let before = state();
    let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
    let dir = view.path(&format!("instances/{}", instance.name()));
    assert!(dir.exists());
    instance.start().unwrap();
    assert_eq!(state(), before, "while it records");
    instance.remove().unwrap();
    assert!(!dir.exists());
    assert_eq!(state(), before, "afterwards");

    let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
    let dir = view.path(&format!("instances/{}", instance.name()));
    drop(instance);
    assert!(!dir.exists());
}

#[test]
fn an_instance_that_somebody_reads_is_not_lost_from_sight() {
    let Some(tracefs) = tracefs() else { return };
    let view = View::new();
    let instance = tracefs.instance(&InstanceOptions::default()).unwrap();
    instance.start().unwrap();
    let name = instance.name().to_owned();
    let reader = fs::File::open(view.path(&format!("instances/{name}/trace_pipe"))).unwrap();
    assert!(matches!(instance.remove(), Err(Error::Busy(_))));
    assert_eq!(view.read(&format!("instances/{name}/tracing_on")), "0\n", "at least it is off");
    assert_eq!(view.read(&format!("instances/{name}/events/enable")), "0\n");
    drop(reader);
    remove_instance_named(&Root::system(), &name).unwrap();
    assert!(!view.path(&format!("instances/{name}")).exists());
}

const CHILD: &str = "UNJANK_TEST_TRACEFS_CHILD";

/// Not a test by itself: the child process of `a_killed_owner_is_cleaned_up_after`.
#[test]
fn child_that_is_killed() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let instance = tracefs().unwrap().instance(&InstanceOptions::default()).unwrap();
    instance.start().unwrap();
    println!("\ninstance {}", instance.name());
    thread::sleep(Nanos::from_millis(3_600_000).into());
}

#[test]
fn a_killed_owner_is_cleaned_up_after() {
    if tracefs().is_none() {
        return;
    }
    let view = View::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_killed", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut names = lines.filter_map(|line| line.strip_prefix("instance ").map(str::to_owned));
    let name = names.next().unwrap();
    let root = Root::system();

    let leftovers = remove_leftovers(&root).unwrap();
    assert!(!leftovers.removed.contains(&name), "its owner lives");
    assert!(matches!(remove_instance_named(&root, &name), Err(Error::Busy(_))));
    assert_eq!(view.read(&format!("instances/{name}/tracing_on")), "1\n", "and records on");

    // Each unjank process removes the instances of dead ones, unless one of their files is open.
    let dir = view.path(&format!("instances/{name}"));
    let held = fs::File::open(dir.join("trace_pipe")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(view.read(&format!("instances/{name}/tracing_on")), "0\n", "the kernel stopped it");
    let left = view.read(&format!("instances/{name}/buffer_total_size_kb"));
    let left: u64 = left.split_whitespace().next().unwrap().parse().unwrap();
    assert!(Bytes::from_kib(left) < InstanceOptions::default().buffer, "and freed its buffer");
    let leftovers = remove_leftovers(&root).unwrap();
    assert!(leftovers.busy.contains(&name), "{leftovers:?}");
    drop(held);
    until("it is removed", || {
        remove_leftovers(&root).unwrap();
        !dir.exists()
    });
}
