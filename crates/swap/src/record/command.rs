//! The program that is recorded.

use std::io;
use std::process::{Command, ExitStatus};

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::journal::Session;
use unjank_host::process::group::ProcessGroup;
use unjank_host::{Error, Nanos, Result, Root, Support};

use super::Options;
use super::counters::{Growth, of_group};

/// How long a program that is asked to end is given for it.
const PATIENCE: Nanos = Nanos::from_millis(5_000);

/// The program, before, while and after it runs; or none.
pub(super) struct Program {
    command: Option<Command>,
    /// Gone after the processes that it holds.
    running: Option<ProcessGroup>,
    group: Option<MemoryGroup>,
}

/// How it ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// `None` without a program, or if it ended only because the recording did.
    pub(super) status: Option<ExitStatus>,
    /// What was counted for its control group, if it had one of its own.
    pub(super) growth: Option<Growth>,
}

impl Program {
    /// Makes everything ready; `No` if its memory cannot be limited.
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
        // Standard output is for the report.
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
                Error::Invalid(format!("there is no command {}", name.display()))
            }
            error => error,
        })?);
        Ok(())
    }

    /// The number of its first process, once it was started.
    pub(super) fn process(&self) -> Option<u32> {
        self.running.as_ref().map(ProcessGroup::id)
    }

    /// Whether it runs in a control group that no other process is in.
    pub(super) fn has_own_group(&self) -> bool {
        self.group.is_some()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.is_alive())
    }

    /// Ends what still runs of it.
    pub(super) fn end(mut self) -> Result<Ended> {
        let by_itself = self.has_ended();
        let growth = match &self.group {
            Some(group) => Some(of_group(&group.counters()?)),
            None => None,
        };
        let status = self.running.as_mut().and_then(|running| running.end(PATIENCE));
        Ok(Ended { status: status.filter(|_| by_itself), growth })
    }
}
