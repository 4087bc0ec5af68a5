//! `unjank swap analyze` on the command line.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod asserted;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use asserted::{fails, json, stdout};
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../swap/fixtures").join(name)
}

fn analyze() -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["swap", "analyze", "--no-store"]);
    command
}

/// The value of the fact with this name and at least these labels.
fn fact(record: &Value, name: &str, labels: &[(&str, &str)]) -> f64 {
    let facts = record["facts"].as_array().unwrap();
    let is = |fact: &&Value| {
        fact["name"] == format!("swap/analyze/{name}").as_str()
            && labels.iter().all(|(label, value)| fact["labels"][*label] == *value)
    };
    let found: Vec<_> = facts.iter().filter(is).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:#?}");
    found[0]["value"].as_f64().unwrap()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// The text in one line: its words, with one space between them.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_trace_gives_skew_reuse_paging_and_launches() {
    let mut command = analyze();
    command.arg(fixture("paging.csv")).args(["--thrash-rate", "2", "--hot", "25%"]);
    let record = json(command.args(["--swap-priority", "zram0=100", "--swap-priority", "disk=5"]));
    // 17 accesses of 8 pages: 7, 2, 2, 2, 1, 1, 1, 1.
    assert!(near(fact(&record, "pages", &[]), 8.0));
    assert!(near(fact(&record, "accesses", &[("operation", "page-out")]), 8.0));
    assert!(near(fact(&record, "skew/top_25", &[]), 9.0 / 17.0));
    assert!(near(fact(&record, "skew/top_50", &[]), 13.0 / 17.0));
    // 80 % are 13.6 accesses: four pages, and 0.6 of the next.
    assert!(near(fact(&record, "skew/data_for_80", &[]), 4.6 / 8.0));
    assert!(near(fact(&record, "never_reused", &[]), 0.5));
    assert!(near(fact(&record, "volume", &[("part", "hottest 25 %")]), 9.0 * 4096.0));
    assert!(near(fact(&record, "volume", &[("part", "rest")]), 8.0 * 4096.0));
    // The two hottest pages: one on the disk, and the first of those with two accesses, a
    // library's.
    assert!(near(fact(&record, "hot", &[("kind", "shared library")]), 2.0 / 9.0));
    assert!(near(fact(&record, "hot", &[("kind", "memory of apps")]), 7.0 / 9.0));
    assert!(near(fact(&record, "hot", &[("process", "com.example.game")]), 8.0 / 9.0));
    // Five pages were evicted. zram's came back after the end of its process: a different page.
    assert!(near(fact(&record, "evictions", &[]), 8.0));
    assert!(near(fact(&record, "re_faults", &[]), 4.0));
    assert!(near(fact(&record, "never_back/pages", &[]), 3.0 / 5.0));
    assert!(near(fact(&record, "thrash/episodes", &[]), 1.0));
    assert!(near(
        fact(&record, "thrash/episode/re_faults", &[("mostly_by", "com.example.game")]),
        2.0
    ));
    assert!(near(
        fact(&record, "launch/io_time", &[("launch", "1"), ("app", "com.example.game")]),
        310e6
    ));
    assert!(near(fact(&record, "launch/pages_in", &[("launch", "2"), ("round", "1")]), 2.0));
    assert!(fact(&record, "inversion/by_next_access", &[]) > 0.3);
    assert_eq!(record["verdicts"][0]["answer"], "no");
    let names: Vec<_> =
        record["series"].as_array().unwrap().iter().map(|series| &series["name"]).collect();
    assert_eq!(
        names[..3],
        [
            &json!("swap/analyze/reuse_distance"),
            &json!("swap/analyze/re_fault/distance"),
            &json!("swap/analyze/re_fault/time"),
        ]
    );
    let reuse = &record["series"][0];
    assert_eq!((&reuse["n"], &reuse["summary"]["max"]), (&json!(9), &json!(4)));
    assert_eq!(record["labels"], json!([]), "counted values are not modelled");
}

