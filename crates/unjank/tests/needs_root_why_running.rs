//! `unjank why` explains windows of running programs, and launches of programs that misbehave.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. Times are
//! compared with lower bounds only: a sleep lasts at least as long as it says.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use unjank_needs::wait::Process;

const MILLISECOND: u64 = 1_000_000;

/// A running program. Dropping this kills it.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// One of the programs in `known`, compiled.
fn compiled(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = directory.path().join(name);
    let source = format!("{}/tests/known/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let compiled =
        Command::new("cc").arg(source).arg("-o").arg(&program).arg("-lpthread").status().unwrap();
    assert!(compiled.success());
    (directory, program)
}

/// `turns`, once its threads are there.
fn turns() -> (tempfile::TempDir, Running) {
    let (directory, program) = compiled("turns");
    let mut turns = Running::start(Command::new(program).stdout(Stdio::piped()));
    BufReader::new(turns.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    (directory, turns)
}

fn why(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjank"));
    command.args(["why", "--no-store", "--json"]).args(options);
    command
}

fn record(output: &Output, code: i32) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn explained(options: &[&str]) -> Value {
    record(&why(options).output().unwrap(), 0)
}

fn facts<'a>(record: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    record["facts"].as_array().unwrap().iter().filter(move |fact| fact["name"] == name)
}

fn total(record: &Value) -> u64 {
    facts(record, "why/total").next().unwrap()["value"].as_f64().unwrap() as u64
}

/// The time of a way and an activity. All of them add up to the whole.
fn of(record: &Value, way: &str, activity: &str) -> u64 {
    let value = |fact: &Value| fact["value"].as_f64().unwrap() as u64;
    let all: u64 = facts(record, "why/time").map(value).sum();
    assert_eq!(all, total(record), "every nanosecond has one cause");
    let labels =
        |fact: &&Value| fact["labels"]["way"] == way && fact["labels"]["activity"] == activity;
    facts(record, "why/time").find(labels).map_or(0, value)
}

fn unknown(record: &Value) -> u64 {
    let unknown = |fact: &&Value| fact["labels"]["activity"] == "unknown";
    let unknown = facts(record, "why/time").filter(unknown);
    unknown.map(|fact| fact["value"].as_f64().unwrap() as u64).sum()
}

fn warnings(record: &Value) -> String {
    record["warnings"].to_string()
}

#[test]
fn a_running_thread_waits_for_what_its_waker_did() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, turns) = turns();
    let record = explained(&["--pid", &turns.id(), "--thread", "asker", "--for", "1s"]);
    assert!(total(&record) >= 1_000 * MILLISECOND);
    assert!(of(&record, "lock", "timer") >= 100 * MILLISECOND, "{}", record["facts"]);
    assert!(unknown(&record) * 50 <= total(&record), "{}", record["facts"]);
    let verdict = &record["verdicts"][0];
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.starts_with("asker (") && reason.contains(" spent "), "{reason}");
    assert_eq!(record["settings"]["for"], 1_000 * MILLISECOND);
    let waits = functions(&record);
    assert!(waits.iter().any(|it| it.contains("cond_wait <- ask")), "{waits:?}");
    let main = explained(&["--pid", &turns.id(), "--for", "300ms", "--no-stacks"]);
    assert!(of(&main, "own", "timer") > 0, "the main thread is the default");
    assert!(functions(&main).iter().all(|it| it.is_empty()), "{:?}", functions(&main));
}

/// In which functions its waits were.
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
    let options = ["--pid", &spin.id(), "--for", "1s", "--folded", folded.to_str().unwrap()];
    let output = Command::new(env!("CARGO_BIN_EXE_unjank"))
        .args(["why", "--no-store", "--json"])
        .args(options)
        .output()
        .unwrap();
    record(&output, 0);
    let folded = fs::read_to_string(folded).unwrap();
    for function in [";main;first;grind", ";later;grind", ";main;begin_and_wait;"] {
        assert!(folded.contains(function), "{function}: {folded}");
    }
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
    // What would end this wait is not known.
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
    let record = explained(&["--pid", &shell.id(), "--for", "1s"]);
    assert!(of(&record, "child", "timer") >= 100 * MILLISECOND, "{}", record["facts"]);
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

/// Starts it, and waits until its window has begun. Its stderr must stay open.
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
fn memory_for_events_is_bounded() {
    if !unjank_needs::root() {
        return;
    }
    let script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done";
    let record = explained(&["--memory", "64KiB", "--", "sh", "-c", script]);
    let warnings = warnings(&record);
    assert!(warnings.contains("(--memory) were full"), "{warnings}");
    assert!(of(&record, "own", "computing") > 0);
    // What was recorded is only the beginning of the launch.
    assert_eq!(record["verdicts"][0]["answer"], "cannot_tell");
    let total = facts(&record, "why/total").next().unwrap();
    for of_begin in [total, &record["series"][0]] {
        assert_eq!(of_begin["labels"]["launch"], "cut short", "{of_begin}");
    }
}

#[test]
fn the_cost_is_measured_in_pairs() {
    if !unjank_needs::root() {
        return;
    }
    let record = explained(&["-n", "6", "--gap", "0", "--cost", "--", "ls", "/"]);
    let share = facts(&record, "why/cost/share").next().unwrap();
    assert_eq!(share["n"], 6);
    assert!(share["value"].as_f64().unwrap() > -1.0, "{share}");
    assert!(facts(&record, "why/cost/events").next().unwrap()["value"].as_f64().unwrap() > 100.0);
    assert_eq!(record["verdicts"][0]["question"], "Does recording make the launch longer?");
}

