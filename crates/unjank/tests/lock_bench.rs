//! `unjank lock bench` in all its forms, over cells of a few milliseconds. The tests check counts
//! and output, not speed.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use unjank_needs::attempts::until_ok;
use unjank_needs::wait::Process;

const STRATEGIES: [&str; 12] = [
    "std",
    "parking_lot",
    "unjank",
    "pause-yield",
    "busy",
    "sleep0",
    "sleep1",
    "crossbeam",
    "spin",
    "pthread",
    "pthread-adaptive",
    "pthread-pi",
];

fn bench(arguments: &[&str]) -> Output {
    Command::new(unjank_needs::unjank!())
        .args(["lock", "bench", "--no-store", "--seed", "5"])
        .args(arguments)
        .output()
        .expect("unjank runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn record(arguments: &[&str]) -> Value {
    let output = bench(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a record")
}

/// The facts with this name that have all of these labels.
fn facts<'a>(record: &'a Value, name: &str, labels: &[(&str, &str)]) -> Vec<&'a Value> {
    let has = |fact: &&Value| {
        fact["name"] == name && labels.iter().all(|(label, value)| fact["labels"][label] == *value)
    };
    record["facts"].as_array().expect("facts").iter().filter(has).collect()
}

#[test]
fn every_strategy_is_measured_in_every_cell() {
    let record = record(&[
        "--strategies",
        "all",
        "--threads",
        "1,3",
        "--section",
        "0,1us",
        "--outside",
        "500ns",
        "--rounds",
        "2",
        "--trial",
        "4ms",
    ]);
    let schema = include_str!("../../../docs/run.schema.json");
    let schema = serde_json::from_str(schema).expect("a schema");
    let schema = jsonschema::validator_for(&schema).expect("a valid schema");
    let errors: Vec<String> = schema.iter_errors(&record).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for strategy in STRATEGIES {
        let of = |name: &str| facts(&record, name, &[("strategy", strategy)]);
        if strategy == "pthread-adaptive" && of("lock/bench/uncontended").is_empty() {
            continue; // Only glibc has it.
        }
        for name in ["operations", "cpu_time", "wasted", "relative/operations"] {
            assert_eq!(of(&format!("lock/bench/{name}")).len(), 4, "{name} of {strategy}");
        }
        for fact in of("lock/bench/operations") {
            assert!(fact["value"].as_f64().is_some_and(|value| value > 0.0), "{fact}");
            assert_eq!(fact["n"], 2, "{fact}");
        }
        let waits = record["series"].as_array().expect("series");
        let own = waits.iter().filter(|series| {
            series["name"] == "lock/bench/wait" && series["labels"]["strategy"] == strategy
        });
        assert!(own.clone().all(|series| series["n"].as_u64() > Some(0)));
        assert_eq!(own.count(), 4, "{strategy}");
    }
    let count = |name: &str| {
        let series = record["series"].as_array().expect("series");
        series.iter().filter(|series| series["name"] == name).count()
    };
    assert_eq!(count("lock/bench/floor"), 4, "one control for each cell");
    // Two verdicts on each strategy other than the two that all are compared with.
    let judged = record["verdicts"].as_array().expect("verdicts").len();
    let known = facts(&record, "lock/bench/uncontended", &[]).len();
    assert_eq!(judged, 2 * (known - 2));
}

#[test]
fn environments_but_a_quota_need_no_privilege() {
    let record = record(&[
        "--environment",
        "idle,load,priorities,pinned",
        "--threads",
        "2",
        "--section",
        "100ns",
        "--outside",
        "1us",
        "--rounds",
        "1",
        "--trial",
        "4ms",
    ]);
    for environment in ["idle", "load", "priorities", "pinned"] {
        let found = facts(&record, "lock/bench/operations", &[("environment", environment)]);
        assert_eq!(found.len(), 5, "four strategies and the control: {environment}");
    }
}

