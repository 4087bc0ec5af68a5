//! Kills clients and servers during calls: an error is reported, no process is left
//! behind, and no wait is endless. The test over binder runs in the virtual phone
//! (`needs_lab_ipc.rs`).

#[path = "../../ipc/examples/peer_death/kills.rs"]
mod kills;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kills::{KILL, Killed, Moment, child_of, wait};
use unjank_host::process::send_signal;

/// The number of kills over each transport.
const KILLS: u64 = 60;
/// The sleeps of a server before a kill: more than the calls of warm-up and priority checks.
const SLEEPS: u64 = 200;
/// The time from the start of a server to its first calls, or of some hundred calls.
const SPREAD: Duration = Duration::from_millis(60);

fn kill_many(transport: &str, sleeps: u64) -> Killed {
    let unjank = Path::new(unjank_needs::unjank!());
    kills::kill_many(unjank, transport, KILLS, Moment { sleeps, spread: SPREAD })
}

#[test]
fn over_a_unix_socket() {
    assert_ne!(kill_many("unix", SLEEPS).during_calls, 0);
}

#[test]
fn over_pipes() {
    assert_ne!(kill_many("pipe", SLEEPS).during_calls, 0);
}

#[test]
fn over_futexes() {
    assert_ne!(kill_many("futex", SLEEPS).during_calls, 0);
}

#[test]
fn over_a_pi_channel() {
    // Its server may spin between calls, so its sleeps do not show them.
    kill_many("pi", 0);
}

#[test]
fn schd_dbg_fails_if_one_of_its_pairs_does() {
    let command = Command::new(unjank_needs::unjank!())
        .args(["schd-dbg", "-transport", "pi", "-pair", "2", "-i", "60000", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    let client = child_of(command.id(), "caller").expect("it has two clients");
    // At any moment.
    send_signal(client, KILL).expect("it runs");
    let (code, output) = wait(command, "a killed client");
    assert_eq!(code, Some(1), "{output}");
    let fails = |pair: usize| {
        output.contains(&format!("pair {pair} over pi failed: its client process died"))
            && output.contains(&format!("\"P{}\":", 1 - pair))
    };
    assert!(fails(0) || fails(1), "{output}");
}
