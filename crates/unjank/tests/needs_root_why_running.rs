//! `unjank why` explains windows of running programs.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. Times are
//! compared with lower bounds only: a sleep lasts at least as long as it says.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod explaining;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use unjank_needs::attempts::{LONGER, first_ok};
use unjank_needs::wait::Process;

use explaining::{MILLISECOND, Running, compiled, explained, of, total, unknown, warnings, why};

/// `turns`, once its threads are there.
fn turns() -> (tempfile::TempDir, Running) {
    let (directory, program) = compiled("turns");
    let mut turns = Running::start(Command::new(program).stdout(Stdio::piped()));
    BufReader::new(turns.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    (directory, turns)
}

/// Explains longer and longer windows of a program, until one of them shows enough: on a busy
/// machine, a program does little in a second.
fn explained_until(shows: impl Fn(&Value) -> bool, options: &[&str]) -> Value {
    first_ok(LONGER, |seconds| {
        let window = format!("{seconds}s");
        let record = explained(&[options, &["--for", &window]].concat());
        assert_eq!(record["settings"]["for"], seconds * 1_000 * MILLISECOND);
        assert!(total(&record) >= seconds * 1_000 * MILLISECOND);
        if shows(&record) { Ok(record) } else { Err(format!("{window}: {}", record["facts"])) }
    })
}

#[test]
fn a_running_thread_waits_for_what_its_waker_did() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, turns) = turns();
    let shows = |record: &Value| {
        of(record, "lock", "timer") >= 100 * MILLISECOND
            && unknown(record) * 50 <= total(record)
            && functions(record).iter().any(|it| it.contains("cond_wait <- ask"))
    };
    let record = explained_until(shows, &["--pid", &turns.id(), "--thread", "asker"]);
    let verdict = &record["verdicts"][0];
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.starts_with("Thread asker (") && reason.contains(" spent "), "{reason}");
    let main = explained(&["--pid", &turns.id(), "--for", "300ms", "--no-stacks"]);
    assert!(of(&main, "own", "timer") > 0, "the main thread is the default");
    assert!(functions(&main).iter().all(|it| it.is_empty()), "{:?}", functions(&main));
}

