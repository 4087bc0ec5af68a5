//! Compares misses with those of libCacheSim: equal where the policy is the same.
//!
//! Needs libcachesim in a virtual environment under `target`, which `make test`
//! makes. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "tests")]

mod requests;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use unjank_cachesim::bounds::{Belady, NextUses};
use unjank_cachesim::{Page, Policy};

/// The tolerated difference from libCacheSim's misses, as a share of them. `docs/method/swap.md`
/// has the reasons.
fn tolerance(policy: &str, trace: &str) -> f64 {
    match (policy, trace) {
        ("lirs", _) => 0.000_5,
        ("w-tinylfu", "javac") => 0.07,
        ("w-tinylfu", _) => 0.03,
        _ => 0.0,
    }
}

#[test]
fn misses_are_those_of_libcachesim() {
    let Some(python) = python() else { return };
    let mut asked = Command::new(python);
    asked.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/libcachesim/misses.py"));
    let traces = requests::all();
    let sizes = requests::SIZES.map(|size| size.to_string()).join(",");
    for (name, trace) in &traces {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, oracle_general(trace)).unwrap();
        asked.arg(file).arg(&sizes);
    }
    let answer = asked.output().unwrap();
    let answer = String::from_utf8(answer.stdout).unwrap();
    let mut compared = 0;
    let mut differences = String::new();
    for line in answer.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [file, size, policy, misses] = words[..] else { panic!("{line}") };
        let (name, trace) = traces.iter().find(|(name, _)| file.ends_with(name)).unwrap();
        let theirs: u64 = misses.parse().unwrap();
        let ours = misses_of(policy, size.parse().unwrap(), trace);
        if policy == "w-tinylfu" && theirs == trace.len() as u64 {
            // With a window of less than one page, libCacheSim admits nothing.
            assert!(size.parse::<u32>().unwrap() < 100, "{line}");
        } else if ours.abs_diff(theirs) as f64 > tolerance(policy, name) * theirs as f64 {
            writeln!(differences, "{name} {size} {policy}: {ours}, they have {theirs}").unwrap();
        }
        compared += 1;
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(compared, traces.len() * requests::SIZES.len() * 12, "{answer}");
}

fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let python = target.join("libcachesim-0.3.5/bin/python");
    if python.exists() {
        return Some(python);
    }
    unjank_needs::skip(format!("{}; `make test` installs it", python.display()));
    None
}

fn misses_of(policy: &str, capacity: u32, trace: &[u32]) -> u64 {
    if policy == "belady" {
        let uses = NextUses::of(trace.iter().copied().map(Page)).unwrap();
        return Belady::Demand.run(&uses, capacity).misses;
    }
    requests::misses(policy.parse::<Policy>().unwrap(), capacity, trace)
}

/// Records of 24 bytes: time (s), object, size, and the index of the next request for it, or -1.
fn oracle_general(trace: &[u32]) -> Vec<u8> {
    let mut next: HashMap<u32, i64> = HashMap::new();
    let mut records = Vec::with_capacity(trace.len());
    // Built from the end, then reversed.
    for (at, page) in trace.iter().enumerate().rev() {
        let again = next.insert(*page, at as i64).unwrap_or(-1);
        let mut record = Vec::with_capacity(24);
        record.extend((at as u32 / 1_000).to_le_bytes());
        record.extend(u64::from(*page).to_le_bytes());
        record.extend(1u32.to_le_bytes());
        record.extend(again.to_le_bytes());
        records.push(record);
    }
    records.reverse();
    records.concat()
}
