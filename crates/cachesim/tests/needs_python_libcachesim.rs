//! Compares misses with those of libCacheSim: equal where the policy is the same.
//!
//! Needs libcachesim in a virtual environment under `target`, which `make test`
//! makes. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use unjank_cachesim::bounds::{Belady, NextUses};
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

const REQUESTS: usize = 200_000;
const SIZES: [u32; 6] = [20, 100, 777, 1_000, 5_000, 20_000];
/// A recording: `fixtures/README.md`.
const JAVAC: &[u8] = include_bytes!("../fixtures/javac-swap.leb128");

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
    let traces = [("zipf", zipf()), ("loops", loops()), ("javac", javac())];
    let sizes = SIZES.map(|size| size.to_string()).join(",");
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
    assert_eq!(compared, traces.len() * SIZES.len() * 10, "{answer}");
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

fn misses_of(policy: &str, capacity: u64, trace: &[u32]) -> u64 {
    struct Misses<'a>(&'a [u32]);
    impl Visit for Misses<'_> {
        type Output = u64;
        fn visit<R: Replacement>(self, mut cache: R) -> u64 {
            cache.misses(self.0.iter().copied().map(Page))
        }
    }
    if policy == "belady" {
        let uses = NextUses::of(trace.iter().copied().map(Page)).unwrap();
        return Belady::Demand.run(&uses, capacity as u32).misses;
    }
    let footprint = trace.iter().max().map_or(0, |page| page + 1);
    let space = Space::new(capacity, footprint.into()).unwrap();
    policy.parse::<Policy>().unwrap().visit(space, Misses(trace))
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

/// Random numbers from 0 to 1, the same on every machine (Knuth's MMIX generator).
fn chances(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Zipf's law with exponent 1 over 50,000 pages.
fn zipf() -> Vec<u32> {
    let mut chance = chances(1);
    let page = |chance: f64| 50_000f64.powf(chance) as u32 - 1;
    (0..REQUESTS).map(|_| page(chance()).min(49_999).wrapping_mul(7_919) % 50_000).collect()
}

/// The swap of a Java compiler.
fn javac() -> Vec<u32> {
    let mut bytes = JAVAC.iter().copied();
    let mut slot = 0_i64;
    let mut trace = Vec::new();
    while let Some(first) = bytes.next() {
        let (mut zigzag, mut byte, mut shift) = (i64::from(first & 0x7f), first, 0);
        while byte & 0x80 != 0 {
            byte = bytes.next().unwrap();
            shift += 7;
            zigzag |= i64::from(byte & 0x7f) << shift;
        }
        slot += zigzag >> 1 ^ -(zigzag & 1);
        trace.push(u32::try_from(slot).unwrap());
    }
    assert_eq!(trace.len(), 22_149);
    trace
}

/// Favourites, three loops that return, and scans that do not.
fn loops() -> Vec<u32> {
    let mut chance = chances(2);
    let mut trace = Vec::new();
    while trace.len() < REQUESTS {
        match (chance() * 10.0) as u32 {
            0..5 => trace.extend((0..200).map(|_| 3_000f64.powf(chance()) as u32)),
            5..8 => {
                let from = 5_000 + 700 * (3.0 * chance()) as u32;
                trace.extend(from..from + 600);
            }
            _ => {
                let from = 20_000 + (50_000.0 * chance()) as u32;
                trace.extend(from..from + 300);
            }
        }
    }
    trace.truncate(REQUESTS);
    trace
}
