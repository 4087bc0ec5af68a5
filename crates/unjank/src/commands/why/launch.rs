//! One launch of the program, until it is ready.

use anyhow::{Result, bail};
use unjank_host::sched::ThreadId;
use unjank_host::waiting_call::has_our_numbers;
use unjank_host::{Bytes, Nanos, Root, Timestamp};
use unjank_launch::bench::{Ending, Patience, Program, Ready, Started, WaitResult};
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
    /// Whether a program that has not ended within `timeout` is explained until then; otherwise it
    /// is an error.
    pub(crate) explains_unended: bool,
    /// For the events of each.
    pub(crate) memory: Bytes,
    /// Without it, all of them.
    pub(crate) until: Option<Until>,
    /// By then, the last launch is ready and its program is gone: it is killed if need be.
    pub(crate) end: Option<Timestamp>,
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

impl Plan {
    /// `time`, or what is left of it before the end.
    fn at_most(&self, time: Nanos) -> Nanos {
        self.end.map_or(time, |end| time.min(end.since(Timestamp::now())))
    }
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
    let timeout = plan.at_most(plan.timeout);
    let patience = Patience { timeout, again: false, stop: &stop };
    let mut started = Started::begin(&plan.program, &ready_means(), &patience)?;
    let is_foreign = has_our_numbers(&Root::system(), started.process()) == Some(false);
    let process = ThreadId(started.process());
    let came = started.wait(timeout, &stop)?;
    let began = started.began();
    let stderr = started.last_lines();
    let by_itself = !started.is_alive();
    let result = when_ready(process)?;
    let grace = plan.at_most(END_TIMEOUT);
    let Ending { status, was_killed, .. } = started.end(grace);
    let at_exit = matches!(plan.program.ready, Ready::Exit);
    let launch = Launch {
        process,
        began,
        took: timeout,
        is_unended: false,
        at_exit,
        noticed: None,
        status: status.filter(|_| by_itself),
        killed_after: was_killed.then_some(grace),
        is_foreign,
    };
    match came {
        WaitResult::Ready { took, by, .. } => {
            let noticed = match plan.program.ready {
                Ready::Port(_) => Some(Noticed::Listening),
                _ => by.map(Noticed::Received),
            };
            Ok(Some((Launch { took, noticed, ..launch }, result)))
        }
        WaitResult::TimedOut if plan.explains_unended && at_exit => {
            Ok(Some((Launch { is_unended: true, at_exit: false, ..launch }, result)))
        }
        WaitResult::Interrupted => Ok(None),
        WaitResult::Ended => {
            let status = status.map_or_else(String::new, |status| status.to_string());
            bail!("{} ended before it was ready: {status} {stderr}", plan.program.name());
        }
        WaitResult::TimedOut => {
            bail!("{} was not ready within {timeout} {stderr}", plan.program.name());
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
    use unjank_measure::Silent;
    use unjank_needs::wait::until;

    use super::*;

    #[test]
    fn a_program_that_ignores_sigterm_is_killed_at_the_end_of_the_plan() {
        let dir = tempfile::tempdir().unwrap();
        let ignores = dir.path().join("ignores");
        let script = "trap '' TERM; : >\"$0\"; while :; do sleep 0.1; done";
        let command = ["sh".into(), "-c".into(), script.into(), ignores.clone().into_os_string()];
        let end = Timestamp::now();
        let plan = Plan {
            program: Program::new(command.into(), Ready::AtOnce),
            launches: 1,
            gap: Nanos::ZERO,
            timeout: Nanos::ZERO,
            explains_unended: false,
            memory: Bytes::default(),
            until: None,
            end: Some(end),
            stacks: false,
            is_cold: false,
        };
        let when_ready = |_| {
            until("it ignores SIGTERM", || ignores.exists());
            Ok(())
        };
        let (launch, ()) = once(&plan, &Silent, when_ready).unwrap().unwrap();
        assert_eq!(launch.killed_after, Some(Nanos::ZERO));
        let warnings: Vec<String> = launch.warnings().collect();
        let [killed] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(killed.ends_with(" of SIGTERM, and was killed"), "{killed}");
    }

    #[test]
    fn launches_end_in_time_and_six_are_wanted() {
        let at = Timestamp::from_nanos;
        let until = Until { last: at(1_000), enough: 6, then: at(500) };
        assert!(until.allows(0, at(9_999)), "the first always begins");
        assert!(until.allows(5, at(800)) && !until.allows(5, at(1_200)));
        assert!(until.allows(6, at(400)) && !until.allows(6, at(800)));
    }
}
