//! `unjank launch load` and `unjank launch ramp`: work of a known length.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod disturbed;
mod launching;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Output;

use disturbed::left_out;
use launching::{bench, unjank};
use serde_json::Value;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait::HANGS;

/// `launch load` of no work at all.
fn load(arguments: &[&str]) -> Output {
    let common = ["launch", "load", "0", "--basic", "0", "--rate", "1000"];
    unjank(&common).args(arguments).output().unwrap()
}

#[test]
fn the_load_app_says_when_it_is_on_screen() {
    let output = load(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("on screen: basic 0."), "{}", stdout(&output));
    assert!(stdout(&output).ends_with(" ms\n") && stderr(&output).is_empty());

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(HANGS)).unwrap();
    let mut app = unjank(&["launch", "load", "1ms", "--basic", "1ms", "--rate", "1000"]);
    app.args(["--threads", "3", "--ready", "notify"]).env("NOTIFY_SOCKET", &path);
    let output = app.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut datagram = [0; 64];
    let length = socket.recv(&mut datagram).unwrap();
    assert_eq!(datagram[..length].trim_ascii_end(), b"READY=1");
}

#[test]
fn each_launch_of_a_ramp_is_an_independent_start() {
    let arguments = ["launch", "ramp", "--cpus", "0", "-n", "5", "--gap", "1ms", "--work", "5ms"];
    let output = unjank(&arguments).args(["--json", "--no-store"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let series = &record["series"][0];
    assert_eq!(series["name"], "launch/ramp/time_to_full");
    let starts = series["repetitions"].as_array().unwrap();
    assert!(starts.iter().all(|start| start["n"] == 1), "{starts:#?}");
    let left_out = left_out(&record["warnings"].to_string());
    assert!(starts.len() + left_out >= 5, "{starts:#?} {}", record["warnings"]);
}

#[test]
fn the_load_app_calibrates_only_without_a_rate() {
    let output = unjank(&["launch", "load", "0", "--basic", "0"]).output().unwrap();
    assert!(stderr(&output).contains("calibrated: --rate "), "{}", stderr(&output));
}

#[test]
fn the_load_app_says_what_it_cannot_do() {
    let says = |arguments: &[&str]| {
        let output = load(arguments);
        (output.status.code(), stderr(&output).to_owned())
    };
    let (code, said) = says(&["--ready", "notify"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("NOTIFY_SOCKET is not set"), "{said}");
    assert_eq!(says(&["--threads", "0"]).0, Some(2));
    assert_eq!(says(&["--ready", "port:0"]).0, Some(2));
    assert_eq!(unjank(&["launch", "load", "-5ms"]).output().unwrap().status.code(), Some(2));
    let frequency = Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if !frequency.exists() {
        let output = unjank(&["launch", "load", "0", "--emulated-clock"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("no cpufreq files"), "{}", stderr(&output));
        let swept = bench(&["--load", "0", "--emulated-clock"]);
        assert_eq!(swept.status.code(), Some(3));
        let governed = bench(&["--a", "governor=performance", "--", "true"]);
        assert_eq!(governed.status.code(), Some(3));
    }
}
