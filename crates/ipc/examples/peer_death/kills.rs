//! Ends a client or a server of `unjank ipc latency` with SIGKILL, again and
//! again, and looks what becomes of the rest: an error that is told, a failed
//! pair that is counted, nobody left behind, and no wait without an end.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use unjank_host::process::send_signal;

/// What takes longer hangs: longer than the watch over calls has patience, and
/// its owner.
const TOO_LONG: Duration = Duration::from_secs(1_200);
/// `SIGKILL` of `signal(7)`.
pub(crate) const KILL: i32 = 9;

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

/// What was killed, over one transport.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    /// Client processes.
    pub(crate) clients: u64,
    /// Server processes.
    pub(crate) servers: u64,
    /// Servers whose pair had calls to report: they were killed between its
    /// first call and its last one.
    pub(crate) during_calls: u64,
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, servers, during_calls } = self;
        write!(
            f,
            "{} killed: {clients} clients, {servers} servers ({during_calls} during calls that \
             count); each was told, and nobody was left behind",
            clients + servers
        )
    }
}

/// When somebody is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// How often the server has slept before: every other time; the other
    /// times its process has just been started. A server sleeps before each
    /// call, unless it spins.
    pub(crate) sleeps: u64,
    /// At most so long after that, drawn by chance.
    pub(crate) spread: Duration,
}

/// Kills `kills` clients or servers over a transport.
///
/// # Panics
/// One of the promises above was not kept.
pub(crate) fn kill_many(unjank: &Path, transport: &str, kills: u64, moment: Moment) -> Killed {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut killed = Killed::default();
    for round in 0..kills {
        let command = latency(unjank, transport);
        let started = child_of(command.id(), "caller")
            .and_then(|client| Some((client, child_of(client, "{\"serve\"")?)));
        let Some((client, server)) = started else {
            let (code, told) = wait(command, transport);
            panic!("{transport}, {round} kills: it did not start its pair ({code:?}): {told}");
        };
        if round % 2 == 0 && !has_slept(server, moment.sleeps) {
            let (code, told) = wait(command, transport);
            panic!("{transport}, {round} kills: its server serves no calls ({code:?}): {told}");
        }
        let micros = u64::try_from(moment.spread.as_micros()).unwrap_or(u64::MAX);
        thread::sleep(Duration::from_micros(random.below(micros.max(1))));
        let all: Vec<u32> = children(command.id()).into_iter().chain([server]).collect();
        let (victim, name, count) = match random.below(2) {
            0 => (client, "client", &mut killed.clients),
            _ => (server, "server", &mut killed.servers),
        };
        *count += 1;
        // One that has ended meanwhile needs no signal.
        let _ended = send_signal(victim, KILL);
        let what = format!("{transport}, kill {round} of a {name}");
        let (code, told) = wait(command, &what);
        assert_eq!(code, Some(1), "{what}: {told}");
        let counted = format!("ipc/{transport}/failed_pairs");
        assert!(told.contains(&counted), "{what}: {told}");
        let during_calls = told.contains(" ended early: ");
        assert!(during_calls || told.contains(" failed: "), "{what}: {told}");
        killed.during_calls += u64::from(during_calls);
        let start = Instant::now();
        while all.iter().copied().any(is_alive) {
            assert!(start.elapsed() < TOO_LONG, "{what}: somebody is left behind");
            thread::sleep(Duration::from_millis(1));
        }
    }
    killed
}

fn latency(unjank: &Path, transport: &str) -> Child {
    Command::new(unjank)
        .args(["ipc", "latency", "--transport", transport, "--caller", "warm"])
        .args(["--count", "1000000000", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs")
}

/// The children of a process's first thread.
fn children(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    list.unwrap_or_default().split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// The child of a process with `argument` on its command line, as soon as it
/// has one; `None` if it ends without, or takes too long.
pub(crate) fn child_of(process: u32, argument: &str) -> Option<u32> {
    let has_it = |child: &u32| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word.starts_with(argument.as_bytes()))
    };
    let start = Instant::now();
    while start.elapsed() < TOO_LONG && is_alive(process) {
        if let Some(child) = children(process).into_iter().find(has_it) {
            return Some(child);
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Waits until a process has slept so often; false if it ends before that.
fn has_slept(process: u32, times: u64) -> bool {
    const FIELD: &str = "voluntary_ctxt_switches:";
    let start = Instant::now();
    loop {
        // Asked first: its status stays until it is reaped.
        let more_to_come = is_alive(process);
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = status.lines().find_map(|line| line.strip_prefix(FIELD));
        if field.and_then(|field| field.trim().parse::<u64>().ok()) >= Some(times) {
            return true;
        }
        if !more_to_come {
            return false;
        }
        assert!(start.elapsed() < TOO_LONG, "process {process} serves no calls");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process runs on; one that only waits to be reaped does not.
fn is_alive(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

/// The exit code of a process, and what it has printed.
///
/// # Panics
/// It does not end.
pub(crate) fn wait(mut child: Child, what: &str) -> (Option<i32>, String) {
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
