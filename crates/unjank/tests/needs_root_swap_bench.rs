//! `unjank swap bench` with real processes, swap and zram, and the paper's figures from it.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod claimed;

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use claimed::claims;
use serde_json::Value;
use unjank_needs::printed::stderr;

/// A small phone: nine apps with 24 MiB in all.
const SMALL: [&str; 8] =
    ["swap", "bench", "--no-store", "--scale", "0.05", "--pinned", "0", "--runs"];

fn number(cell: &Value) -> f64 {
    cell["value"].as_f64().unwrap_or_else(|| panic!("no number: {cell}"))
}

/// What the bench borrows: swap areas, and two settings.
fn borrowed() -> (Vec<String>, [String; 2]) {
    let read = |file: &str| fs::read_to_string(file).unwrap();
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let areas = read("/proc/swaps").lines().skip(1).map(name).collect();
    (areas, ["/proc/sys/vm/page-cluster", "/proc/sys/vm/swappiness"].map(read))
}

fn rows<'a>(record: &'a Value, name: &str) -> &'a Vec<Value> {
    let tables = record["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name);
    table.unwrap_or_else(|| panic!("no {name}"))["rows"].as_array().unwrap()
}

#[test]
fn apps_swap_or_are_killed_and_every_page_comes_back_as_it_was() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::swap();
    let before = borrowed();
    let arms = ["1", "--json", "--memory", "12MiB", "--arm", "swap,no-swap,zram:4MiB"];
    let mut unjank = Command::new(unjank_needs::unjank!());
    let output = unjank.args(SMALL).args(arms).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(borrowed(), before);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rounds = rows(&record, "swap/bench/rounds");
    let zram = std::path::Path::new("/sys/class/zram-control/hot_add").exists();
    // An arm without swap needs a machine without swap.
    let others = before.0.len();
    assert_eq!(rounds.len(), 1 + usize::from(others == 0) + usize::from(zram));
    for row in rounds {
        assert!((1..=5).all(|round| number(&row[round]) > 0.0), "{row}");
    }
    let storage = rows(&record, "swap/bench/storage");
    let arm = |name: &str| storage.iter().find(|row| row[0].as_str().unwrap().starts_with(name));
    let swap = arm("swap").unwrap();
    assert!(number(&swap[4]) > 100.0 && number(&swap[5]) > 100.0, "it swaps: {swap}");
    assert!(number(&swap[8]) < 1.0, "and kills nothing: {swap}");
    if let Some(none) = arm("no-swap") {
        assert!(number(&none[8]) > 0.0, "without swap it kills: {none}");
    }
    if let Some(zram) = arm("zram") {
        assert!(number(&zram[6]) > 0.0, "pages come from zram: {zram}");
        assert!(number(&zram[9]) > 0.0, "zram takes memory: {zram}");
    }
    let beside = rows(&record, "swap/bench/modelled");
    let swapped_in = beside.iter().find(|row| row[0] == "swap" && row[1] == "swapped in").unwrap();
    assert!(number(&swapped_in[3]) > 0.0, "the model swaps, too: {swapped_in}");
}

#[test]
fn a_killed_bench_leaves_no_swap_and_no_app() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::swap();
    let before = borrowed();
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(SMALL).args(["5", "--memory", "12MiB", "--arm", "swap"]);
    let mut bench = unjank.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let swaps = || borrowed().0.len() > before.0.len();
    let began = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50));
        swaps()
    });
    assert!(began, "it did not swap in 30 s");
    thread::sleep(Duration::from_millis(500));
    bench.kill().unwrap();
    bench.wait().unwrap();
    let mut unjank = Command::new(unjank_needs::unjank!());
    let restored = unjank.arg("restore").output().unwrap();
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert_eq!(borrowed(), before);
    let is_app = |process: &String| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.windows(9).any(|words| words == b"bench-app")
    };
    let processes = fs::read_dir("/proc").unwrap();
    let processes = processes.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = processes.filter(is_app).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn the_papers_figures_are_repeated_with_real_memory() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::swap();
    let before = borrowed();
    let mut unjank = Command::new(unjank_needs::unjank!());
    let output = unjank
        .args(["reproduce", "swap", "--quick", "--json", "--no-store", "--measured", "--phone"])
        .args(["9-1gib", "--scale", "0.02", "--runs", "1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(borrowed(), before);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claims = claims(&record);
    let real: Vec<_> = claims.iter().filter(|it| it.what.ends_with("real memory")).collect();
    assert_eq!(real.len(), 5, "storage I/O, launches, three tiers: {claims:?}");
    assert_eq!(real[0].published, "6 to 7 times");
    assert!(claims.len() > real.len(), "the model's are there, too");
    assert!(real.iter().all(|claim| claim.answer == "cannot tell"), "one run: {real:?}");
    // Without swap cannot be tried where another swap area is.
    if before.0.is_empty() {
        let both = [&real[0], &real[1]];
        assert!(both.iter().all(|it| it.ours > Some(0.0) && it.how == "measured"), "{both:?}");
    }
    assert!(real[2..].iter().all(|claim| claim.source.ends_with("Fig. 5")), "{real:?}");
}
