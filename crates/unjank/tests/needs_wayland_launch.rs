//! `unjank launch bench --ready window`, on a Wayland compositor without a screen.
//!
//! Needs weston with its demonstration programs (package weston). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod compositor;

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};

use compositor::Compositor;
use serde_json::Value;
use unjank_needs::printed::stderr;

/// A program that draws one window, without any other file than its buffer.
const CLIENT: &str = "weston-simple-shm";

fn bench(compositor: &Compositor, arguments: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command
        .args(["launch", "bench", "--b", "with:sleep 600", "--gap", "0", "--pairs", "2"])
        .args(["--ready", "window", "--no-store", "--json"])
        .args(arguments);
    compositor.show(&mut command);
    command
}

fn all_were_ready(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    for series in record["series"].as_array().unwrap() {
        assert_eq!((&series["n"], &series["missed"]), (&2.into(), &0.into()), "{series}");
    }
}

#[test]
fn the_first_window_of_a_program_ends_its_launch() {
    let Some(compositor) = Compositor::start() else { return };
    let sockets = tempfile::tempdir().unwrap();
    // By itself, through another process, and with a toolkit, decorations and fonts.
    let through = format!("{CLIENT} & wait");
    for command in [&[CLIENT][..], &["sh", "-c", &through], &["weston-flower"]] {
        let mut bench = bench(&compositor, &[&["--"], command].concat());
        all_were_ready(&bench.env("TMPDIR", sockets.path()).output().unwrap());
    }
    assert_eq!(fs::read_dir(sockets.path()).unwrap().count(), 0, "no socket is left");
}

#[test]
fn a_compositor_is_found_where_clients_look_for_it() {
    let Some(compositor) = Compositor::start() else { return };
    let place = compositor.place();
    fs::rename(place.join(Compositor::NAME), place.join("wayland-0")).unwrap();
    let mut bench = bench(&compositor, &["--", CLIENT]);
    all_were_ready(&bench.env_remove("WAYLAND_DISPLAY").output().unwrap());
}

#[test]
fn windows_of_others_and_connections_without_windows_do_not_count() {
    let Some(compositor) = Compositor::start() else { return };
    // Another program's window appears again and again while the launch's window is awaited.
    let script = format!("while true; do {CLIENT} & sleep 0.2; kill $!; done");
    let mut other = Command::new("sh");
    other.args(["-c", &script]);
    compositor.show(&mut other);
    let mut other = other.spawn().unwrap();
    // It asks what the compositor can do.
    let program = ["--timeout", "5s", "--", "sh", "-c", "weston-info && exec sleep 600"];
    let output = bench(&compositor, &program).output().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("was not ready (window) within 5.00 s"), "{said}");
}

#[test]
fn a_compositor_that_is_not_there_is_named() {
    let place = tempfile::tempdir().unwrap();
    // A socket that nobody listens on any more, as after a crash, and none.
    drop(UnixListener::bind(place.path().join("crashed")).unwrap());
    for name in ["crashed", "none"] {
        let output = Command::new(unjank_needs::unjank!())
            .args(["launch", "bench", "--b", "with:sleep 600", "--gap", "0", "--no-store"])
            .args(["--ready", "window", "--", "true"])
            .env("XDG_RUNTIME_DIR", place.path())
            .env("WAYLAND_DISPLAY", name)
            .env_remove("DISPLAY")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let path = place.path().join(name);
        let named = format!("the Wayland compositor at {} cannot be reached", path.display());
        assert!(stderr(&output).contains(&named), "{}", stderr(&output));
    }
    let output = Command::new(unjank_needs::unjank!())
        .args(["launch", "bench", "--no-store", "--ready", "window", "--", "true"])
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("DISPLAY")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("neither a Wayland compositor"));
}
