//! `lock doctor` on programs with runtimes and locks of their own: processes
//! with a mutex in shared memory, PostgreSQL, OpenJDK, CPython, Go.
//!
//! Needs root and these programs. Fails without them when `UNJANK_TEST_ALL=1`,
//! otherwise says that it was skipped.

mod programs;
mod victim;

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unjank_host::Root;
use unjank_host::process::pid;
use unjank_lock::doctor::{Certainty, Diagnosis, DiagnosisKind, Examined};
use unjank_measure::Answer;

use programs::postgres::Server;
use programs::{build, is_there, source};
use victim::{SECOND, Victim, examine, kinds, look_at};

/// Watches a process and its tree until the result is as expected.
fn look(process: u32, expected: impl Fn(&Examined) -> bool) -> Examined {
    look_at(process, true, expected)
}

fn answer(examined: &Examined) -> Answer {
    examined.findings.verdicts[0].answer
}

/// The number of threads that certainly have this diagnosis.
fn having(examined: &Examined, kind: DiagnosisKind) -> usize {
    let sure = |it: &Diagnosis| it.kind == kind && it.certainty == Certainty::Certain;
    examined.reports.iter().filter(|it| it.diagnoses.iter().any(sure)).count()
}

/// One victim at a time: each needs the CPUs for itself.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The evidence of this diagnosis, of the worst thread that has it.
fn evidence(examined: &Examined, kind: DiagnosisKind) -> &str {
    let mut all = examined.reports.iter().flat_map(|it| &it.diagnoses);
    all.find(|it| it.kind == kind).map_or("", |it| it.evidence.as_str())
}

#[test]
fn a_mutex_in_shared_memory_is_one_lock_for_all_processes() {
    let _alone = alone();
    if !unjank_needs::root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("shared_mutex");
    build(Command::new("cc").arg("-pthread").arg("-o").arg(&program).arg(source("shared_mutex.c")));
    let victim = Victim::of(&mut Command::new(&program));
    let examined = look(victim.id(), |it| having(it, DiagnosisKind::LongWaits) == 6);
    assert_eq!(answer(&examined), Answer::No);
    let processes = examined.findings.fact_named("lock/doctor/processes");
    assert_eq!(processes.map(|fact| fact.value), Some(7.0));
    let evidence = evidence(&examined, DiagnosisKind::LongWaits);
    assert!(
        evidence.contains("of shared memory (file ") && evidence.contains("which 6 threads use"),
        "{evidence}"
    );
    assert_eq!(examined.reports[0].observed.owner.program, "shared_mutex");
    let alone = victim.examine(SECOND);
    assert_eq!(alone.reports.len(), 1, "the parent waits for nobody");
    // One of those that fight for it does not show who has it.
    let child = pid::children(&Root::system(), victim.id())[0];
    let examined = look_at(child, false, |it| answer(it) == Answer::CannotTell);
    let reason = &examined.findings.verdicts[0].reason;
    assert!(reason.contains("one thread waits for processes that are not watched"), "{reason}");
}

#[test]
fn backends_of_postgresql_wait_for_a_row() {
    let _alone = alone();
    if !unjank_needs::root() {
        return;
    }
    let Some(mut server) = Server::start() else { return };
    server.contend(16, "", 1);
    let examined = look(server.process(), |it| answer(it) != Answer::Yes);
    let processes = examined.findings.fact_named("lock/doctor/processes");
    assert!(processes.is_some_and(|fact| fact.value > 16.0), "all backends are watched");
    // One backend does not show for which other one it waits.
    let backend = server.backend();
    let examined = look_at(backend, false, |it| answer(it) != Answer::Yes);
    assert_eq!(examined.reports.len(), 1);
    server.contend(16, "select pg_sleep(0.01);", 12);
    let examined = look(server.process(), |it| having(it, DiagnosisKind::LongWaits) > 8);
    assert_eq!(answer(&examined), Answer::No);
    let mut all = examined.reports.iter().flat_map(|it| &it.diagnoses);
    assert!(all.any(|it| it.evidence.contains("its title")));
}

#[test]
fn threads_of_java_take_turns_on_a_monitor() {
    let _alone = alone();
    if !unjank_needs::root() || !is_there("java", "-version") {
        return;
    }
    let victim = Victim::of(Command::new("java").arg(source("Monitor.java")));
    // Two of the eight may have it by turns for a long time.
    let examined = look(victim.id(), |it| having(it, DiagnosisKind::TakesTurns) >= 2);
    assert_eq!(answer(&examined), Answer::No);
}

