//! A directory that stands for a machine, and unjank on it.
// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A tree with some knobs in `/sys`, and a state directory beside it.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new(knobs: &[(&str, &str)]) -> Self {
        let machine = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(machine.root().join("sys")).unwrap();
        for (knob, value) in knobs {
            machine.write(knob, value);
        }
        machine
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("machine")
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn write(&self, knob: &str, value: &str) {
        fs::write(self.root().join("sys").join(knob), format!("{value}\n")).unwrap();
    }

    pub(crate) fn read(&self, knob: &str) -> String {
        fs::read_to_string(self.root().join("sys").join(knob)).unwrap().trim_end().to_owned()
    }

    pub(crate) fn journals(&self) -> usize {
        self.journal_files().len()
    }

    pub(crate) fn journal_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state_dir()).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
    }

    /// `unjank VERB` on this machine; further arguments can be added.
    pub(crate) fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(unjank_needs::unjank!());
        command.arg(verb).arg("--root").arg(self.root()).arg("--state-dir").arg(self.state_dir());
        command
    }

    pub(crate) fn run(&self, verb: &str, arguments: &[&str]) -> Output {
        self.command(verb).args(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts `unjank with` and a command that prints `ready`. The command ends with code 0 at
    /// the end of its stdin, or after SIGTERM or SIGINT, whose name it prints.
    pub(crate) fn hold(&self, knobs: &[&str]) -> Child {
        let script = "trap 'echo term; exit 9' TERM; trap 'echo int; exit 8' INT; \
                      echo ready; read nothing; exit 0";
        let mut child = self
            .command("with")
            .args(knobs)
            .args(["--", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert_eq!(&ready, b"ready\n");
        child
    }
}
