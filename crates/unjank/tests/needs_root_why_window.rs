//! `unjank why --ready window` explains a program up to its first window, on an X display without a
//! screen.
//!
//! Needs root, Xvfb and xclock (packages xvfb and x11-apps). Fails without them when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod display;
mod known;

use std::process::{Command, Output};

use display::Display;
use known::explained::rows;
use serde_json::Value;
use unjank_needs::attempts::until_ok;

fn why(display: &str, arguments: &[&str]) -> Output {
    Command::new(unjank_needs::unjank!())
        .args(["why", "--no-store", "--json", "--ready", "window"])
        .args(arguments)
        .env("DISPLAY", display)
        .output()
        .unwrap()
}

fn explained(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that the path of a launch ends with xclock: that its last step is one of xclock's.
///
/// # Errors
/// The recording lacks the step.
fn leads_to_xclock(record: &Value) -> Result<(), String> {
    let warnings = record["warnings"].to_string();
    if warnings.contains("does not show what made the program ready") {
        return Err(warnings);
    }
    let last = rows(record, "why/path").last().unwrap();
    let is_own = last.to_string().contains("xclock");
    is_own.then_some(()).ok_or_else(|| format!("the path ends with {last}"))
}

#[test]
fn a_program_is_explained_up_to_its_first_window() {
    if !unjank_needs::root() {
        return;
    }
    let Some(display) = Display::start() else { return };
    until_ok(|| {
        let record = explained(&why(&display.name, &["--", "xclock"]));
        assert_eq!(record["settings"]["ready"], "window");
        leads_to_xclock(&record)
    });
}

#[test]
fn a_window_of_a_child_leads_to_the_child() {
    if !unjank_needs::root() {
        return;
    }
    let Some(display) = Display::start() else { return };
    until_ok(|| {
        let script = ["--", "sh", "-c", "xclock & wait"];
        leads_to_xclock(&explained(&why(&display.name, &script)))
    });
}

#[test]
fn a_program_without_a_window_is_not_ready() {
    if !unjank_needs::root() {
        return;
    }
    let Some(display) = Display::start() else { return };
    let output = why(&display.name, &["--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("true ended before it was ready"), "{said}");
}
