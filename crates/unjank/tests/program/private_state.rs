//! unjank with a private state directory.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_host::{Root, process::pid};

use super::Program;

const INTERRUPT: i32 = 2;
const KILL: i32 = 9;
const NOBODY: u32 = 65_534;

/// A directory for unjank's state.
pub(crate) struct PrivateState(tempfile::TempDir);

impl PrivateState {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// The number of ledgers that sessions have left.
    pub(crate) fn ledgers(&self) -> usize {
        let entries = fs::read_dir(self.state_dir().join("threads")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "journal")).count()
    }

    pub(crate) fn rt(&self, arguments: &[&str]) -> Command {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["rt", arguments[0], "--state-dir"]).arg(self.state_dir());
        unjank.args(&arguments[1..]).stdin(Stdio::null());
        unjank
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.rt(arguments).output().unwrap()
    }

    /// Runs `rt exec` with a command that prints the id of a process, leaves it running, and ends
    /// when its standard input does. The input ends once unjank has reported the change of that
    /// process. Returns the output of unjank, and the id.
    pub(crate) fn exec_and_leave(&self, arguments: &[&str]) -> (Output, u32) {
        let mut command = self.rt(&[&["exec"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut unjank = command.spawn().unwrap();
        let (mut id, mut said) = (String::new(), String::new());
        BufReader::new(unjank.stdout.take().unwrap()).read_line(&mut id).unwrap();
        let left: u32 = id.trim().parse().unwrap();
        let mut talk = BufReader::new(unjank.stderr.take().unwrap());
        // Its name may still be that of the shell.
        while !said.contains(&format!(" (thread {left}): ")) {
            assert_ne!(talk.read_line(&mut said).unwrap(), 0, "{said}");
        }
        drop(unjank.stdin.take());
        talk.read_to_string(&mut said).unwrap();
        let output = unjank.wait_with_output().unwrap();
        (Output { stderr: said.into_bytes(), ..output }, left)
    }

    /// Runs `rt set` to its end.
    pub(crate) fn set(&self, program: &Program, arguments: &[&str]) -> Output {
        self.run(&[&["set", &program.id().to_string()], arguments].concat())
    }

    /// `unjank restore`.
    pub(crate) fn restore_all(&self) -> Output {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["restore", "--state-dir"]).arg(self.state_dir()).output().unwrap()
    }

    /// Starts `rt set --json`, which watches, and returns its output after the first pass.
    pub(crate) fn watch(
        &self,
        program: &Program,
        arguments: &[&str],
    ) -> (Child, BufReader<ChildStdout>) {
        let id = program.id().to_string();
        let mut command = self.rt(&[&["set", &id, "--json"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while line(&mut lines)["event"] != "walked" {}
        (child, lines)
    }
}

/// Ends a session, and returns the rest of its lines.
pub(crate) fn end(mut unjank: Child, mut lines: BufReader<ChildStdout>) -> String {
    send_signal(unjank.id(), INTERRUPT).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(unjank.wait().unwrap().code(), Some(0), "{rest}");
    rest
}

/// Kills a session and its keeper, so its changes are left.
pub(crate) fn kill_with_keeper(unjank: &mut Child) {
    let is_keeper = |&process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        name.trim_end() == "unjank-keeper"
    };
    let mut keepers = pid::children(&Root::system(), unjank.id()).into_iter().filter(is_keeper);
    send_signal(keepers.next().expect("it has a keeper"), KILL).unwrap();
    send_signal(unjank.id(), KILL).unwrap();
    unjank.wait().unwrap();
}

/// A place that belongs to nobody, with copies of unjank and of this test.
pub(crate) fn of_nobody() -> (PrivateState, Program, Vec<String>) {
    let place = PrivateState::new();
    // Other users may not be able to read the build directory.
    let copy = |from: &Path, name: &str| {
        let to = place.path().join(name);
        // `cp` makes the copy. If this process did, a child that another test starts meanwhile
        // could have the copy open for writing, and its execution would fail (ETXTBSY).
        assert!(Command::new("cp").arg(from).arg(&to).status().unwrap().success());
        to
    };
    let unjank = copy(unjank_needs::unjank!().as_ref(), "unjank");
    let program = copy(&std::env::current_exe().unwrap(), "program");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.state_dir()).unwrap();
    chown(place.state_dir(), Some(NOBODY), Some(NOBODY)).unwrap();
    let as_nobody = |executable: &Path| {
        let mut words: Vec<String> = ["setpriv", "--reuid=65534", "--regid=65534"]
            .into_iter()
            .chain(["--clear-groups", "--inh-caps=-all", "--bounding-set=-all"])
            .map(str::to_owned)
            .collect();
        words.push(executable.display().to_string());
        words
    };
    let started = Program::command(&program);
    let mut command = Command::new("setpriv");
    command.args(&as_nobody(&program)[1..]).args(started.get_args());
    command.envs(started.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let program = Program::begin(command, &["meas"]);
    let unjank = as_nobody(&unjank);
    (place, program, unjank)
}

/// One line of JSON.
pub(crate) fn line(lines: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it has ended");
    serde_json::from_str(&line).unwrap()
}
