//! `unjank checkup` beside a program with too little memory: unjank's own page-ins are fast, but
//! that program waits all the time.
//!
//! Needs root, tracefs, loop devices and memory control groups. Fails without them when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. The program is this test, started
//! again.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod recorded;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use recorded::{LIMIT, Recording, can_record, fill, look_at};
use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_needs::attempts::until_ok;
use unjank_needs::turns;

const ROLE: &str = "UNJANK_TEST_ROLE";

/// Not a test: the program that thrashes.
#[test]
fn hog() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let memory = fill();
    loop {
        look_at(&memory);
    }
}

/// A program under a memory limit with a swap area of its own, until this is dropped.
struct Thrashing(Child);

impl Thrashing {
    /// Begins, and waits until pages come back from swap.
    fn begin(recording: &Recording) -> Self {
        let mut unjank = recording.record();
        unjank.args(["--memory-limit", LIMIT, "--swap-size", "256MiB", "--"]);
        unjank.arg(std::env::current_exe().unwrap()).args(["hog", "--exact"]).env(ROLE, "hog");
        let swapped_in = || {
            let counters = fs::read_to_string("/proc/vmstat").unwrap();
            let line = counters.lines().find_map(|line| line.strip_prefix("pswpin "));
            line.unwrap().parse::<u64>().unwrap()
        };
        let before = swapped_in();
        let mut child = unjank.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while swapped_in() < before + 10_000 {
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            thread::sleep(Duration::from_millis(10));
        }
        Self(child)
    }
}

impl Drop for Thrashing {
    fn drop(&mut self) {
        send_signal(self.0.id(), 2).unwrap();
        self.0.wait().unwrap();
    }
}

/// Programs that compute, until this is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn begin(count: usize) -> Self {
        let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self(std::iter::repeat_with(hog).take(count).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            hog.kill().unwrap();
            hog.wait().unwrap();
        }
    }
}

#[test]
fn fifteen_seconds_hold_beside_programs_that_thrash_and_compute() {
    if !can_record() || std::env::var(ROLE).is_ok() {
        return;
    }
    let _turn = turns::swap();
    let recording = Recording::new();
    let thrashing = Thrashing::begin(&recording);
    let hogs = Hogs::begin(12);
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(unjank_needs::unjank!())
        .args(["checkup", "--quick", "--json", "--store"])
        .arg(directory.path().join("runs.sqlite"))
        .output()
        .unwrap();
    drop(hogs);
    drop(thrashing);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["verdicts"].as_array().unwrap().len(), 5);
    let elapsed = Duration::from_nanos(record["elapsed"].as_u64().unwrap());
    assert!(elapsed <= Duration::from_secs(15), "{elapsed:?}");
}

#[test]
fn a_thrashing_program_makes_the_swap_row_slow_and_is_named() {
    if !can_record() || std::env::var(ROLE).is_ok() {
        return;
    }
    let _turn = turns::swap();
    until_ok(the_swap_row_names_it);
}

/// A checkup reads all processes for a limited time, and says if that was too short.
fn the_swap_row_names_it() -> Result<(), String> {
    let recording = Recording::new();
    let thrashing = Thrashing::begin(&recording);
    let output = Command::new(unjank_needs::unjank!())
        .args(["checkup", "--quick", "--only", "swap,lock", "--json", "--no-store"])
        .output()
        .unwrap();
    drop(thrashing);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts = record["verdicts"].as_array().unwrap();
    let swap = verdicts.iter().find(|verdict| verdict["subject"] == "swap").unwrap();
    assert_eq!(swap["answer"], "slow", "{swap:#}");
    // The test's process has the name of its file, of which the kernel keeps 15 bytes.
    let reason = swap["reason"].as_str().unwrap();
    let is_named = reason.contains("needs_root_chec[");
    let warnings = record["warnings"].to_string();
    assert!(is_named || warnings.contains("too slow to read all processes"), "{reason}");
    let next = swap["next"].as_str().unwrap();
    let fits = ["tune", "tierd", "tier up"].map(|remedy| format!("sudo unjank swap {remedy}"));
    assert!(fits.iter().any(|remedy| next.starts_with(remedy.as_str())), "{next}");
    let facts = record["facts"].as_array().unwrap();
    let fact = |name: &str| facts.iter().find(|fact| fact["name"] == name);
    assert!(fact("checkup/swapped_in").unwrap()["value"].as_f64().unwrap() > 0.0);
    let has_pressure = std::path::Path::new("/proc/pressure/memory").exists();
    assert_eq!(fact("checkup/waited").is_some(), has_pressure);
    is_named.then_some(()).ok_or(warnings)
}