#[test]
fn traces_are_shown_next_to_the_papers_values() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("fig1.html");
    let mut command = analyze();
    command.arg(fixture("paging.csv")).arg(fixture("mobile.csv"));
    command.args(["--label", "swap on,swap off", "--html"]).arg(&page);
    let text = stdout(&mut command);
    let text = flat(&text);
    for line in [
        "swap on 17 17.6 % read, 5.88 % write, 29.4 % page-in, 47.1 % page-out 8 32.0 KiB 3.30 s",
        "Bahn & Kim 2023: 1 GiB, swap",
        "swap on █████████████░░░",
        "Is swap off free of thrashing? The trace has neither page-ins nor page-outs; if it has a swap device, \
         name it with --swap-device.",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("swap on: hottest 10 %"), "the bars are described");
    assert!(html.contains("share of the data, the hottest first"));
}

#[test]
fn parts_of_one_trace_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let part = |name: &str, lines: &str| {
        let path = dir.path().join(name);
        fs::write(&path, format!("time_ms,space,page,operation\n{lines}")).unwrap();
        path
    };
    let one = part("one.csv", "0,a,1,read\n20,a,1,read\n");
    let other = part("other.csv", "10,a,2,read\n");
    let record = json(analyze().args([&one, &other]).arg("--merge"));
    assert_eq!(record["series"][0]["summary"]["max"], 1, "page 2 was in between");
    assert_eq!(record["settings"]["traces"], json!(["one.csv"]));
    let apart = json(analyze().args([&one, &other]));
    assert_eq!(apart["series"][0]["summary"]["max"], 0);
    assert!(near(fact(&apart, "pages", &[("trace", "other.csv")]), 1.0));
    let error = fails(analyze().args([&one, &one]), 2);
    assert!(error.contains("two traces have the name"), "{error}");
}

#[test]
fn missing_times_and_accesses_are_reported() {
    // Ariadne's traces have no times.
    let record = json(analyze().arg(fixture("ariadne-swapin.txt")).args(["--format", "ariadne"]));
    assert_eq!(record["verdicts"][0]["answer"], "cannot_tell");
    assert_eq!(record["verdicts"][0]["reason"], "the trace has no times");
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.csv");
    fs::write(&empty, "time_ns,page,operation\n").unwrap();
    let mut command = analyze();
    let output =
        command.args(["--format", "csv"]).arg(&empty).assert().code(3).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(flat(&text).contains("empty.csv: no accesses of pages"), "{text}");
    // A trace in which no page comes twice is no failure.
    fs::write(&empty, "page,operation\n1,read\n2,read\n").unwrap();
    let record = json(analyze().arg(&empty));
    assert!(near(fact(&record, "never_reused", &[]), 1.0));
    assert_eq!(record["series"], json!([]));
}

#[test]
fn a_launch_has_its_own_io_and_launches_of_others_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("gimp.csv");
    let mut text = "time_ms,process,pid,launch_id,command_pid,page,operation\n".to_owned();
    text += "0,gimp,10,1,10,0,launch\n5,exe,50,2,,0,launch\n";
    for page in 0..100 {
        writeln!(text, "{},exe,50,2,,{page},page-out", 10 + page).unwrap();
    }
    text += "200,script-fu,11,1,10,1,page-in\n";
    for launch in 3..15 {
        writeln!(text, "{launch}000,app-{launch},{launch},{launch},10,0,launch").unwrap();
    }
    fs::write(&trace, text).unwrap();
    let record = json(analyze().arg(&trace));
    let gimp = [("launch", "1"), ("app", "gimp")];
    assert!(near(fact(&record, "launch/pages_out", &gimp), 0.0));
    assert!(near(fact(&record, "launch/pages_in", &gimp), 1.0));
    assert!(near(fact(&record, "launch/io_time", &gimp), 200e6));
    let text = stdout(analyze().arg(&trace));
    assert!(text.contains("and 5 more; --limit shows more"), "{text}");
    assert!(
        text.contains("1 launch of another program is left out; --all-launches shows it"),
        "{text}"
    );
    let text = stdout(analyze().arg(&trace).args(["--all-launches", "--limit", "all"]));
    assert!(text.contains("exe") && text.contains("app-14"), "{text}");
    let record = json(analyze().arg(&trace).arg("--all-launches"));
    let exe = [("launch", "2"), ("app", "exe")];
    assert!(near(fact(&record, "launch/pages_out", &exe), 100.0));
}

