//! `unjank jitter native` without privileges.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use unjank_needs::wait::Process;

fn native(arguments: &[&str]) -> Output {
    Command::new(unjank_needs::unjank!())
        .args(["jitter", "native", "--no-store"])
        .args(arguments)
        .output()
        .expect("unjank runs")
}

fn refused(arguments: &[&str]) -> String {
    let output = native(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_period_of_each_thread_is_counted() {
    let output = native(&[
        "--sched=other",
        "--threads=3",
        "--period=1ms",
        "--distance=500us",
        "--count=60",
        "--starts=1",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let due: Vec<(Option<&str>, u64)> = record["series"]
        .as_array()
        .expect("series")
        .iter()
        .map(|series| {
            let count = |name: &str| series[name].as_u64().expect("a count");
            (series["labels"]["period_ns"].as_str(), count("n") + count("missed"))
        })
        .collect();
    let expected =
        [(None, 130), (Some("1000000"), 60), (Some("1500000"), 40), (Some("2000000"), 30)];
    assert_eq!(due, expected);
    assert_eq!(record["settings"]["threads"], 3);
    assert_eq!(record["changes"], serde_json::json!([]), "nothing on the machine was touched");
}

#[test]
fn an_interrupted_run_prints_what_it_measured() {
    for signal in ["-INT", "-TERM"] {
        let child = Command::new(unjank_needs::unjank!())
            .args(["jitter", "native", "--no-store", "--json", "--sched=other"])
            .arg("--count=18446744073709551615")
            .stdout(Stdio::piped())
            .spawn()
            .expect("unjank runs");
        Process(child.id()).child("repetition").until_it_has_a_thread("jitter/");
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "SIG{signal}");
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        assert!(record["labels"].to_string().contains("interrupted"));
        assert!(record["warnings"].to_string().contains("was interrupted before its end"));
    }
}

#[test]
fn invalid_options_are_refused_before_the_run() {
    assert!(refused(&["--threads=0"]).contains("0 threads are out of range"));
    assert!(refused(&["--threads=9999"]).contains("out of range (1 to 256)"));
    assert!(refused(&["--sched=other,fifo,other"]).contains("policy other is given twice"));
    assert!(refused(&["--period=0"]).contains("invalid value '0' for '--period <TIME>'"));
    let long = refused(&["--period=100h"]);
    assert!(long.contains("a run of 10.0 s is shorter than the period of 360000 s"), "{long}");
    assert!(refused(&["--cpus=1023"]).contains("CPU 1023 does not exist or is not allowed"));
    let short = refused(&["--sched=deadline", "--runtime=100ns"]);
    assert!(short.contains("1024 ns <= run time <= deadline <= period"), "{short}");
    for (option, policies) in [
        ("--runtime=100us", "deadline"),
        ("--deadline=1ms", "deadline"),
        ("--priority=50", "fifo or rr"),
        ("--priority-step=1", "fifo or rr"),
    ] {
        let said = refused(&["--sched=other", option]);
        let name = option.split('=').next().unwrap();
        assert!(said.contains(&format!("{name} is for --sched {policies}")), "{said}");
    }
    assert!(refused(&["--count=0"]).contains("0 is not in 1.."));
    assert!(refused(&["--count=5", "--quick"]).contains("cannot be used with"));
    assert!(refused(&["--sched=batch"]).contains("[possible values: other, fifo, rr, deadline]"));
    assert!(refused(&["--sched=fifo", "--priority=91"]).contains("--force allows it"));
    assert!(refused(&["--sched=rr", "--priority=100"]).contains("is out of range (1 to 99)"));
}
