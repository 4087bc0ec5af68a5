//! A program that waits badly, and its diagnosis by the doctor.

// Each test uses only a part of this.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use unjank_host::sched::NiceGuard;
use unjank_host::{Nanos, Root};
use unjank_lock::doctor::{self, DiagnosisKind, Examined, Options};
use unjank_measure::Silent;

pub(crate) const SECOND: Nanos = Nanos::from_millis(1_000);

/// `examples/waits.rs` as a process; killed when dropped.
pub(crate) struct Victim(Child);

impl Victim {
    /// Starts it and waits until it runs.
    pub(crate) fn start(way: &str) -> Self {
        Self::of(Command::new(example()).arg(way))
    }

    /// Starts any program that prints `ready` when it runs.
    pub(crate) fn of(command: &mut Command) -> Self {
        // Where root runs the tests, other programs do not keep it from waiting badly.
        let first = NiceGuard::new(-15).ok();
        let child = command.stdout(Stdio::piped()).spawn();
        drop(first);
        let mut child = child.expect("cargo builds examples with the tests");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        let victim = Self(child);
        BufReader::new(stdout).read_line(&mut line).expect("it says when it runs");
        assert_eq!(line, "ready\n", "{command:?}");
        victim
    }

    /// Watches it.
    pub(crate) fn examine(&self, duration: Nanos) -> Examined {
        examine(self.id(), false, duration)
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

/// Watches a process, or its whole tree.
pub(crate) fn examine(process: u32, tree: bool, duration: Nanos) -> Examined {
    let options = Options { process, tree, duration, top: 20 };
    doctor::run(&options, &Root::system(), 7, &Silent).expect("it is there")
}

/// Watches a process, or its whole tree, until the result is as expected, for longer each time: on a
/// busy machine a program does little in a second.
#[track_caller]
pub(crate) fn look_at(process: u32, tree: bool, expected: impl Fn(&Examined) -> bool) -> Examined {
    let mut examined = examine(process, tree, SECOND);
    for times in [2, 4, 8, 16] {
        if expected(&examined) {
            break;
        }
        examined = examine(process, tree, SECOND.times(times));
    }
    assert!(expected(&examined), "{:#?}\n{:#?}", examined.findings.verdicts, examined.reports);
    examined
}

/// The diagnoses of each thread of this name.
pub(crate) fn kinds(examined: &Examined, name: &str) -> Vec<Vec<DiagnosisKind>> {
    let named = examined.reports.iter().filter(|it| it.observed.name == name);
    named.map(|it| it.diagnoses.iter().map(|it| it.kind).collect()).collect()
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Beside the directory of the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/debug/deps");
    target.join("examples/waits")
}
