//! The ways to a policy: `sched_setattr(2)`; where that is not permitted,
//! rtkit; where that is not there, a nice value.

use std::fmt;

use serde::Serialize;
use unjank_host::rtkit::RealtimeKit;
use unjank_host::sched::{Policy, ThreadId};
use unjank_host::thread_ledger::{Ledger, Scheduler, State};
use unjank_host::{Error, ErrorClass, Result};

/// The nice value that is asked for in place of a real-time policy.
const RAISED: i32 = -11;

/// How a thread got its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// As it was wanted, from the kernel.
    Scheduler,
    /// `SCHED_RR` from rtkit, whose highest priority may be lower.
    Rtkit,
    /// No real-time policy, only a better nice value.
    Nice,
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduler => "sched_setattr",
            Self::Rtkit => "rtkit",
            Self::Nice => "nice",
        })
    }
}

/// The means that there are.
#[derive(Debug)]
pub struct Ladder<'a> {
    /// The kernel.
    pub scheduler: &'a dyn Scheduler,
    /// rtkit, or why it cannot be asked.
    pub rtkit: std::result::Result<&'a dyn RealtimeKit, String>,
    /// The best nice value that this user may give.
    pub best_nice: i32,
}

impl Ladder<'_> {
    /// Gives a thread `wanted`, or what comes next to it. Says how, and what
    /// it has now if that is something else.
    ///
    /// # Errors
    /// No way leads there: the error of the first one, with what became of the
    /// others.
    pub fn give(
        &self,
        ledger: &mut Ledger<'_>,
        process: u32,
        thread: ThreadId,
        wanted: State,
        before: State,
    ) -> Result<(Means, Option<State>)> {
        let error = match self.scheduler.set(thread, wanted) {
            Ok(()) => return Ok((Means::Scheduler, None)),
            Err(error) => error,
        };
        let (Policy::Fifo(priority) | Policy::RoundRobin(priority)) = wanted.policy else {
            return Err(error);
        };
        if error.class() != ErrorClass::Permission {
            return Err(error);
        }
        let now = || Ok(self.scheduler.look(process, thread)?.map(|(_, state)| state));
        let not_by_rtkit = match &self.rtkit {
            Ok(rtkit) => {
                // rtkit looks at the hard limit of the process before.
                let asked = ledger
                    .limit(process, rtkit.longest_run(), true)
                    .and_then(|_| rtkit.make_realtime(process, thread, priority));
                match asked {
                    Ok(()) => return Ok((Means::Rtkit, now()?)),
                    Err(error) => error.to_string(),
                }
            }
            Err(reason) => reason.clone(),
        };
        let nice = self.best_nice.max(RAISED);
        if nice < before.nice {
            let policy = Policy::Other { nice };
            let raised = State { policy, reset_on_fork: before.reset_on_fork, nice };
            if self.scheduler.set(thread, raised).is_ok() {
                return Ok((Means::Nice, now()?));
            }
        }
        Err(match error {
            Error::Permission { what, needs } => Error::Permission {
                what,
                needs: format!(
                    "{needs} (rtkit: {not_by_rtkit}; nice: this user may not go below {})",
                    self.best_nice
                ),
            },
            error => error,
        })
    }
}
