//! A running `unjank watch`, and stutters for it.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use unjank_needs::attempts::until_ok;
use unjank_needs::printed::{stderr, stdout};

pub(super) const SIGSTOP: &str = "-STOP";
pub(super) const SIGCONT: &str = "-CONT";

/// A running service, and where it keeps incidents.
pub(super) struct Service {
    directory: TempDir,
    pub(super) child: Child,
    said: BufReader<ChildStderr>,
}

impl Service {
    /// `None` if nothing can be recorded here.
    pub(super) fn start(options: &[&str]) -> Option<Self> {
        Self::start_in(Path::new(env!("CARGO_TARGET_TMPDIR")), options)
    }

    /// As `start`, with all files in a directory of `parent`.
    pub(super) fn start_in(parent: &Path, options: &[&str]) -> Option<Self> {
        Self::start_by(Command::new(unjank_needs::unjank!()), parent, options)
    }

    /// As `start`, in a mount namespace of its own.
    pub(super) fn start_apart(options: &[&str]) -> Option<Self> {
        let mut apart = Command::new("unshare");
        apart.args(["--mount", "--propagation", "private", unjank_needs::unjank!()]);
        Self::start_by(apart, Path::new(env!("CARGO_TARGET_TMPDIR")), options)
    }

    /// `program` becomes the program under test.
    pub(super) fn start_by(mut program: Command, parent: &Path, options: &[&str]) -> Option<Self> {
        if !unjank_needs::tracefs() {
            return None;
        }
        let directory = tempfile::tempdir_in(parent).unwrap();
        let quiet = ["--cpu-pressure", "0", "--memory-pressure", "0", "--io-pressure", "0"];
        let mut child = program
            .arg("watch")
            .arg("--socket")
            .arg(directory.path().join("watch.sock"))
            .arg("--store")
            .arg(directory.path().join("watch.sqlite"))
            .arg("--state-dir")
            .arg(directory.path().join("journal"))
            .args(quiet)
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        if !line.starts_with("watching; control socket ") {
            said.read_to_string(&mut line).unwrap();
            panic!("{line}");
        }
        Some(Self { directory, child, said })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn asked(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(arguments).arg("--socket").arg(self.path("watch.sock")).output().unwrap()
    }

    pub(super) fn mark(&self) -> String {
        self.marked(&["mark"])
    }

    /// A mark about one process: on a busy machine, others are held up for longer.
    pub(super) fn mark_process(&self, process: u32) -> String {
        self.marked(&["mark", "--process", &process.to_string()])
    }

    fn marked(&self, arguments: &[&str]) -> String {
        let output = self.asked(arguments);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{}", stderr(&output));
        stdout(&output).to_owned()
    }

    pub(super) fn status(&self) -> Value {
        let output = self.asked(&["watch", "status", "--json"]);
        serde_json::from_str(stdout(&output)).unwrap()
    }

    pub(super) fn incidents(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(unjank_needs::unjank!());
        command.arg("incidents").args(arguments);
        command.arg("--store").arg(self.path("watch.sqlite")).output().unwrap()
    }

    pub(super) fn listed(&self) -> Vec<Value> {
        let output = self.incidents(&["list", "--json"]);
        serde_json::from_str(stdout(&output)).unwrap()
    }

    /// Ends it by a signal. Returns whether that was a success, and what it said.
    pub(super) fn end(mut self, signal: &str) -> (bool, String) {
        send(signal, self.child.id());
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().success(), said)
    }
}

impl Drop for Service {
    /// After a failed assertion, too.
    fn drop(&mut self) {
        let _ends_anyway = self.child.kill();
        let _ends_anyway = self.child.wait();
    }
}

/// The trace instances of a process.
pub(super) fn instances(process: u32) -> Vec<String> {
    let names = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(&format!("-{process}-"))).collect()
}

pub(super) fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A program that is killed in the end, after a failed assertion, too.
pub(super) struct Killed(pub(super) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ends_anyway = self.0.kill();
        let _ends_anyway = self.0.wait();
    }
}

/// A server that answers each line, and a client that waits for the answers: `cat`.
pub(super) struct Pair(pub(super) Killed);

impl Pair {
    pub(super) fn new() -> Self {
        let mut cat = Command::new("cat");
        Self(Killed(cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()))
    }

    pub(super) fn call(&mut self) {
        let mut answer = [0; 2];
        self.0.0.stdin.as_mut().unwrap().write_all(b"a\n").unwrap();
        self.0.0.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    }
}

/// The cause of a [`stall`] of this process.
pub(super) const STALLED: &str = "cat was stopped by a signal";

/// What a mark about this process says after a stall. If the recording lacks a switch, it has
/// another cause.
pub(super) fn stall_and_mark(service: &Service, pair: &mut Pair) -> String {
    until_ok(|| {
        stall(pair);
        let found = service.mark_process(std::process::id());
        if found.contains(&format!(": {STALLED}")) { Ok(found) } else { Err(found) }
    })
}

/// A call to a server that a signal stops for two seconds.
pub(super) fn stall(pair: &mut Pair) {
    let server = pair.0.0.id();
    pair.call();
    send(SIGSTOP, server);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            send(SIGCONT, server);
        });
        pair.call();
    });
}
