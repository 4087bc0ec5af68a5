//! `unjank swap mrc` on the command line.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod asserted;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use asserted::{fails, json, stdout};
use serde_json::{Value, json};

fn mrc() -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["swap", "mrc", "--no-store"]);
    command
}

/// Requests for four pages in a loop, ten times, and one write.
fn round_and_round(dir: &Path) -> PathBuf {
    let path = dir.join("loop.csv");
    let mut trace = "time_ns,space,page,operation\n".to_owned();
    for at in 0..40 {
        writeln!(trace, "{at},a,{},read", at % 4).unwrap();
    }
    trace.push_str("40,a,3,write\n41,a,3,clean-drop\n");
    fs::write(&path, trace).unwrap();
    path
}

/// 40,000 requests, skewed, for about 5,000 pages.
fn skewed(dir: &Path) -> PathBuf {
    let path = dir.join("skewed.csv");
    let mut trace = "page,operation\n".to_owned();
    let mut state = 1_u64;
    for _ in 0..40_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 33) as f64 / f64::from(1_u32 << 31);
        writeln!(trace, "{},read", (5_000.0 * chance * chance) as u64).unwrap();
    }
    fs::write(&path, trace).unwrap();
    path
}

/// Sizes and miss ratios of a policy.
fn points(record: &Value, policy: &str) -> Vec<(f64, f64)> {
    let curves = record["curves"].as_array().unwrap();
    let curve = curves.iter().find(|curve| curve["labels"]["policy"] == policy).unwrap();
    let point = |point: &Value| (point["x"].as_f64().unwrap(), point["y"].as_f64().unwrap());
    curve["points"].as_array().unwrap().iter().map(point).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// The text in one line: its words, with one space between them.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_loop_misses_until_all_of_it_fits() {
    let dir = tempfile::tempdir().unwrap();
    let trace = round_and_round(dir.path());
    let csv = dir.path().join("curve.csv");
    let mut command = mrc();
    command.arg(&trace).args(["--policy", "lru,2q:kin=0.5,lru", "--sizes", "1p,3p,4p,64KiB"]);
    let record = json(command.arg("--csv").arg(&csv));
    let lru = points(&record, "lru");
    // At three pages, only the write behind the last read is a hit.
    for (pages, misses) in [(1.0, 40.0), (3.0, 40.0), (4.0, 4.0), (16.0, 4.0)] {
        let found = lru.iter().find(|(bytes, _)| near(*bytes, pages * 4096.0)).unwrap();
        assert!(near(found.1, misses / 41.0), "{pages}: {found:?}");
    }
    let two_q = points(&record, "2q:kin=0.5");
    assert_eq!(two_q.len(), 4);
    assert!(two_q[1].1 < 1.0 && near(two_q[2].1, 4.0 / 41.0), "{two_q:?}");
    assert_eq!(record["curves"].as_array().unwrap().len(), 2, "lru was named twice");
    assert_eq!(record["labels"], json!(["modelled"]));
    let facts = record["facts"].as_array().unwrap();
    let requests = facts.iter().find(|fact| fact["name"] == "swap/mrc/requests").unwrap();
    assert_eq!(requests["value"], 41.0, "a clean drop is no request");
    assert!(record["warnings"].to_string().contains("the trace has 4 different pages"));
    let csv = fs::read_to_string(csv).unwrap();
    assert!(
        csv.starts_with("policy,bytes,pages,miss_ratio,low,high,requests\nlru,4096,1,"),
        "{csv}"
    );
    assert!(csv.contains("\n2q:kin=0.5,16384,4,0.0975609756097561,,,41\n"), "{csv}");
}

#[test]
fn the_optimum_is_beside_the_policies_and_does_not_compete() {
    let dir = tempfile::tempdir().unwrap();
    let trace = skewed(dir.path());
    let mut command = mrc();
    command.arg(&trace).args(["--policy", "lru,arc,belady,belady-bypass", "--sizes", "1000p"]);
    let record = json(&mut command);
    let miss_ratio = |name: &str| points(&record, name)[0].1;
    let policies = miss_ratio("lru").min(miss_ratio("arc"));
    assert!(miss_ratio("belady") < policies);
    assert!(miss_ratio("belady-bypass") <= miss_ratio("belady"));
    let headline = record["headline"].as_str().unwrap();
    assert!(headline.starts_with("Fewest misses: arc, "), "{headline}");
}

#[test]
fn all_policies_are_in_one_table_and_chart() {
    let dir = tempfile::tempdir().unwrap();
    let trace = skewed(dir.path());
    let page = dir.path().join("curves.html");
    let mut command = mrc();
    let text = stdout(command.arg(&trace).args(["--policy", "all", "--html"]).arg(&page));
    assert!(flat(&text).contains("csv 40,000 "), "{text}");
    assert!(flat(&text).contains(" 40,000 requests for "), "{text}");
    assert!(flat(&text).contains("all of them simulated: exact"), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().filter(|word| *word != "%" && *word != "%*").count()
    };
    for policy in ["fifo", "lru", "sieve", "s3-fifo", "2q", "lirs", "w-tinylfu", "larc", "mq"] {
        assert_eq!(row(policy), 9, "{policy}\n{text}");
    }
    assert!(text.contains("* the fewest misses at this size"));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("miss ratio over size of the cache"), "the chart is described");
}

