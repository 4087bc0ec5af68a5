//! The command that starts a helper process.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use crate::error::{Error, Result};

/// The command that starts a helper process: a [`peer`](super::peer), or a
/// [`keeper`](crate::keeper). The program must know its part by the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl HelperCommand {
    /// A program and its first arguments.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments }
    }

    /// The running program, even if its file has been replaced.
    pub fn this_program<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::new("/proc/self/exe", arguments)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Starts a helper with these arguments alone.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Starts a helper with these arguments and more.
    pub fn with_arguments<A: AsRef<OsStr>>(&self, more: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command();
        command.args(more);
        command
    }

    /// Starts a peer that gets its task through its input.
    pub fn without_task(&self) -> Command {
        let mut command = self.command();
        command.arg(std::process::id().to_string());
        command
    }

    /// Starts a peer whose task, as JSON, is the argument before the last.
    ///
    /// # Errors
    /// `Invalid` if the task has no JSON form.
    pub fn with_task(&self, task: &impl Serialize) -> Result<Command> {
        let task = serde_json::to_string(task)
            .map_err(|error| Error::Invalid(format!("a task has no JSON form: {error}")))?;
        let mut command = self.command();
        command.args([task, std::process::id().to_string()]);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_last_argument_and_a_task_stands_before_it() {
        let peer = HelperCommand::new("/bin/peer", ["lock", "peer"]);
        let arguments = |command: &Command| -> Vec<String> {
            command.get_args().map(|argument| argument.to_str().unwrap().to_owned()).collect()
        };
        let parent = std::process::id().to_string();
        assert_eq!(arguments(&peer.command()), ["lock", "peer"]);
        assert_eq!(arguments(&peer.without_task()), ["lock", "peer", &parent]);
        let command = peer.with_task(&[1, 2]).unwrap();
        assert_eq!(arguments(&command), ["lock", "peer", "[1,2]", &parent]);
        assert_eq!(command.get_program(), "/bin/peer");
    }
}
