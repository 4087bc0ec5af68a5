//! A client or a server that is killed in the middle of a call: an error that
//! is told, nobody left behind, and no wait without an end.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Kills over each transport.
const KILLS: u64 = 200;
/// The watch over calls gives up after five seconds, and its owner after
/// fifteen.
const TOO_LONG: Duration = Duration::from_secs(40);

/// The same numbers for the same seed: Marsaglia, *Xorshift RNGs* (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn latency(transport: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_unjank"))
        .args(["ipc", "latency", "--transport", transport, "--caller", "warm"])
        .args(["--iterations", "1000000000", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs")
}

/// The first child of a process, as soon as it has one.
fn child_of(process: u32) -> u32 {
    let children = format!("/proc/{process}/task/{process}/children");
    let start = Instant::now();
    while start.elapsed() < TOO_LONG {
        let text = fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = text.split_whitespace().next() {
            return child.parse().expect("a process number");
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("process {process} has started nobody");
}

fn kill(process: u32) {
    // One that has ended meanwhile needs no signal.
    let _ended = Command::new("kill").args(["-KILL", &process.to_string()]).output();
}

/// Whether a process runs on; one that only waits to be reaped does not.
fn is_alive(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

fn wait(mut child: Child, what: &str) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().expect("it was started here").is_none() {
        if start.elapsed() > TOO_LONG {
            child.kill().expect("it was started here");
            panic!("{what}: no end");
        }
        thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("it was started here");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn kill_many(transport: &str) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..KILLS {
        let command = latency(transport);
        let client = child_of(command.id());
        let server = child_of(client);
        thread::sleep(Duration::from_micros(random.below(60_000)));
        let (victim, name) =
            if random.below(2) == 0 { (client, "client") } else { (server, "server") };
        kill(victim);
        let what = format!("{transport}, kill {round} of a {name}");
        let (code, told) = wait(command, &what);
        assert_eq!(code, Some(1), "{what}: {told}");
        let counted = format!("ipc/{transport}/failed_pairs");
        assert!(told.contains(&counted), "{what}: {told}");
        assert!(told.contains(" failed: ") || told.contains(" ended early: "), "{what}: {told}");
        let start = Instant::now();
        while [client, server].into_iter().any(is_alive) {
            assert!(start.elapsed() < Duration::from_secs(5), "{what}: somebody is left behind");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn over_a_unix_socket() {
    kill_many("unix");
}

#[test]
fn over_pipes() {
    kill_many("pipe");
}

#[test]
fn over_futexes() {
    kill_many("futex");
}

#[test]
fn over_a_pi_channel() {
    kill_many("pi");
}

#[test]
fn schd_dbg_does_not_pass_on_half_of_its_pairs() {
    let command = Command::new(env!("CARGO_BIN_EXE_unjank"))
        .args(["schd-dbg", "-transport", "pi", "-pair", "2", "-i", "60000", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    let client = child_of(command.id());
    thread::sleep(Duration::from_millis(100));
    kill(client);
    let (code, told) = wait(command, "a killed client");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("pair 0 over pi failed: its client process died"), "{told}");
    assert!(told.contains("\"P1\":"), "{told}");
}
