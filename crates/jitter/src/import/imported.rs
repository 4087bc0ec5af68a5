//! What was read of another tool.

use std::borrow::Cow;

use jiff::Timestamp as Date;
use unjank_host::machine::Machine;
use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

use super::document::Thread;

/// A file of another tool, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Which tool wrote it: `cyclictest` or `jitterdebugger`.
    pub tool: &'static str,
    /// The tool's version, where the file has it.
    pub version: Option<String>,
    /// The tool's command line, where the file has it.
    pub command_line: Option<String>,
    /// The policy of its threads: `other`, `fifo` or `rr`.
    pub policy: &'static str,
    /// The real-time priority of the first thread, where it is known.
    pub priority: Option<Priority>,
    /// The period of the first thread, where it is known.
    pub period: Option<Nanos>,
    /// Latencies are cut down to multiples of this.
    pub resolution: Nanos,
    /// What the file says of the machine it was written on.
    pub machine: Machine,
    /// When the run began and ended, where the file has it.
    pub ran: Option<[Date; 2]>,
    /// What a reader of the numbers must know.
    pub warnings: Vec<String>,
    pub(super) threads: Vec<Thread>,
}

impl Imported {
    /// How many threads measured.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Says what the file does not: the priority of its threads.
    ///
    /// # Errors
    /// `Invalid` if the file says it itself, or its threads have none.
    pub fn set_priority(&mut self, priority: Priority) -> Result<()> {
        let says = match (self.priority, self.policy) {
            (Some(known), _) => format!("priority {}", known.get()),
            (None, "other") => "SCHED_OTHER, which has no priority".to_owned(),
            (None, _) => {
                self.priority = Some(priority);
                return Ok(());
            }
        };
        Err(Error::Invalid(format!("the file of {} says itself: {says}", self.tool)))
    }

    /// The policy with its priority, as a record has it: `fifo:80`, or only
    /// `fifo` where nobody knows the priority.
    pub fn scheduling(&self) -> Cow<'static, str> {
        match self.priority {
            Some(priority) => format!("{}:{}", self.policy, priority.get()).into(),
            None => self.policy.into(),
        }
    }
}
