//! The swap tier in a virtual phone, whose kernel has ublk.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{example, lab, lab_run, texts};
use serde_json::Value;
use unjank_needs::attempts::until_ok;

/// Requests for single pages while the server is killed ten times, and a process that is swapped
/// out and in while the servers, the supervisor and everything are killed. The program compares
/// every page, and checks that nothing is left.
fn check(fast: &str, policy: &str, identity: &str) -> Option<Value> {
    if !lab() {
        return None;
    }
    let stdout = run(&["check", fast, policy, identity]);
    for line in [
        "requests: 10 kills",
        "requests: 80 at a time",
        "requests: 0 allocations",
        "swap: 25 servers killed",
        "swap: taken down by the keeper",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{stdout}");
    }
    assert!(stdout.contains("the swap tier") && stdout.contains("is down"), "restore: {stdout}");
    assert!(number(&stdout, "requests: ", " done") >= 2_000, "{stdout}");
    assert!(number(&stdout, "swap: ", " pages came back") >= 3_000, "{stdout}");
    let counts = stdout.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let counts = counts.unwrap_or_else(|| panic!("no counts: {stdout}"));
    assert_eq!(counts["starts"], 26, "{counts}");
    for name in ["fast_failed", "slow_failed", "wrong"] {
        assert_eq!(counts["pages"][name], 0, "{counts}");
    }
    for name in ["fast_reads", "slow_reads", "fast_writes", "slow_writes"] {
        assert!(counts["pages"][name].as_u64() > Some(0), "{counts}");
    }
    Some(counts)
}

/// Runs the program in the phone, and returns what it prints.
fn run(arguments: &[&str]) -> String {
    run_in(&[], arguments)
}

/// The same in a phone with these options.
fn run_in(phone: &[&str], arguments: &[&str]) -> String {
    until_ok(|| {
        let output = lab_run()
            .args(["--cpu-count", "2", "--no-store"])
            .args(phone)
            .arg("--add")
            .arg(example("tier_device"))
            .args(["--", "tier_device"])
            .args(arguments)
            .output()
            .expect("unjank starts");
        let (stdout, stderr) = texts(&output);
        if stderr.contains("Kernel panic") {
            // Linux 6.12 crashes now and then when a server of a ublk device is killed.
            return Err(format!("{stdout}{stderr}"));
        }
        assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
        Ok(stdout)
    })
}

/// The number between these words.
fn number(text: &str, before: &str, after: &str) -> u64 {
    let found = text.lines().find_map(|line| {
        let (number, _) = line.strip_prefix(before)?.split_once(after)?;
        number.parse().ok()
    });
    found.unwrap_or_else(|| panic!("there is no number in {text}"))
}

/// Backings that fail, and two tiers. The program compares every page that it can read.
#[test]
fn a_backing_that_fails_gives_no_wrong_page() {
    if !lab() {
        return;
    }
    let stdout = run(&["faults"]);
    assert!(number(&stdout, "faults: full, ", " transfers failed") > 0, "{stdout}");
    assert_eq!(number(&stdout, "faults: stalled, ", " transfers failed"), 0, "{stdout}");
    assert!(number(&stdout, "faults: fast is gone, ", " transfers failed") > 0, "{stdout}");
    assert!(number(&stdout, "faults: slow is gone, ", " transfers failed") > 0, "{stdout}");
    assert!(stdout.lines().any(|line| line == "faults: two tiers"), "{stdout}");
}

/// The server needs memory for page-outs while only page-outs can make memory free.
#[test]
fn a_machine_without_any_memory_left_goes_on() {
    if !lab() {
        return;
    }
    let stdout = run_in(&["--memory", "384MiB", "--disk", "256MiB"], &["exhausted", "disk"]);
    assert!(number(&stdout, "exhausted: ", " pages came back") >= 5_000, "{stdout}");
    assert_eq!(number(&stdout, "exhausted: ", " transfers failed"), 0, "{stdout}");
}

/// `swap tierd` leaves pages that come back in zram, and writes cold pages back.
#[test]
fn pages_of_zram_that_stay_away_are_written_back() {
    if !lab() {
        return;
    }
    let stdout = run(&["writeback", "stays"]);
    let back = number(&stdout, "writeback: ", " pages came back");
    let from_device = number(&stdout, "writeback: ", " of them from the device");
    assert!(from_device * 20 <= back, "what comes back stays in zram: {stdout}");
    assert!(number(&stdout, "writeback: ", " pages read back") >= 900, "{stdout}");
}

/// zram is as it was without the service: every page is compared.
#[test]
fn zram_goes_on_when_its_service_is_killed() {
    if !lab() {
        return;
    }
    let stdout = run(&["writeback", "kills"]);
    assert!(number(&stdout, "writeback: 10 services killed, ", " pages written") > 0, "{stdout}");
}

#[test]
fn no_more_pages_of_zram_are_written_than_the_user_allows() {
    if !lab() {
        return;
    }
    let stdout = run(&["writeback", "budget"]);
    let within = number(&stdout, "writeback: ", " pages written within the budget");
    assert_eq!(within, 256, "{stdout}");
}

#[test]
fn pages_of_zram_are_written_back_by_age_where_they_are_not_known() {
    if !lab() {
        return;
    }
    let stdout = run(&["writeback", "age"]);
    let written = |words| number(&stdout, "writeback: ", words);
    assert_eq!(written(" pages written without a budget for all"), 0, "{stdout}");
    assert!(written(" pages written by age") >= 1_000, "{stdout}");
    assert!(written(" pages read back") >= 900, "{stdout}");
}

#[test]
fn no_page_is_lost_between_memory_and_a_device() {
    let Some(counts) = check("memory", "paper", "page") else { return };
    let count = |name: &str| counts["pages"][name].as_u64().unwrap_or_default();
    assert!(count("named") > count("not_named"), "which pages the slots hold: {counts}");
}

#[test]
fn no_page_is_lost_between_two_devices() {
    let Some(counts) = check("device", "always/lru", "slot") else { return };
    assert!(counts["pages"]["copies"].as_u64() > Some(0), "pages leave for others: {counts}");
}
