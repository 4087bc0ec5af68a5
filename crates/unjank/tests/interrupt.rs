//! The first Ctrl-C ends every probe soon, even while it sleeps.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use unjank_needs::wait::Process;

const SIGINT: u32 = 2;

/// Waits until the process has used no CPU time for 200 ms: it sleeps and checks for Ctrl-C only
/// now and then.
fn rests(process: Process) {
    process.until("it rests", || {
        let before = process.cpu_time();
        thread::sleep(Duration::from_millis(200));
        process.cpu_time() == before
    });
}

#[test]
fn ctrl_c_ends_a_sleep_of_hours() {
    for arguments in [
        &["jitter", "native", "--sched", "other", "--period", "9h", "--for", "90h"][..],
        &["launch", "ramp", "--gap", "9h"],
        &["launch", "bench", "--gap", "9h", "--load", "0", "--b", "with:sleep 9h"],
        &["ipc", "probe", "--gap", "9h", "--for", "90h"],
    ] {
        let mut child = Command::new(unjank_needs::unjank!())
            .args(arguments)
            .arg("--no-store")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Process(child.id());
        process.until_it_handles(SIGINT);
        rests(process);
        signal("-INT", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
    }
}

#[test]
fn nohup_keeps_a_run_alive() {
    let child = Command::new("nohup")
        .arg(unjank_needs::unjank!())
        .args(["lock", "probe", "--for", "3s", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = Process(child.id());
    process.until("nohup has become it", || process.command_line().contains("unjank\0lock\0"));
    process.until_it_handles(SIGINT);
    signal("-HUP", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!String::from_utf8(output.stdout).unwrap().contains("interrupted"));
}

fn signal(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}
