//! Kills a client or a server of `unjank ipc latency` with SIGKILL, again and
//! again. Checks that an error is reported, that the failed pair is counted, that
//! no process is left behind, and that no wait is endless.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use unjank_host::process::send_signal;

/// The time after which a process counts as hung: longer than the watches over
/// calls and clients wait.
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

/// Kills over one transport.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    /// Client processes.
    pub(crate) clients: u64,
    /// Server processes.
    pub(crate) servers: u64,
    /// Servers killed between the first and the last call of their pair.
    pub(crate) during_calls: u64,
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, servers, during_calls } = self;
        write!(
            f,
            "{} killed: {clients} clients, {servers} servers ({during_calls} during calls that \
             count); each was reported, and no process was left behind",
            clients + servers
        )
    }
}

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// In every other round, how often the server has slept before. In the other
    /// rounds its process has just been started. A server sleeps before each
    /// call, unless it spins.
    pub(crate) sleeps: u64,
    /// The longest time after that; the actual one is random.
    pub(crate) spread: Duration,
}

/// Kills `kills` clients or servers over a transport.
///
/// # Panics
/// One of the checks above failed.
pub(crate) fn kill_many(unjank: &Path, transport: &str, kills: u64, moment: Moment) -> Killed {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut killed = Killed::default();
    for round in 0..kills {
        let command = latency(unjank, transport);
        let started = child_of(command.id(), "caller")
            .and_then(|client| Some((client, child_of(client, "{\"serve\"")?)));
        let Some((client, server)) = started else {
            let (code, output) = wait(command, transport);
            panic!("{transport}, {round} kills: it did not start its pair ({code:?}): {output}");
        };
        if round % 2 == 0 && !has_slept(server, moment.sleeps) {
            let (code, output) = wait(command, transport);
            panic!("{transport}, {round} kills: its server serves no calls ({code:?}): {output}");
        }
        let micros = u64::try_from(moment.spread.as_micros()).unwrap_or(u64::MAX);
        thread::sleep(Duration::from_micros(random.below(micros.max(1))));
        let all: Vec<u32> = children(command.id()).into_iter().chain([server]).collect();
        let (victim, name, count) = match random.below(2) {
            0 => (client, "client", &mut killed.clients),
            _ => (server, "server", &mut killed.servers),
        };
        *count += 1;
        // Fails if the process has ended meanwhile.
        let _ended = send_signal(victim, KILL);
        let what = format!("{transport}, kill {round} of a {name}");
        let (code, output) = wait(command, &what);
        assert_eq!(code, Some(1), "{what}: {output}");
        let counted = format!("ipc/{transport}/failed_pairs");
        assert!(output.contains(&counted), "{what}: {output}");
        let during_calls = output.contains(" ended early: ");
        assert!(during_calls || output.contains(" failed: "), "{what}: {output}");
        killed.during_calls += u64::from(during_calls);
        let start = Instant::now();
        while all.iter().copied().any(is_alive) {
            assert!(start.elapsed() < TOO_LONG, "{what}: a process is left behind");
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

/// Waits for a child of a process with `argument` on its command line; `None` if
/// the process ends before, or takes too long.
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

/// Waits until a process has slept `times` times; false if it ends before.
fn has_slept(process: u32, times: u64) -> bool {
    const FIELD: &str = "voluntary_ctxt_switches:";
    let start = Instant::now();
    loop {
        // Checked first: its status stays readable until it is reaped.
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

/// Whether a process is alive; a zombie is not.
fn is_alive(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

/// The exit code of a process, and its output.
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