#[test]
fn threads_of_java_behind_a_long_call_are_no_certain_yes() {
    let _alone = alone();
    if !unjank_needs::root() || !is_there("java", "-version") {
        return;
    }
    let victim = Victim::of(Command::new("java").arg(source("Held.java")));
    let examined = look(victim.id(), |it| {
        it.findings.verdicts[0].reason.contains("threads of a JVM slept through the watch")
    });
    assert_eq!(answer(&examined), Answer::CannotTell);
    let behind = examined.reports.iter().filter(|it| it.observed.name.starts_with("waits-"));
    let unknown = behind.filter(|it| it.worst().kind == DiagnosisKind::CannotTell);
    // One of the five looks at the monitor from time to time.
    assert!(unknown.count() >= 4, "{:#?}", examined.reports);
}

/// Its counters are never delivered, and SIGKILL does not end a thread that reads them.
#[test]
fn a_program_whose_memory_never_arrives_does_not_stall_the_doctor() {
    let _alone = alone();
    if !unjank_needs::root() || !unjank_needs::is_there("FUSE", Path::new("/dev/fuse").exists()) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (program, mount) = (dir.path().join("stalls"), dir.path().join("mount"));
    std::fs::create_dir(&mount).expect("a directory");
    build(Command::new("cc").arg("-o").arg(&program).arg(source("stalls.c")));
    let victim = Victim::of(Command::new(&program).arg(&mount));
    let (sender, receiver) = channel();
    let process = victim.id();
    thread::spawn(move || sender.send(answer(&examine(process, false, SECOND))));
    let answer = receiver.recv_timeout(Duration::from_secs(120));
    drop(victim);
    assert!(answer.is_ok(), "the doctor waits for the program");
}

#[test]
fn threads_of_python_wait_for_its_interpreter() {
    let _alone = alone();
    if !unjank_needs::root() || !is_there("python3", "--version") {
        return;
    }
    let victim = Victim::of(Command::new("python3").arg(source("gil.py")));
    let examined = look(victim.id(), |it| having(it, DiagnosisKind::LongWaits) == 5);
    assert_eq!(answer(&examined), Answer::No);
    let evidence = evidence(&examined, DiagnosisKind::LongWaits);
    assert!(evidence.contains("the GIL of CPython"), "{evidence}");
}

#[test]
fn a_mutex_of_go_is_named_or_the_answer_is_cannot_tell() {
    let _alone = alone();
    if !unjank_needs::root() || !is_there("go", "version") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let [named, stripped] = ["mutex", "stripped"].map(|name| dir.path().join(name));
    let compile = || {
        let mut go = Command::new("go");
        go.current_dir(dir.path()).env("GO111MODULE", "off").arg("build");
        go
    };
    build(compile().arg("-o").arg(&named).arg(source("mutex.go")));
    build(compile().args(["-ldflags", "-s -w", "-o"]).arg(&stripped).arg(source("mutex.go")));
    let victim = Victim::of(Command::new(&named).arg("short"));
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let names_it = |it: &Diagnosis| {
            it.kind == DiagnosisKind::LockCode && it.evidence.contains("(*Mutex).lockSlow")
        };
        let examined =
            look(victim.id(), |it| it.reports.iter().flat_map(|it| &it.diagnoses).any(names_it));
        assert_eq!(answer(&examined), Answer::No);
    } else {
        // On one CPU its threads run one after the other, and hardly fight.
        look(victim.id(), |it| answer(it) != Answer::Yes);
    }
    drop(victim);
    for program in [&named, &stripped] {
        let victim = Victim::of(Command::new(program).arg("long"));
        let examined = look(victim.id(), |it| answer(it) == Answer::CannotTell);
        let name = program.file_name().and_then(|name| name.to_str()).expect("it has one");
        let kinds = kinds(&examined, name).concat();
        assert!(
            !kinds.contains(&DiagnosisKind::Naps),
            "sysmon sleeps, and is no sleep loop: {kinds:?}"
        );
        let reason = &examined.findings.verdicts[0].reason;
        assert!(reason.contains("goroutines wait"), "{reason}");
    }
}
