//! The first Ctrl-C ends every probe soon, wherever it sleeps.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn ctrl_c_ends_a_sleep_of_hours() {
    for arguments in [
        &["jitter", "native", "--policy", "other", "--period", "9h", "--for", "90h"][..],
        &["launch", "ramp", "--gap", "9h"],
        &["launch", "bench", "--pause", "9h", "--load", "0", "--b", "with:sleep 9h"],
        &["ipc", "probe", "--pause", "9h", "--for", "90h"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_unjank"))
            .args(arguments)
            .arg("--no-store")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(1_500));
        signal("-INT", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
    }
}

#[test]
fn nohup_keeps_a_run_alive() {
    let child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_unjank"))
        .args(["lock", "probe", "--for", "3s", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(1));
    signal("-HUP", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!String::from_utf8(output.stdout).unwrap().contains("interrupted"));
}

fn signal(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}
