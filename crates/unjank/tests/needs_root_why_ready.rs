//! `unjank why --ready` explains the thread that makes a program ready, also if it is not the
//! first thread.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. The program
//! times its own parts, so a busy machine changes nothing.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod known;

use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc;

use known::{Cells, Known};
use serde_json::Value;
use unjank_needs::attempts::until_ok;
use unjank_needs::wait::Process;

fn record(arguments: &[&str]) -> Value {
    let mut command = Command::new(unjank_needs::unjank!());
    let output = command.args(["why", "--no-store", "--json"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Nanoseconds by way and activity, and the whole.
fn cells(record: &Value) -> (Cells, u64) {
    let facts = record["facts"].as_array().unwrap();
    let of = |name: &'static str| facts.iter().filter(move |fact| fact["name"] == name);
    let nanos = |fact: &Value| fact["value"].as_f64().unwrap() as u64;
    let label = |fact: &Value, name: &str| fact["labels"][name].as_str().unwrap().to_owned();
    let cells: Cells = of("why/time")
        .map(|fact| ((label(fact, "way"), label(fact, "activity")), nanos(fact)))
        .collect();
    let total = nanos(of("why/total").next().unwrap());
    assert_eq!(cells.values().sum::<u64>(), total, "every nanosecond has one cause: {cells:?}");
    (cells, total)
}

/// Compares the explanation of a launch with the program's own measurements.
///
/// # Errors
/// They differ.
fn compare(known: &Known, arguments: &[&str]) -> Result<(), String> {
    let (ready, words) = match *arguments {
        ["port", ref rest @ ..] => {
            let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
            let words = [vec!["port".to_owned(), port.to_string()], owned(rest)].concat();
            (format!("port:{port}"), words)
        }
        ["stdout", ..] => ("stdout:is ready".to_owned(), owned(arguments)),
        _ => ("notify".to_owned(), owned(arguments)),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let command = known.command("ready", &words);
    let file = known.file("launch.dat");
    let options = ["--ready", &ready, "--trace-file", &file, "--"].map(str::to_owned);
    let all = [&options[..], &command].concat();
    let record = record(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let (cells, total) = cells(&record);
    let own = known.parts();
    let unknown: u64 =
        cells.iter().filter(|((_, what), _)| what == "unknown").map(|(_, time)| time).sum();
    let parts = [("computed", "own/computing"), ("waited", "own/run-queue")];
    let differs = |(part, place): &(&str, &str)| own.differs(part, &[place], &cells);
    let mut how: Vec<String> = parts.iter().filter_map(differs).collect();
    if unknown * 50 > total {
        how.push(format!("{unknown} ns are unknown"));
    }
    let kept = self::record(&[&file]);
    assert_eq!(self::cells(&kept), (cells.clone(), total), "the kept recording says the same");
    let notes = table(&record, "why/split")["notes"].to_string();
    if !notes.contains("own thread is ready (") {
        how.push(notes);
    }
    if how.is_empty() { Ok(()) } else { Err(format!("{arguments:?}: {how:?}: {cells:?}")) }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn table<'a>(record: &'a Value, name: &str) -> &'a Value {
    record["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).unwrap()
}

fn is_explained(arguments: &[&str]) {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    // The ring buffer sometimes lacks a switch or a system call.
    until_ok(|| compare(&known, arguments));
}

#[test]
fn a_thread_that_prints_is_explained() {
    is_explained(&["stdout"]);
}

#[test]
fn a_thread_that_notifies_is_explained() {
    is_explained(&["notify"]);
}

#[test]
fn a_thread_that_listens_is_explained() {
    is_explained(&["port"]);
}

#[test]
fn what_the_first_thread_did_before_it_handed_over_is_the_programs_own() {
    is_explained(&["stdout", "handed"]);
    is_explained(&["port", "handed"]);
}

#[test]
fn a_program_is_ready_by_what_its_child_prints() {
    if !unjank_needs::root() {
        return;
    }
    let script = "(sleep 0.2; echo up; sleep 30) & wait";
    until_ok(|| {
        let record = record(&["--ready", "stdout:^up$", "--", "sh", "-c", script]);
        let (cells, _) = cells(&record);
        let of = |way: &str, what: &str| cells.get(&(way.to_owned(), what.to_owned())).copied();
        let asleep = of("child", "timer").unwrap_or_default();
        let known = asleep >= 190_000_000 && of("own", "unknown").is_none();
        known.then_some(()).ok_or_else(|| format!("{cells:?}"))
    });
}

/// The daemon is ready longer after the end of its parents than a report may be late.
#[test]
fn a_daemon_is_explained_until_it_is_ready_and_ends_with_its_launch() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let (ready, port) = (format!("port:{port}"), port.to_string());
    let command = known.command("daemon", &[&port]);
    until_ok(|| {
        let options = ["-n", "2", "--ready", &ready, "--"].map(str::to_owned);
        let all = [&options[..], &command].concat();
        // The second launch needs the port of the first.
        let record = record(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let series = record["series"].as_array().unwrap();
        let total = series.iter().find(|series| series["name"] == "why/total").unwrap();
        assert_eq!(total["n"], 2, "{record:#}");
        let (cells, _) = cells(&record);
        let slept: u64 =
            cells.iter().filter(|((_, what), _)| what == "timer").map(|(_, time)| time).sum();
        let known = slept >= 1_400_000_000;
        known.then_some(()).ok_or_else(|| format!("{cells:?}"))
    });
}

#[test]
fn a_port_that_another_program_opens_leaves_the_first_thread() {
    if !unjank_needs::root() {
        return;
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (explained, is_explained) = mpsc::channel::<()>();
    // Not a descendant of the program that is launched, and after its launch.
    let opens = std::thread::spawn(move || {
        let unjank = Process(std::process::id()).child(&format!("port:{port}"));
        let _launched = unjank.child("sleep\x0060\0");
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let _is_explained = is_explained.recv();
        drop(listener);
    });
    // The shell computes the number, so that `sleep 60` is not on the command line of unjank.
    let sleeps = ["sh", "-c", "exec sleep $((59 + 1))"];
    let ready = format!("port:{port}");
    let record = record(&[&["--ready", &ready, "--"][..], &sleeps].concat());
    drop(explained);
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("does not show what made the program ready"), "{warnings}");
    opens.join().unwrap();
}