#[test]
fn a_program_whose_first_thread_ends_first_is_explained_to_its_last() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("leader");
    let record = explained(&["--", program.to_str().unwrap()]);
    assert!(total(&record) >= 300 * MILLISECOND);
    assert!(of(&record, "own", "timer") >= 299 * MILLISECOND, "{}", record["facts"]);
    assert!(unknown(&record) * 50 <= total(&record), "{}", record["facts"]);
    assert!(warnings(&record).contains("first thread ended "), "{}", warnings(&record));
}

#[test]
fn a_joined_thread_is_a_child_and_no_lock() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("join");
    let record = explained(&["--", program.to_str().unwrap()]);
    // It may have slept for a while before it is joined.
    assert!(of(&record, "child", "timer") >= 100 * MILLISECOND, "{}", record["facts"]);
    let of_locks = |fact: &Value| fact["labels"]["way"] == "lock";
    assert!(!facts(&record, "why/time").any(of_locks), "{}", record["facts"]);
}

#[test]
fn a_program_that_another_thread_ends_is_explained_to_the_end_of_that() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("ender");
    let record = explained(&["--", program.to_str().unwrap()]);
    assert!(of(&record, "own", "timer") >= 299 * MILLISECOND, "{}", record["facts"]);
    assert!(unknown(&record) * 50 <= total(&record), "{}", record["facts"]);
    assert!(warnings(&record).contains("another thread than "), "{}", warnings(&record));
}

#[test]
fn a_program_that_execs_forty_times_under_changing_names_is_one_launch() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("execs");
    let record = explained(&["--", program.to_str().unwrap(), "40"]);
    assert!(of(&record, "own", "timer") >= 41 * 2 * MILLISECOND, "{}", record["facts"]);
    assert!(unknown(&record) * 50 <= total(&record), "{}", record["facts"]);
    let shown = Command::new(env!("CARGO_BIN_EXE_unjank"))
        .args(["why", "--no-store", "--", program.to_str().unwrap(), "3"])
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&shown.stdout).contains('\x1b'), "names are escaped");
}

#[test]
fn a_launch_that_fails_or_leaves_processes_behind_says_so() {
    if !unjank_needs::root() {
        return;
    }
    let of = |script: &str| warnings(&explained(&["--", "sh", "-c", script]));
    let killed = of("kill -SEGV $$");
    assert!(killed.contains("ended with a failure (signal: 11 (SIGSEGV)"), "{killed}");
    let code = of("exit 3");
    assert!(code.contains("ended with a failure (exit status: 3)"), "{code}");
    let left = of("sleep 20 & exit 0");
    assert!(left.contains("ran on after its end"), "{left}");
    let nothing = of("true; exit 0");
    assert!(!nothing.contains("failure") && !nothing.contains("ran on"), "{nothing}");
    let dies = ["--ready", "stdout:never", "--", "sh", "-c", "kill -KILL $$"];
    let output = why(&dies).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("ended before it was ready: signal: 9 (SIGKILL)"), "{said}");
}

/// A copy of unjank that any user may start, as nobody.
fn as_nobody(directory: &Path) -> Command {
    let copy = directory.join("unjank");
    unjank_needs::copy_program(env!("CARGO_BIN_EXE_unjank"), &copy);
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    command.args(["why", "--no-store", "--json"]);
    command
}

#[test]
fn a_container_is_refused_because_its_threads_have_other_numbers() {
    if !unjank_needs::root() {
        return;
    }
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_unjank"), "why"]);
        let output = command.arg("--no-store").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("its PID namespace (pid:["), "{said}");
    };
    inside(&["--", "true"]);
    inside(&["--pid", "1", "--for", "100ms"]);
    inside(&["--cost", "--", "true"]);
}

#[test]
fn without_root_it_says_what_was_used() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.2";
    let command = ["-n", "2", "--gap", "0", "--", "sh", "-c", script];
    let launch = record(&as_nobody(directory.path()).args(command).output().unwrap(), 0);
    assert!(total(&launch) >= 200 * MILLISECOND);
    let value = |record: &Value, name: &str| {
        facts(record, name).next().unwrap_or_else(|| panic!("{name}"))["value"].as_f64().unwrap()
    };
    assert!(value(&launch, "why/user") + value(&launch, "why/system") > 0.0);
    assert!(value(&launch, "why/voluntary") >= 1.0);
    assert!(value(&launch, "why/minor_faults") >= 1.0);
    assert_eq!(facts(&launch, "why/time").count(), 0, "no cause is guessed");
    assert_eq!(launch["unsupported"][0]["what"], "why/time");
    assert!(launch["unsupported"][0]["reason"].as_str().unwrap().contains("needs root"));
    assert_eq!(launch["series"][0]["n"], 2);
    let sleep = Running::start(Command::new("sleep").arg("600"));
    let window = ["--pid", &sleep.id(), "--for", "200ms"];
    let window = record(&as_nobody(directory.path()).args(window).output().unwrap(), 0);
    assert!(value(&window, "why/cpu") < value(&window, "why/total"));
    let cost = as_nobody(directory.path()).args(["--cost", "--", "true"]).output().unwrap();
    assert_eq!(cost.status.code(), Some(4));
}
