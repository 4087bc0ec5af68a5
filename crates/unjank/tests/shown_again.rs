//! `runs show` prints what the command printed, for every measuring command.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn unjank(store: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjank"));
    let options = arguments.iter().position(|it| it.starts_with('-')).unwrap_or(arguments.len());
    let (names, options) = arguments.split_at(options);
    command.args(names).arg("--store").arg(store).args(options).env("COLUMNS", "100");
    command.output().expect("unjank runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What `arguments` print, which the store shows again.
fn check(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let printed = unjank(&store, arguments);
    let (stdout, stderr) = (text(&printed.stdout), text(&printed.stderr));
    assert!(!stdout.is_empty(), "{arguments:?}: {stderr}");
    let shown = unjank(&store, &["runs", "show", "last"]);
    assert_eq!(text(&shown.stdout), stdout, "{arguments:?}: {}", text(&shown.stderr));
    let page = directory.path().join("run.html");
    let html = ["runs", "show", "last", "--html", page.to_str().unwrap()];
    assert!(unjank(&store, &html).status.success());
    let (html, record) = (
        fs::read_to_string(page).unwrap(),
        text(&unjank(&store, &["runs", "show", "last", "--json"]).stdout),
    );
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    for table in record["tables"].as_array().unwrap() {
        let drawn = !table["rows"].as_array().unwrap().is_empty();
        if drawn && table["name"] != "ipc/throughput/turns" && record["command"] != "schd-dbg" {
            let title = table["title"].as_str().unwrap();
            let first = title.split(['&', '<', '>', '"']).next().unwrap();
            assert!(html.contains(first), "{arguments:?}: the page lacks {title}");
        }
    }
    stdout
}

#[test]
fn probes() {
    check(&["lock", "probe", "--for", "200ms", "--repetitions", "4"]);
    check(&["swap", "probe", "--for", "200ms", "--repetitions", "2"]);
    check(&["ipc", "probe", "--placement", "free", "--transport", "pipe", "--repetitions", "2"]);
    check(&["jitter", "native", "--policy", "other", "--for", "300ms", "--repetitions", "2"]);
    check(&["launch", "ramp", "--launches", "2"]);
    check(&["checkup", "--quick", "--only", "lock"]);
    let all = check(&["checkup", "--quick", "--only", "lock", "--tables"]);
    assert!(all.contains("lock/park_wake"), "{all}");
}

#[test]
fn locks() {
    let small = ["--threads", "1,2", "--section", "0", "--outside", "1us", "--rounds", "6"];
    let bench = [&["lock", "bench", "--cell", "5ms"], &small[..]].concat();
    let printed = check(&bench);
    assert!(printed.contains("operations per second relative to"), "{printed}");
    let pool = ["lock", "bench", "--pool", "--gap", "1ms", "--rounds", "2", "--cell", "20ms"];
    assert!(check(&pool).contains("CPUs used"));
    let process = std::process::id().to_string();
    assert!(check(&["lock", "doctor", &process, "--quick"]).contains("Threads, the most wasteful"));
}

#[test]
fn calls() {
    let pipe = ["--transport", "pipe"];
    check(&[&["ipc", "latency", "--iterations", "20"], &pipe[..]].concat());
    check(&[&["ipc", "throughput", "--largest", "8", "--for", "300ms"], &pipe[..]].concat());
    let google = ["ipc", "throughput", "--benchmark_format=json", "--largest", "8"];
    let printed = check(&[&google[..], &["--for", "300ms"], &pipe].concat());
    let document: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(document["benchmarks"][0]["name"].is_string(), "{printed}");
    let aosp = ["schd-dbg", "-i", "20", "-m", "PASSTHROUGH", "--raw_data"];
    let arguments: Vec<&str> = aosp.into_iter().collect();
    let document: serde_json::Value = serde_json::from_str(&check(&arguments)).unwrap();
    assert!(document["P0"]["other_ms"]["avg"].is_number(), "{document}");
    assert_eq!(document["other_0_data"].as_array().map(Vec::len), Some(20));
}

#[test]
fn traces() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("small.csv");
    let line = |at: usize| format!("{at},app,heap,{},write,anonymous\n", at * 7 % 13);
    let lines: String = (0..200).map(line).collect();
    fs::write(&trace, format!("time,process,space,page,operation,backing\n{lines}")).unwrap();
    let trace = trace.to_str().unwrap();
    assert!(check(&["swap", "analyze", trace]).contains("Skew"));
    assert!(check(&["swap", "mrc", trace, "--policy", "lru,sieve"]).contains("Miss ratio"));
    let memory = ["--memory", "20KiB", "--memory-policy", "lru", "--tier", "16KiB"];
    assert!(
        check(&[&["swap", "simulate", trace], &memory[..]].concat()).contains("offline optimal")
    );
    assert!(check(&[&["swap", "sweep", trace], &memory[..]].concat()).contains("the best"));
}

#[test]
fn launches() {
    check(&["launch", "bench", "-n", "6", "--", "true"]);
    check(&["launch", "simulate", "--phases", "2"]);
    check(&["launch", "paper", "--quick"]);
}
