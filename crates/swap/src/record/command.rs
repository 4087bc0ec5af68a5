//! The recorded command.

use std::io;
use std::process::{Command, ExitStatus};

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::journal::Session;
use unjank_host::process::group::ProcessGroup;
use unjank_host::{Error, Nanos, Result, Root, Support};

use super::Options;
use super::counters::{Growth, of_group};

/// The time that a program gets to end after it was asked to.
const GRACE: Nanos = Nanos::from_millis(5_000);

/// The program to record, or none.
pub(super) struct Program {
    command: Option<Command>,
    /// Dropped before `group`, which its processes are in.
    running: Option<ProcessGroup>,
    group: Option<MemoryGroup>,
}

/// How the program ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// `None` without a program, or if the end of the recording ended it.
    pub(super) status: Option<ExitStatus>,
    /// The counters of the program's own control group, if it had one.
    pub(super) growth: Option<Growth>,
}

impl Program {
    /// Prepares the command and its control group; `No` if its memory cannot be limited.
    pub(super) fn prepare(
        options: &Options,
        root: &Root,
        session: Option<&Session>,
    ) -> Result<Support<Self>> {
        let none = Self { command: None, running: None, group: None };
        let [name, arguments @ ..] = options.command.as_slice() else {
            return Ok(Support::Yes(none));
        };
        let mut command = Command::new(name);
        // stdout is for the report.
        command.args(arguments).stdout(io::stderr());
        let group = match (options.memory_limit, session) {
            (Some(limit), Some(session)) => match MemoryGroup::make(session, root, limit)? {
                Support::Yes(group) => {
                    group.enter(&mut command)?;
                    Some(group)
                }
                Support::No(reason) => return Ok(Support::No(reason)),
            },
            _ => None,
        };
        Ok(Support::Yes(Self { command: Some(command), group, ..none }))
    }

    pub(super) fn start(&mut self) -> Result<()> {
        let Some(command) = &mut self.command else { return Ok(()) };
        let name = command.get_program().to_owned();
        self.running = Some(ProcessGroup::start(command).map_err(|error| match error {
            Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::Invalid(format!("command not found: {}", name.display()))
            }
            error => error,
        })?);
        Ok(())
    }

    /// The number of the program's first process, once it is started.
    pub(super) fn process(&self) -> Option<u32> {
        self.running.as_ref().map(ProcessGroup::id)
    }

    /// Whether the program runs in a control group of its own.
    pub(super) fn has_own_group(&self) -> bool {
        self.group.is_some()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.is_alive())
    }

    /// Ends all processes of the program that still run.
    pub(super) fn end(mut self) -> Result<Ended> {
        let by_itself = self.has_ended();
        let growth = match &self.group {
            Some(group) => Some(of_group(&group.counters()?)),
            None => None,
        };
        let status = self.running.as_mut().and_then(|running| running.end(GRACE).status);
        Ok(Ended { status: status.filter(|_| by_itself), growth })
    }
}