#[test]
fn a_sample_has_intervals_and_repeats_with_its_seed() {
    let dir = tempfile::tempdir().unwrap();
    let trace = skewed(dir.path());
    let sampled = |seed: &str| {
        let mut command = mrc();
        command.arg(&trace).args(["--sample", "20%", "--sizes", "1000p", "--seed", seed]);
        json(command.args(["--policy", "lru,sieve"]))
    };
    let (one, again, other) = (sampled("1"), sampled("1"), sampled("2"));
    assert_eq!(one["curves"], again["curves"]);
    assert_ne!(one["curves"], other["curves"]);
    let interval = &one["curves"][1]["points"][0]["interval"];
    let exact = json(mrc().arg(&trace).args(["--sizes", "1000p", "--policy", "sieve"]));
    let exact = points(&exact, "sieve")[0].1;
    let estimate = points(&one, "sieve")[0].1;
    let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
    assert!(low < estimate && estimate < high && high - low < 0.3, "{interval}");
    assert!((estimate - exact).abs() < high - low, "{estimate} {exact}");
    let text = stdout(mrc().arg(&trace).args(["--sample", "0.2", "--sizes", "10p,1000p"]));
    assert!(flat(&text).contains("± is a 95 % interval"), "{text}");
    assert!(flat(&text).contains("have no interval"), "{text}");
    let text = stdout(mrc().arg(&trace).args(["--max-memory", "40000"]));
    assert!(flat(&text).contains("do not fit into 39.1 KiB (--max-memory)"), "{text}");
}

#[test]
fn wrong_options_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let trace = round_and_round(dir.path());
    for (arguments, expected) in [
        (["--sizes", "0p"], "a cache needs room for at least one page of 4 KiB"),
        (["--sizes", "1K"], "a cache needs room for at least one page of 4 KiB"),
        (["--sizes", "0"], "1 to 64 sizes"),
        (["--sizes", "64"], ""),
        (["--sizes", "9TiB"], "is too large"),
        (["--sizes", "big"], "\"big\" is not a size; a size looks like 64MiB, 10%"),
        (["--policy", "rlu"], "unknown policy \"rlu\"; expected one of fifo, lru"),
        (["--policy", "2q:in=1"], "2q has no parameter \"in\"; it has kin=0.25, kout=0.5"),
        (["--policy", "mq:queues=9"], "queues of mq must be 1 to 8, not \"9\""),
        (["--sample", "2"], "expected a share such as 1% or 0.01"),
        (["--sample", "0.0000001"], "is in the sample; give --sample a larger share"),
        (["--operations", "launch"], "unknown operation \"launch\""),
        (["--max-memory", "1"], "--max-memory must be at least 4 KiB"),
    ] {
        let mut command = mrc();
        command.arg(&trace).args(arguments);
        if expected.is_empty() {
            stdout(&mut command);
        } else {
            let error = fails(&mut command, 2);
            assert!(error.contains(expected), "{arguments:?}: {error}");
        }
    }
    let empty = dir.path().join("empty.csv");
    fs::write(&empty, "time_ns,page,operation\n").unwrap();
    let mut command = mrc();
    let output = command.args(["--format", "csv"]).arg(&empty).assert().code(3);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(text.contains("swap/mrc: n/a (no requests for pages)"), "{text}");
    // A truncated compressed trace.
    let cut = dir.path().join("cut.csv.gz");
    fs::write(&cut, [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    let error = fails(mrc().arg(&cut), 1);
    assert!(error.contains("cut.csv.gz"), "{error}");
    let none = stdout(mrc().arg(&trace).args(["--operations", "write", "--sizes", "1p"]));
    assert!(none.contains("\n1 requests for 1 different pages"), "{none}");
}

/// The program in the manual, which is FIFO.
fn fifo(directory: &Path) -> PathBuf {
    let page = include_str!("../../../docs/reference/swap/mrc.md");
    let (_, rest) = page.split_once("```python\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let path = directory.join("fifo.py");
    fs::write(&path, program).unwrap();
    path
}

#[test]
fn a_policy_may_be_a_program() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.csv");
    let pages = (0_u64..20_000).map(|at| format!("{}\n", at * at % 1_009 * at % 307));
    fs::write(&trace, pages.collect::<String>()).unwrap();
    let program = format!("exec:python3 {}", fifo(directory.path()).display());
    let mrc = |policy: &str, more: &[&str]| {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(["swap", "mrc", "--no-store", "--json", "--columns", "page"]);
        command.args(["--policy", policy, "--sizes", "10p,100p,200p"]).args(more);
        command.arg(&trace).output().unwrap()
    };
    for sample in [&[][..], &["--sample", "0.5"]] {
        let output = mrc(&format!("{program},fifo"), sample);
        let record: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let table = &record["tables"].as_array().unwrap().iter();
        let table = table.clone().find(|it| it["name"] == "swap/mrc/miss_ratio").unwrap();
        let [mine, fifo] = &table["rows"].as_array().unwrap()[..] else { panic!("{table}") };
        let numbers = |row: &Value| -> Vec<String> {
            let cells = row.as_array().unwrap()[1..].iter();
            cells.map(|cell| format!("{} {}", cell["value"], cell["interval"])).collect()
        };
        assert_eq!(mine[0], program.as_str());
        assert_eq!(numbers(mine), numbers(fifo));
    }
    let failed = mrc("exec:false", &[]);
    assert_eq!(failed.status.code(), Some(2));
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(said.contains("exec:false, with room for "), "{said}");
    assert!(said.contains("request 0: it has closed its "), "{said}");
}
