//! `unjank launch bench --ready window`, on an X display without a screen.
//!
//! Needs Xvfb and xclock (packages xvfb and x11-apps). Fails without them when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod display;

use std::process::{Command, Output};

use display::Display;
use serde_json::Value;
use unjank_needs::printed::stderr;

fn bench(display: &Display, arguments: &[&str]) -> Output {
    let mut command = Command::new(unjank_needs::unjank!());
    command
        .args(["launch", "bench", "--b", "with:sleep 600", "--gap", "0", "--pairs", "2"])
        .args(["--ready", "window", "--no-store", "--json"])
        .args(arguments);
    display.show(&mut command);
    command.output().unwrap()
}

#[test]
fn the_first_window_of_a_program_ends_its_launch() {
    let Some(display) = Display::start() else { return };
    // By itself, and through another process.
    for command in [&["xclock"][..], &["sh", "-c", "xclock & wait"]] {
        let output = bench(&display, &[&["--"], command].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        for series in record["series"].as_array().unwrap() {
            assert_eq!((&series["n"], &series["missed"]), (&2.into(), &0.into()), "{series}");
        }
    }
}

#[test]
fn windows_of_others_do_not_count() {
    let Some(display) = Display::start() else { return };
    // Another program's window appears again and again while the launch's window is awaited.
    let script = "while true; do xclock & sleep 0.2; kill $!; done";
    let mut other = Command::new("sh");
    display.show(other.args(["-c", script]));
    let mut other = other.spawn().unwrap();
    let output = bench(&display, &["--timeout", "5s", "--", "sleep", "600"]);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("was not ready (window) within 5.00 s"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_display_that_is_not_there_is_named() {
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--b", "with:sleep 600", "--gap", "0", "--no-store"])
        .args(["--ready", "window", "--", "true"])
        .env("DISPLAY", ":4711")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the X display :4711 cannot be watched"),
        "{}",
        stderr(&output)
    );
}
