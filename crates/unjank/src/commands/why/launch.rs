//! One launch of the program, until it is ready.

use anyhow::{Result, bail};
use unjank_host::sched::ThreadId;
use unjank_host::waiting_call::has_our_numbers;
use unjank_host::{Bytes, Nanos, Root, Timestamp};
use unjank_launch::bench::{Patience, Program, Ready, Started, WaitResult};
use unjank_measure::Monitor;
use unjank_why::live::Launch;
use unjank_why::report::Noticed;

use crate::commands::launch::bench::ready_means;

/// Time for a program to end after SIGTERM.
const END_TIMEOUT: Nanos = Nanos::from_millis(20_000);

/// What to launch, and how often.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) program: Program,
    /// The most launches.
    pub(crate) launches: u32,
    /// Idle time before each launch but the first.
    pub(crate) gap: Nanos,
    pub(crate) timeout: Nanos,
    /// For the events of each.
    pub(crate) memory: Bytes,
    /// Without it, all of them.
    pub(crate) until: Option<Until>,
    /// Whether stacks are recorded.
    pub(crate) stacks: bool,
    /// Files are dropped from memory before each launch.
    pub(crate) is_cold: bool,
}

/// When no further launch begins. A launch is taken to last as long as the longest so
/// far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    /// Every launch but the first ends before this.
    pub(crate) last: Timestamp,
    /// As many launches are enough …
    pub(crate) enough: u32,
    /// … if a further one would not end before this.
    pub(crate) then: Timestamp,
}

impl Until {
    /// Whether launch `number`, counted from 0, begins if it would end at `end`.
    pub(super) fn allows(self, number: u32, end: Timestamp) -> bool {
        number == 0 || (end <= self.last && (number < self.enough || end <= self.then))
    }
}

/// Launches the program, and calls `when_ready` before it is ended. `None` if the
/// user wants to stop.
pub(super) fn once<T>(
    plan: &Plan,
    monitor: &dyn Monitor,
    when_ready: impl FnOnce(ThreadId) -> Result<T>,
) -> Result<Option<(Launch, T)>> {
    let stop = || monitor.stop_requested();
    let patience = Patience { timeout: plan.timeout, again: false, stop: &stop };
    let mut started = Started::begin(&plan.program, &ready_means(), &patience)?;
    let is_foreign = has_our_numbers(&Root::system(), started.process()) == Some(false);
    let process = ThreadId(started.process());
    let came = started.wait(plan.timeout, &stop)?;
    let began = started.began();
    let stderr = started.last_lines();
    let by_itself = !started.is_alive();
    let result = when_ready(process)?;
    let status = started.end(END_TIMEOUT).status;
    match came {
        WaitResult::Ready { took, by, .. } => {
            let status = status.filter(|_| by_itself);
            let noticed = match plan.program.ready {
                Ready::Port(_) => Some(Noticed::Listening),
                _ => by.map(Noticed::Received),
            };
            let at_exit = matches!(plan.program.ready, Ready::Exit);
            let launch = Launch { process, began, took, at_exit, noticed, status, is_foreign };
            Ok(Some((launch, result)))
        }
        WaitResult::Interrupted => Ok(None),
        WaitResult::Ended => {
            let status = status.map_or_else(String::new, |status| status.to_string());
            bail!("{} ended before it was ready: {status} {stderr}", plan.program.name());
        }
        WaitResult::TimedOut => {
            bail!("{} was not ready within {} {stderr}", plan.program.name(), plan.timeout);
        }
    }
}

/// Waits between two launches; `false` if the user wants to stop.
pub(super) fn pause(plan: &Plan, monitor: &dyn Monitor) -> bool {
    (Timestamp::now() + plan.gap).sleep_until_or(|| monitor.stop_requested());
    !monitor.stop_requested()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_end_in_time_and_six_are_wanted() {
        let at = Timestamp::from_nanos;
        let until = Until { last: at(1_000), enough: 6, then: at(500) };
        assert!(until.allows(0, at(9_999)), "the first always begins");
        assert!(until.allows(5, at(800)) && !until.allows(5, at(1_200)));
        assert!(until.allows(6, at(400)) && !until.allows(6, at(800)));
    }
}
