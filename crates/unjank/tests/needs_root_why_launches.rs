//! `unjank why` explains launches of programs that misbehave, and launches without root.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. Times are
//! compared with lower bounds only: a sleep lasts at least as long as it says.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod explaining;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use unjank_needs::attempts::until_ok;

use explaining::{
    MILLISECOND, Running, compiled, explained, facts, of, record, sleeper_explained, total,
    warnings, why,
};

#[test]
fn memory_for_events_is_bounded() {
    if !unjank_needs::root() {
        return;
    }
    let script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done";
    let record = explained(&["--max-memory", "64KiB", "--", "sh", "-c", script]);
    let warnings = warnings(&record);
    assert!(warnings.contains("(--max-memory) were full"), "{warnings}");
    assert!(of(&record, "own", "computing") > 0);
    // Only the beginning of the launch was recorded.
    assert_eq!(record["verdicts"][0]["answer"], "cannot_tell");
    let series = record["series"].as_array().unwrap();
    assert_eq!(series.iter().filter(|it| it["name"] == "why/total").count(), 1);
    let total = facts(&record, "why/total").next().unwrap();
    for of_begin in [total, &record["series"][0]] {
        assert_eq!(of_begin["labels"]["launch"], "cut short", "{of_begin}");
    }
}

#[test]
fn a_launch_with_too_little_memory_evicts_pages_itself() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    // The buffer of dd is larger than the limit of the control group, in which unjank runs, too.
    let script = format!(
        "{} why --no-store --json -- dd if=/dev/zero of=/dev/null bs=400M count=1 >{}",
        unjank_needs::unjank!(),
        file("record")
    );
    let _turn = unjank_needs::turns::swap();
    let mut recorder = Command::new(unjank_needs::unjank!());
    recorder.args(["swap", "record", "--no-store", "--out", &file("trace.parquet")]);
    recorder.args(["--memory-limit", "200MiB", "--swap-size", "512MiB", "--directory"]);
    recorder.arg(directory.path()).args(["--", "sh", "-c", &script]);
    let output = recorder.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&fs::read(file("record")).unwrap()).unwrap();
    let time = |activity| of(&record, "own", activity);
    assert!(time("reclaim") > 0, "{}", record["facts"]);
    assert!(time("computing") > 0, "{}", record["facts"]);
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
    let record = sleeper_explained(&["--", program.to_str().unwrap()], 299 * MILLISECOND);
    assert!(total(&record) >= 300 * MILLISECOND);
    assert!(warnings(&record).contains("first thread ended "), "{}", warnings(&record));
}

#[test]
fn a_joined_thread_is_a_child_and_no_lock() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("join");
    let of_locks = |fact: &Value| fact["labels"]["way"] == "lock";
    // It may have slept for a while before it is joined. The ring buffer sometimes lacks a switch
    // or a system call.
    until_ok(|| {
        let record = explained(&["--", program.to_str().unwrap()]);
        let is_child = of(&record, "child", "timer") >= 100 * MILLISECOND;
        assert!(!facts(&record, "why/time").any(of_locks), "{}", record["facts"]);
        is_child.then_some(()).ok_or_else(|| record["facts"].to_string())
    });
}

#[test]
fn a_program_that_another_thread_ends_is_explained_to_the_end_of_that() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("ender");
    let record = sleeper_explained(&["--", program.to_str().unwrap()], 299 * MILLISECOND);
    assert!(
        warnings(&record).contains("a thread other than the first ended"),
        "{}",
        warnings(&record)
    );
}

#[test]
fn a_program_that_execs_forty_times_under_changing_names_is_one_launch() {
    if !unjank_needs::root() {
        return;
    }
    let (_directory, program) = compiled("execs");
    sleeper_explained(&["--", program.to_str().unwrap(), "40"], 41 * 2 * MILLISECOND);
    let shown = Command::new(unjank_needs::unjank!())
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
    unjank_needs::copy_program(unjank_needs::unjank!(), &copy);
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
        command.args(["--pid", "--fork", "--mount-proc", unjank_needs::unjank!(), "why"]);
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
    let script = "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done; sleep 0.2";
    let command = ["-n", "2", "--gap", "0", "--", "sh", "-c", script];
    let launch = record(&as_nobody(directory.path()).args(command).output().unwrap(), 0);
    assert!(total(&launch) >= 200 * MILLISECOND);
    let value = |record: &Value, name: &str| {
        facts(record, name).next().unwrap_or_else(|| panic!("{name}"))["value"].as_f64().unwrap()
    };
    assert!(value(&launch, "why/cpu") > 0.0);
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
    let said = String::from_utf8_lossy(&cost.stderr);
    assert!(said.contains("recording what all threads do needs root\n→ sudo "), "{said}");
    assert!(said.trim_end().ends_with(" --cost -- true"), "{said}");
}
