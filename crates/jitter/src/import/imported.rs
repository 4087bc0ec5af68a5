//! A result of another tool.

use std::borrow::Cow;

use jiff::Timestamp as Date;
use unjank_host::machine::Machine;
use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

use super::document::Thread;

/// A file of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tool that wrote it: `cyclictest` or `jitterdebugger`.
    pub tool: &'static str,
    /// The tool's version, if the file has it.
    pub version: Option<String>,
    /// The tool's command line, if the file has it.
    pub command_line: Option<String>,
    /// The policy of its threads: `other`, `fifo` or `rr`.
    pub policy: &'static str,
    /// The real-time priority of the first thread, if known.
    pub priority: Option<Priority>,
    /// The period of the first thread, if known.
    pub period: Option<Nanos>,
    /// Latencies are truncated to multiples of this.
    pub resolution: Nanos,
    /// The machine of the run, as far as the file describes it.
    pub machine: Machine,
    /// Start and end of the run, if the file has them.
    pub ran: Option<[Date; 2]>,
    /// Caveats for a reader of the numbers.
    pub warnings: Vec<String>,
    /// Wake-ups at least so late are beyond the histograms, in the file's unit, if known.
    pub(super) histogram: Option<u64>,
    pub(super) threads: Vec<Thread>,
}

impl Imported {
    /// Number of measuring threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Sets the priority of the threads, which the file lacks.
    ///
    /// # Errors
    /// `Invalid` if the file has a priority, or its threads have none.
    pub fn set_priority(&mut self, priority: Priority) -> Result<()> {
        let says = match (self.priority, self.policy) {
            (Some(known), _) => format!("priority {}", known.get()),
            (None, "other") => "SCHED_OTHER, which has no priority".to_owned(),
            (None, _) => {
                self.priority = Some(priority);
                return Ok(());
            }
        };
        Err(Error::Invalid(format!("the file of {} already says {says}", self.tool)))
    }

    /// The policy with its priority, in the form of a record: `fifo:80`, or `fifo`
    /// if the priority is unknown.
    pub fn scheduling(&self) -> Cow<'static, str> {
        match self.priority {
            Some(priority) => format!("{}:{}", self.policy, priority.get()).into(),
            None => self.policy.into(),
        }
    }
}
