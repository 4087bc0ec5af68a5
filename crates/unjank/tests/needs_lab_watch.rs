//! `unjank watch` goes on when the clock of a virtual phone is set back, and when it is suspended.
//!
//! Needs the same as `needs_lab.rs`.

mod phone;

use phone::{example, in_one_phone, lab};
use serde_json::Value;

#[test]
fn a_clock_that_is_set_back_and_a_suspended_phone_make_no_difference() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(1, &[example("suspend")], &["suspend unjank"]).remove(0);
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = |name: &str| {
        let found = ran.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {name}: {ran:?}")).to_owned()
    };
    for mark in ["start", "clock set back", "suspend"] {
        assert!(line(mark).contains("suspend was stopped by a signal"), "{ran:?}");
    }
    let suspended: u64 = line("suspended").trim_end_matches(" ms").parse().unwrap();
    assert!(suspended >= 1_000, "{ran:?}");
    // Newest first, though the clock says otherwise.
    let list: Vec<Value> = serde_json::from_str(&line("list")).unwrap();
    let days: Vec<&str> = list.iter().map(|it| &it["started_at"].as_str().unwrap()[..10]).collect();
    let [third, second, first] = days[..] else { panic!("{ran:?}") };
    assert!(third == second && second < first, "{days:?}");
    assert_eq!(line("end"), "exit status: 0, 0 instances left", "{ran:?}");
}
