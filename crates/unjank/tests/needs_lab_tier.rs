//! The swap tier in a virtual phone, whose kernel has ublk.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{example, lab, lab_run, texts};

/// Requests for single pages, and pages of a process that are swapped out and in, while the server
/// is killed ten times each. The program compares every page.
fn check(fast: &str, policy: &str) {
    if !lab() {
        return;
    }
    let output = lab_run()
        .args(["--cpu-count", "2", "--no-store", "--add"])
        .arg(example("tier_device"))
        .args(["--", "tier_device", "check", "zram", fast, policy])
        .output()
        .expect("unjank starts");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    for line in ["requests: 10 kills", "swap: 10 kills"] {
        assert!(stdout.lines().any(|printed| printed == line), "{stdout}");
    }
    assert!(number(&stdout, "requests: ", " done") >= 2_000, "{stdout}");
    assert!(number(&stdout, "swap: ", " pages came back") >= 3_000, "{stdout}");
    assert!(stdout.contains("fast_failed: 0, slow_failed: 0, wrong: 0"), "{stdout}");
}

/// The number between these words.
fn number(text: &str, before: &str, after: &str) -> u64 {
    let found = text.lines().find_map(|line| {
        let (number, _) = line.strip_prefix(before)?.split_once(after)?;
        number.parse().ok()
    });
    found.unwrap_or_else(|| panic!("there is no number in {text}"))
}

#[test]
fn no_page_is_lost_between_memory_and_a_device() {
    check("memory", "paper");
}

#[test]
fn no_page_is_lost_between_two_devices() {
    check("zram", "always/lru");
}
