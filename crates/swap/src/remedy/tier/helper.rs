//! The processes of a tier, started by its supervisor: each may be killed without the others, and
//! one that waits for the device forever does not hold them up.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Stdio};
use std::str::FromStr;

use unjank_host::process::HelperCommand;
use unjank_host::{Error, Result};

use super::directory::TierDirectory;
use super::failure;

/// The task of a helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Serves the device.
    Serve,
    /// Takes the tier down if its supervisor is killed.
    Keep,
    /// Turns the swap area on.
    TurnOn,
    /// Turns it off.
    TurnOff,
}

impl Task {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Serve, "serve"),
        (Self::Keep, "keep"),
        (Self::TurnOn, "turn-on"),
        (Self::TurnOff, "turn-off"),
    ];

    fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(task, _)| *task == self);
        named.map_or("", |(_, name)| name)
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let named = Self::ALL.into_iter().find(|(_, name)| *name == text);
        named.map(|(task, _)| task).ok_or_else(|| format!("{text:?} is not a task"))
    }
}

/// Starts helpers.
#[derive(Debug, Clone)]
pub struct Helpers(HelperCommand);

/// A helper that runs.
#[derive(Debug)]
pub(super) struct Started {
    task: Task,
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Helpers {
    /// `command` gets the name of a task, the directory of all tiers and the name of the tier as
    /// further arguments, and calls [`run`](super::task::run).
    pub fn new(command: HelperCommand) -> Self {
        Self(command)
    }

    /// Starts a helper in a process group of its own: Ctrl-C does not reach it.
    pub(super) fn start(&self, task: Task, tier: &TierDirectory) -> Result<Started> {
        let words = [task.name().as_ref(), tier.all().as_os_str(), tier.name().as_ref()];
        let mut command = self.0.with_arguments::<&OsStr>(words);
        let failed = |error| Error::file("start", task.name(), error);
        let started = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(failed)?;
        let output = process.stdout.take().expect("it was asked for");
        Ok(Started { task, process, output: BufReader::new(output) })
    }
}

impl Started {
    /// Reads the answer; waits for it.
    ///
    /// # Errors
    /// The helper's, or that it was killed.
    pub(super) fn answer(&mut self) -> Result<()> {
        let mut answer = String::new();
        // At an error, as at the end of its output, there is no answer.
        let _no_answer_tells = self.output.read_line(&mut answer);
        failure::read(&answer, self.task.name())
    }

    /// The number of its process.
    pub(super) fn number(&self) -> u32 {
        self.process.id()
    }

    /// Whether it runs. Reaps it if not.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits for its end, which is near.
    pub(super) fn reap(mut self) {
        let _reaped = self.process.wait();
    }

    /// Kills it.
    pub(super) fn kill(mut self) {
        let _it_may_have_ended = self.process.kill();
        self.reap();
    }
}

/// Readable when it has answered.
impl AsFd for Started {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.output.get_ref().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_known_by_its_name() {
        for (task, name) in Task::ALL {
            assert_eq!((task.name(), name.parse::<Task>().unwrap()), (name, task));
        }
        assert!("other".parse::<Task>().is_err());
    }
}
