//! Recordings of `unjank why` and of trace-cmd, explained by `unjank why FILE` and read by
//! trace-cmd.
//!
//! Fails without root and trace-cmd when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use unjank_needs::attempts::until_ok;

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn why(arguments: &[&str]) -> Value {
    let mut command = Command::new(unjank_needs::unjank!());
    let output = run(command.args(["why", "--no-store", "--json"]).args(arguments));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The facts and tables of the launch, and whether the answer is known.
fn explanation(record: &Value) -> (Vec<Value>, Vec<Value>, Value) {
    let of_launch = |what: &str| -> Vec<Value> {
        let all = record[what].as_array().unwrap().iter();
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        // A recording in a file has a chosen window, and no command that launches it again.
        let own = ["why/window", "why/next"];
        all.filter(|it| name(it).starts_with("why/") && !own.contains(&&*name(it)))
            .cloned()
            .collect()
    };
    let verdict = &record["verdicts"][0];
    let answer = serde_json::json!([verdict["answer"], verdict["measured"]]);
    (of_launch("facts"), of_launch("tables"), answer)
}

/// Whether this process is root and trace-cmd is installed.
fn has_needs() -> bool {
    let there = Command::new("trace-cmd").arg("list").arg("-h").output().is_ok();
    unjank_needs::root() && unjank_needs::is_there("trace-cmd", there)
}

/// The output of `trace-cmd report`, which must print nothing on stderr.
fn report(options: &[&str], file: &Path) -> String {
    let output = run(Command::new("trace-cmd").arg("report").args(options).arg(file));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_kept_recording_gives_the_same_explanation_to_the_nanosecond() {
    if !has_needs() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("launch.dat");
    let name = file.to_str().unwrap();
    let program = "dd if=/dev/zero of=out bs=64k count=4 conv=fsync 2>/dev/null; sleep 0.05 | cat";
    let program = format!("cd {}; {program}", directory.path().display());
    // Stacks are not kept.
    let live = why(&["--no-stacks", "--trace-file", name, "--", "sh", "-c", &program]);
    let again = why(&[name]);
    assert_eq!(explanation(&again), explanation(&live));
    assert!(explanation(&again).0.len() > 3);
    assert_eq!(again["tables"][0]["name"], "why/window");

    // Both buffers are there for other tools.
    let text = report(&[], &file);
    assert!(text.contains("sched_switch"), "{text}");
    let calls = text.lines().find(|line| line.contains("sys_enter")).unwrap();
    assert!(calls.trim_start().starts_with("program:"), "{calls}");

    // The same recording, converted by trace-cmd to version 7.
    let converted = directory.path().join("v7.dat");
    let (from, to) = (&file, &converted);
    run(Command::new("trace-cmd").arg("convert").arg("-i").arg(from).arg("-o").arg(to));
    let process = explained_process(&again);
    let converted = why(&[to.to_str().unwrap(), "--process", &process]);
    assert_eq!(converted["tables"][0]["rows"][0], again["tables"][0]["rows"][0]);
}

/// The number in `sh (4711)`.
fn explained_process(record: &Value) -> String {
    let thread = record["tables"][0]["rows"][0][1].as_str().unwrap();
    thread.rsplit_once('(').unwrap().1.trim_end_matches(')').to_owned()
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_once() {
    if !unjank_needs::root() {
        return;
    }
    let mut command = Command::new(unjank_needs::unjank!());
    let arguments = ["why", "--no-store", "--trace-file", "/no/such/place", "--", "touch", "began"];
    let directory = tempfile::tempdir().unwrap();
    let output = command.args(arguments).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!directory.path().join("began").exists());
}

/// Records with trace-cmd. trace-cmd also writes to the files of the function tracer, which some
/// machines forbid, so another file is mounted over each of them.
fn record(file: &Path, version: &str, command: &[&str]) {
    let script = "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing; \
                  for f in /proc/sys/kernel/ftrace_enabled /sys/kernel/tracing/set_ftrace_pid \
                  /sys/kernel/tracing/set_ftrace_filter /sys/kernel/tracing/set_ftrace_notrace; do \
                  [ ! -e $f ] || mount --bind \"$1\" $f; done; shift; exec \"$@\"";
    let directory = tempfile::tempdir().unwrap();
    let aside = directory.path().join("aside");
    std::fs::write(&aside, "").unwrap();
    let mut recorder = Command::new("unshare");
    recorder.args(["-m", "sh", "-c", script, "sh"]).arg(aside).current_dir(directory.path());
    recorder.args(["trace-cmd", "record", "-q", "--file-version", version, "-C", "mono", "-o"]);
    recorder.arg(file).args(["-e", "sched", "-e", "irq", "-e", "timer:hrtimer_expire_entry"]);
    let _turn = unjank_needs::turns::top_trace();
    run(recorder.args(command));
}

#[test]
fn recordings_of_trace_cmd_are_explained() {
    if !has_needs() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Other programs may run `true` meanwhile.
    let program = directory.path().join("recorded-true");
    unjank_needs::copy_program("/bin/true", &program);
    let script = format!("sleep 0.2; exec {}", program.display());
    for version in ["6", "7"] {
        // The ring buffer sometimes lacks a switch.
        until_ok(|| {
            let file = directory.path().join(version);
            record(&file, version, &["sh", "-c", &script]);
            let name = file.to_str().unwrap();
            let record = why(&[name, "--process", "recorded-true"]);
            let facts = explanation(&record).0;
            let time = |fact: &Value| fact["value"].as_f64().unwrap() as u64;
            let (total, parts) = facts.split_first().unwrap();
            assert_eq!(parts.iter().map(time).sum::<u64>(), time(total), "{parts:?}");
            // The child may already sleep while the shell still runs after its fork; the path has
            // that time as the shell's own.
            let is = |fact: &Value, label: &str, value: &str| fact["labels"][label] == value;
            let of_sleep =
                parts.iter().filter(|it| is(it, "activity", "timer") || is(it, "way", "own"));
            let is_explained = of_sleep.map(time).sum::<u64>() >= 190_000_000
                && parts.iter().any(|it| is(it, "activity", "timer"));

            // The text with flags, in nanoseconds, says the same.
            let text = directory.path().join("text");
            std::fs::write(&text, report(&["-t", "-l"], &file)).unwrap();
            let text = why(&[text.to_str().unwrap(), "--process", "recorded-true"]);
            assert_eq!(explanation(&text).0, facts);
            is_explained.then_some(()).ok_or_else(|| format!("{parts:?}"))
        });
    }
}