#[test]
fn a_trace_that_names_only_threads_gives_a_warning() {
    let record = json(analyze().arg(fixture("ftrace-phone.txt")));
    let warning = "the trace does not say in which process an app runs";
    assert!(record["warnings"].to_string().contains(warning), "{}", record["warnings"]);
    assert!(near(fact(&record, "launch/pages_in", &[("app", "com.example.game")]), 6.0));
}

#[test]
fn only_selected_operations_count_as_accesses() {
    let record = json(analyze().arg(fixture("paging.csv")).args(["--operations", "page-in"]));
    assert!(near(fact(&record, "accesses", &[("operation", "page-in")]), 5.0));
    assert!(near(fact(&record, "pages", &[]), 3.0));
    assert!(near(fact(&record, "evictions", &[]), 8.0), "paging is followed all the same");
    let error = fails(analyze().arg("x").args(["--operations", "exit"]), 2);
    assert!(error.contains("unknown operation \"exit\"; expected one of read, write,"), "{error}");
}

#[test]
fn the_format_is_named_and_a_guess_is_marked() {
    let text = stdout(analyze().arg(fixture("msr.csv")));
    assert!(flat(&text).contains("msr.csv msr (guessed) 11 "), "{text}");
    assert!(
        flat(&text).contains("read as msr, which is a guess; confirm it with --format msr"),
        "{text}"
    );
    let text = stdout(analyze().arg(fixture("msr.csv")).args(["--format", "msr"]));
    assert!(flat(&text).contains("msr.csv msr 11 ") && !text.contains("guess"), "{text}");
    for command in [
        &["mrc", "--sizes", "4"][..],
        &["simulate", "--tier", "64KiB", "--policy", "paper"],
        &["sweep", "--tier", "64KiB", "--policy", "paper"],
    ] {
        let mut unjank = Command::new(unjank_needs::unjank!());
        let text =
            stdout(unjank.arg("swap").args(command).arg("--no-store").arg(fixture("msr.csv")));
        let is_guess =
            text.contains("msr (guessed)") || text.contains("read as msr, which is a guess");
        assert!(is_guess, "{command:?}: {text}");
    }
}

#[test]
fn columns_without_a_header_are_named_by_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("cache.csv");
    fs::write(&trace, "0,100,4096\n1,101,4096\n2,102,4096\n").unwrap();
    let error = fails(analyze().arg(&trace), 1);
    assert!(error.contains("name them, as in --columns time,page,size"), "{error}");
    let record = json(analyze().arg(&trace).args(["--columns", "time,page,size"]));
    assert!(near(fact(&record, "pages", &[]), 3.0));
    let tabs = dir.path().join("cache.txt");
    fs::write(&tabs, "0;1 2;4096\n").unwrap();
    let columns = ["--columns", "time,id,size", "--delimiter", ";"];
    assert!(near(fact(&json(analyze().arg(&tabs).args(columns)), "pages", &[]), 1.0));
    let error = fails(analyze().arg(&trace).args(["--columns", "time,pgae"]), 2);
    assert!(error.contains("unknown column \"pgae\""), "{error}");
}

#[test]
fn errors_say_what_would_be_right() {
    let trace = fixture("paging.csv");
    let error = fails(analyze().arg(&trace).args(["--swap-priority", "zram0=1"]), 2);
    assert!(error.contains("--swap-priority compares devices: give it for 2 to 8"), "{error}");
    let error = fails(analyze().arg(&trace).args(["--label", "a,b"]), 2);
    assert!(error.contains("--label names 2 traces, but there are 1"), "{error}");
    let error = fails(analyze().args(["-", "-"]), 2);
    assert!(error.contains("stdin can be read only once"), "{error}");
    let error = fails(analyze().arg(&trace).args(["--hot", "0"]), 2);
    assert!(error.contains("above 0 and at most 100%"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.csv");
    fs::write(&bad, "time_ns,page\n1,2\n2,many\n").unwrap();
    let error = fails(analyze().arg(&bad).args(["--limit", "0"]), 2);
    assert!(error.contains("a number of rows, such as 50, or all"), "{error}");
    let error = fails(analyze().args(["--format", "csv"]).arg(&bad), 1);
    assert!(error.contains("bad.csv, line 3: the page is not a number"), "{error}");
    let text = stdout(analyze().args(["--format", "csv", "--skip-bad"]).arg(&bad));
    assert!(flat(&text).contains("bad.csv 1 100 % read"), "{text}");
}
