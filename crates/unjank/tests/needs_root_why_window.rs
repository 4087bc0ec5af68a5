//! `unjank why --ready window` explains a program up to its first window, on displays without a
//! screen.
//!
//! Needs root, Xvfb, xclock and weston (packages xvfb, x11-apps and weston). Fails without them when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod compositor;
mod display;
mod known;

use std::process::{Command, Output};

use compositor::Compositor;
use display::Display;
use known::explained::rows;
use serde_json::Value;
use unjank_needs::attempts::until_ok;

fn why(show: impl FnOnce(&mut Command), arguments: &[&str]) -> Output {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["why", "--no-store", "--json", "--ready", "window"]).args(arguments);
    show(&mut command);
    command.output().unwrap()
}

fn explained(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that the path of a launch ends with this program: that its last step is one of its own.
///
/// # Errors
/// The recording lacks the step.
fn leads_to(program: &str, record: &Value) -> Result<(), String> {
    let warnings = record["warnings"].to_string();
    if warnings.contains("does not show what made the program ready") {
        return Err(warnings);
    }
    let last = rows(record, "why/path").last().unwrap();
    let is_own = last.to_string().contains(program);
    is_own.then_some(()).ok_or_else(|| format!("the path ends with {last}"))
}

#[test]
fn a_program_is_explained_up_to_its_first_window() {
    if !unjank_needs::root() {
        return;
    }
    let Some(display) = Display::start() else { return };
    until_ok(|| {
        let record = explained(&why(|it| display.show(it), &["--", "xclock"]));
        assert_eq!(record["settings"]["ready"], "window");
        leads_to("xclock", &record)
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
        leads_to("xclock", &explained(&why(|it| display.show(it), &script)))
    });
}

#[test]
fn a_program_without_a_window_is_not_ready() {
    if !unjank_needs::root() {
        return;
    }
    let Some(display) = Display::start() else { return };
    let output = why(|it| display.show(it), &["--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("true ended before it was ready"), "{said}");
}

#[test]
fn a_window_on_wayland_leads_to_its_program() {
    if !unjank_needs::root() {
        return;
    }
    let Some(compositor) = Compositor::start() else { return };
    until_ok(|| {
        let record = explained(&why(|it| compositor.show(it), &["--", "weston-simple-shm"]));
        leads_to("weston-simple-s", &record)
    });
}