/// The functions in which the thread waited.
fn functions(record: &Value) -> Vec<&str> {
    let mut tables = record["tables"].as_array().unwrap().iter();
    let waits = tables.find(|table| table["name"] == "why/waits").unwrap();
    let mut columns = waits["columns"].as_array().unwrap().iter();
    let at = columns.position(|column| column["name"] == "function").unwrap();
    let rows = waits["rows"].as_array().unwrap().iter();
    rows.map(|row| row[at].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_running_program_computes_in_named_functions() {
    if !unjank_needs::root() {
        return;
    }
    let (directory, program) = compiled("spin");
    // Its first thread ran before, the others begin in the window.
    let mut spin = Running::start(Command::new(program).stdout(Stdio::piped()));
    BufReader::new(spin.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let folded = directory.path().join("folded");
    let shows = |_: &Value| {
        let folded = fs::read_to_string(&folded).unwrap();
        let functions = [";main;first;grind", ";later;grind", ";main;begin_and_wait;"];
        functions.iter().all(|function| folded.contains(function))
    };
    explained_until(shows, &["--pid", &spin.id(), "--folded", folded.to_str().unwrap()]);
}

#[test]
fn a_thread_that_sleeps_all_the_time_waits_for_its_timer() {
    if !unjank_needs::root() {
        return;
    }
    let sleep = Running::start(Command::new("sleep").arg("600"));
    unjank_needs::wait::until("it sleeps", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", sleep.id())).unwrap();
        stat.contains(" (sleep) S ")
    });
    let record = explained(&["--pid", &sleep.id(), "--for", "300ms"]);
    assert_eq!(of(&record, "own", "timer"), total(&record));
    let waits = record["tables"].as_array().unwrap();
    let waits = waits.iter().find(|table| table["name"] == "why/waits").unwrap();
    assert_eq!(waits["rows"][0][2], "clock_nanosleep");
    // The wait does not end in the window, so its cause is unknown.
    let (_directory, turns) = turns();
    let threads = fs::read_dir(format!("/proc/{}/task", turns.id())).unwrap();
    let mut idle = threads.filter_map(|thread| {
        let thread = thread.unwrap();
        let name = fs::read_to_string(thread.path().join("comm")).unwrap();
        (name.trim() == "idle").then(|| thread.file_name().into_string().unwrap())
    });
    let idle = idle.next().unwrap();
    let record = explained(&["--pid", &turns.id(), "--thread", &idle, "--for", "300ms"]);
    assert_eq!(unknown(&record), total(&record));
}

#[test]
fn processes_that_are_started_in_the_window_are_followed() {
    if !unjank_needs::root() {
        return;
    }
    let script = "while :; do sleep 0.05; done";
    let shell = Running::start(Command::new("sh").args(["-c", script]));
    let shows = |record: &Value| of(record, "child", "timer") >= 100 * MILLISECOND;
    explained_until(shows, &["--pid", &shell.id()]);
}

#[test]
fn a_thread_is_chosen_by_its_number_or_by_a_name_that_only_it_has() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, turns) = turns();
    let fails = |options: &[&str]| {
        let output = why(&["--pid", &turns.id(), "--for", "100ms"]).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let several = fails(&["--thread", "idle"]);
    assert!(several.contains("3 threads of process "), "{several}");
    assert_eq!(several.matches("of CPU time").count(), 3, "{several}");
    let none = fails(&["--thread", "nobody"]);
    assert!(none.contains("has no thread \"nobody\"; it has: "), "{none}");
    assert_eq!(none.matches("of CPU time").count(), 5, "{none}");
    assert!(fails(&["--", "true"]).contains("cannot be used with"));
    let gone = why(&["--pid", "4194300", "--for", "100ms"]).output().unwrap();
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no such process: 4194300"));
    assert_eq!(gone.status.code(), Some(2));
}

#[test]
fn the_window_ends_with_the_thread_or_with_ctrl_c() {
    if !unjank_needs::root() {
        return;
    }
    let mut command = Command::new("sh");
    command.args(["-c", "read line; exit 3"]).stdin(Stdio::piped());
    let mut shell = Running(command.spawn().unwrap());
    let (mut window, _talk) = recording(&["--pid", &shell.id(), "--for", "600s"]);
    // An unreaped process has ended as well.
    drop(shell.0.stdin.take());
    let (code, over) = end(&mut window);
    assert_eq!(code, Some(0));
    assert!(warnings(&over).contains("the thread ended after "), "{}", warnings(&over));
    assert!(total(&over) < 600_000 * MILLISECOND);
    drop(shell);
    let (_directory, turns) = turns();
    let (mut window, _talk) = recording(&["--pid", &turns.id(), "--for", "600s"]);
    let program = Process(turns.id().parse().unwrap());
    program.until_it_has_slept(program.sleeps() + 100);
    let unjank = Pid::from_raw(i32::try_from(window.0.id()).unwrap());
    kill_process(unjank.unwrap(), Signal::INT).unwrap();
    let (code, record) = end(&mut window);
    assert_eq!(code, Some(130));
    assert!(of(&record, "own", "timer") > 0);
    assert!(warnings(&record).contains("the window was ended after "));
}

/// Starts `unjank why`, and waits until its window has begun. Its stderr must stay open.
fn recording(options: &[&str]) -> (Running, BufReader<ChildStderr>) {
    let mut command = why(options);
    let mut window = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut talk = BufReader::new(window.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("recording process ") {
        line.clear();
        assert_ne!(talk.read_line(&mut line).unwrap(), 0, "it ended");
    }
    (window, talk)
}

/// Waits for its end. Returns its exit code and its record.
fn end(window: &mut Running) -> (Option<i32>, Value) {
    let mut text = String::new();
    window.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (window.0.wait().unwrap().code(), serde_json::from_str(&text).unwrap())
}

#[test]
fn a_stopped_thread_waits_for_no_timer() {
    if !unjank_needs::root() {
        return;
    }
    let sleeper = Running::start(Command::new("sleep").arg("600"));
    let process = Process(sleeper.0.id());
    process.until_it_has_slept(1);
    let id = Pid::from_child(&sleeper.0);
    kill_process(id, Signal::STOP).unwrap();
    process.until("it is stopped", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.id())).unwrap();
        stat.contains(") T ")
    });
    let record = explained(&["--pid", &sleeper.id(), "--for", "300ms"]);
    assert_eq!(unknown(&record), total(&record), "{}", record["facts"]);
    let mut tables = record["tables"].as_array().unwrap().iter();
    let waits = tables.find(|table| table["name"] == "why/waits").unwrap();
    assert_eq!(waits["rows"][0][2], "stopped by a signal", "{waits:#}");
}