#[test]
fn the_output_names_cells_and_losers() {
    let output = bench(&[
        "--threads",
        "1,2",
        "--section",
        "1us",
        "--outside",
        "0",
        "--strategies",
        "sleep1",
        "--rounds",
        "3",
        "--trial",
        "10ms",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.starts_with("2 cells, 3 strategies and a control, 3 rounds: about "), "{said}");
    let stdout = text(&output.stdout);
    for part in [
        "idle: operations per second relative to the better of std and parking_lot",
        "idle: longest wait (99.9th percentile)",
        "idle: CPU time wasted (Jain's index of fairness)",
        "Does sleep1 get more done than the better of std and parking_lot? (idle)",
        "idle: all cells together (95 % interval)",
        "\nsleep1 ",
    ] {
        assert!(stdout.contains(part), "{part:?} is not in\n{stdout}");
    }
}

#[test]
fn reports_have_heat_maps() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = directory.path().join("locks.html");
    let path = html.to_str().expect("a path in UTF-8");
    let output = bench(&[
        "--threads",
        "1,2",
        "--section",
        "0",
        "--outside",
        "1us",
        "--rounds",
        "2",
        "--trial",
        "4ms",
        "--html",
        path,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(&html).expect("a page");
    assert!(page.contains("operations per second, relative, by strategy and threads"));
    assert!(page.contains("CPU time per operation, relative, by strategy and threads"));
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let child = Command::new(unjank_needs::unjank!())
        .args(["lock", "bench", "--no-store", "--threads", "1", "--section", "0"])
        .args(["--outside", "1us", "--rounds", "1000", "--trial", "5ms"])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    // A round takes a tenth of that, and a thousand of them are asked for.
    Process(child.id()).until_it_has_computed(Duration::from_secs(1));
    let status = Command::new("kill").args(["-INT", "--", &format!("-{}", child.id())]).status();
    assert!(status.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("it was started here");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("interrupted: cells may have fewer rounds"), "{printed}");
    assert!(printed.contains("\npause-yield "), "{printed}");
}

#[test]
fn values_out_of_range_are_errors_before_anything_is_measured() {
    for (arguments, said) in [
        (&["--threads", "0"][..], "error: 0 threads: must be 1 to 1024\n"),
        (&["--section", "1s"], "error: work of 1.00 s: must be at most 10.0 ms\n"),
        (&["--rounds", "0"], "error: 0 rounds: must be 1 to 1000\n"),
        (&["--trial", "1us"], "error: phases of 1.00 µs: must be 1.00 ms to 60.0 s\n"),
        (&["--strategies", "hope"], "error: unknown strategy \"hope\"; expected one of std, "),
        (&["--environment", "calm"], "error: invalid value 'calm' for '--environment"),
        (&["--threads", "few"], "error: invalid value 'few' for '--threads"),
    ] {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with(said), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn every_pool_is_measured_with_every_gap() {
    let quick = ["--pool", "--gap", "0,200us", "--rounds", "2", "--trial", "20ms"];
    let record = until_ok(|| {
        let record = record(&quick);
        for pool in ["unjank", "rayon", "threadpool", "tokio"] {
            for gap in ["0 ns", "200 µs"] {
                let cpus = facts(&record, &format!("lock/pool/{pool}/cpus"), &[("gap", gap)]);
                assert_eq!(cpus.len(), 1, "{pool} every {gap}");
                let name = format!("lock/pool/{pool}/spawn_to_start");
                let series = record["series"].as_array().expect("series").iter();
                let n = series
                    .filter(|series| series["name"] == *name && series["labels"]["gap"] == gap)
                    .map(|series| series["n"].as_u64().expect("a count"));
                // Two trials of 20 ms. With a gap of 200 µs before each piece of work, they have
                // room for about 200 pieces.
                let pieces: u64 = n.sum();
                assert!(gap == "0 ns" || pieces <= 202, "{pieces} pieces for {pool}");
                if pieces < 2 {
                    return Err(format!("{pieces} pieces for {pool} every {gap}"));
                }
            }
        }
        Ok(record)
    });
    let verdicts = record["verdicts"].as_array().expect("verdicts");
    let of_rayon = verdicts.iter().filter(|verdict| {
        verdict["question"].as_str().is_some_and(|text| text.ends_with("than rayon?"))
    });
    // Latency and CPU time, with two gaps; two rounds decide nothing.
    let answers: Vec<&Value> = of_rayon.map(|verdict| &verdict["answer"]).collect();
    assert_eq!(answers.len(), 4, "{verdicts:?}");
    assert!(answers.iter().all(|answer| **answer == "cannot_tell"), "{answers:?}");
}

#[test]
fn pools_are_compared_by_gaps_only() {
    for wrong in [&["--pool", "--threads", "2"][..], &["--gap", "1ms"], &["--pool", "--gap", "1s"]]
    {
        assert_eq!(bench(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
