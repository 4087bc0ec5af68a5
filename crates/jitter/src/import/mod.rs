//! Results of other tools that measure wake-ups: cyclictest's (`--json`) and
//! jitterdebugger's, as findings like those of `jitter native`.
//!
//! | module | subject |
//! |---|---|
//! | `cyclictest`, `jitterdebugger` | the two formats |
//! | `command_line` | what cyclictest was told to do |
//! | `document` | what both have in common: threads and their histograms |
//! | `repair` | where what they write is not JSON |
//! | `findings` | from threads to series |

mod command_line;
mod cyclictest;
mod document;
mod findings;
mod jitterdebugger;
mod repair;

use std::borrow::Cow;

use jiff::Timestamp as Date;
use serde::Deserialize;
use serde::de::IgnoredAny;
use unjank_host::machine::{Kernel, Machine};
use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

use document::{SystemInfo, Thread};

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
    threads: Vec<Thread>,
}

/// Reads a file of either tool; `path` is its name, for errors.
///
/// # Errors
/// `Parse`, with the line, if it is not what one of the tools writes.
pub fn read(text: &str, path: &str) -> Result<Imported> {
    #[derive(Deserialize)]
    struct Head {
        thread: Option<IgnoredAny>,
        cpu: Option<IgnoredAny>,
    }
    let text = repair::repaired(text);
    let head: Head = parse(&text, path)?;
    match head {
        Head { thread: Some(_), .. } => cyclictest::imported(parse(&text, path)?, path),
        Head { cpu: Some(_), .. } => jitterdebugger::imported(parse(&text, path)?, path),
        Head { .. } => Err(Error::parse(
            path,
            1,
            "neither \"thread\", which cyclictest writes, nor \"cpu\", which jitterdebugger writes",
        )),
    }
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

fn parse<'a, T: Deserialize<'a>>(text: &'a str, path: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = said.strip_suffix(&place).unwrap_or(&said);
        Error::parse(path, error.line().max(1), what)
    })
}

/// The machine, as far as a tool tells of it.
fn machine(system: Option<SystemInfo>, tool: &str) -> Machine {
    let system = system.unwrap_or_default();
    let mut machine = Machine {
        kernel: Kernel {
            release: system.release,
            version: system.version,
            architecture: system.machine,
            preemption: (system.realtime == Some(1)).then(|| "rt".to_owned()),
            ..Kernel::default()
        },
        ..Machine::default()
    };
    machine.unsupported.push(unjank_host::Unsupported {
        what: "everything else".to_owned(),
        reason: format!("{tool} writes no more of the machine than its kernel"),
    });
    machine
}
