//! One start, in a process of its own that can be killed at a deadline.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Monitor;

use super::process::{INTERRUPT, News, Process};
use crate::commands::repetition::{self, Report, StartOutcome, Task};
use crate::exit::Relayed;

/// How often the clock and the request to stop are checked.
const LOOK: Duration = Duration::from_millis(50);
/// Time for a start to report after a request to stop. A start whose peer does
/// not answer is killed earlier. A second Ctrl-C ends everything at once.
const REPORT_TIME: Nanos = Nanos::from_millis(60_000);
/// Time for a start that has reported to be gone. One that takes longer ends
/// beside the next start.
const END_TIME: Nanos = Nanos::from_millis(1_000);

/// How a start ended.
pub(super) enum Ended {
    Done(StartOutcome),
    /// It was killed at the deadline.
    TimedOut,
}

/// Runs one task in a new process. Passes on a request to stop, and kills the
/// process at `deadline`.
pub(super) fn run(
    task: &Task,
    length: Nanos,
    deadline: Option<Timestamp>,
    monitor: &dyn Monitor,
) -> Result<Ended> {
    let start = Timestamp::now();
    let process = Process::default();
    let (sender, news) = mpsc::channel();
    let (conductor, task) = (process.clone(), task.clone());
    let command = repetition::command().without_task();
    thread::Builder::new()
        .name("repetition".to_owned())
        .spawn(move || conductor.conduct(command, &task, &sender))?;
    let mut end = deadline;
    let mut asked = false;
    let mut reported = None;
    loop {
        match news.recv_timeout(LOOK) {
            Ok(News::Report(report)) => {
                let last = Timestamp::now() + END_TIME;
                end = Some(end.map_or(last, |end| end.min(last)));
                reported = Some(report);
            }
            Ok(News::NotStarted(error)) => return Err(error.into()),
            Ok(News::Unreadable(error)) => {
                return Err(error).context("while reading the report of a start");
            }
            Ok(News::NoReport(status)) => {
                return without_report(status.context("while waiting for a start")?);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if reported.is_some() => break,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow!("a start ended without a report"));
            }
        }
        let now = Timestamp::now();
        if monitor.stop_requested() && !asked && process.interrupt() {
            asked = true;
            let last = now + REPORT_TIME;
            end = Some(end.map_or(last, |end| end.min(last)));
        }
        if end.is_some_and(|end| now >= end) {
            process.give_up();
            break;
        }
        monitor.progress(now.since(start).as_secs_f64() / length.as_secs_f64().max(1e-3), "");
    }
    match reported {
        Some(Report::Done(outcome)) => Ok(Ended::Done(outcome)),
        Some(Report::Failed { sentence, code }) => Err(Relayed { sentence, code }.into()),
        None => Ok(Ended::TimedOut),
    }
}

/// A request to stop, passed on or from the same terminal, ends a process that does not handle it
/// yet: it has measured nothing.
fn without_report(status: ExitStatus) -> Result<Ended> {
    if status.signal() == Some(INTERRUPT) {
        return Ok(Ended::Done(StartOutcome::Nothing));
    }
    Err(anyhow!("a start ended without a report: {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_interrupted_while_it_starts_has_measured_nothing() {
        let of_signal = |signal| without_report(ExitStatus::from_raw(signal));
        assert!(matches!(of_signal(INTERRUPT), Ok(Ended::Done(StartOutcome::Nothing))));
        let error = of_signal(9).err().unwrap().to_string();
        assert!(error.starts_with("a start ended without a report: signal: 9"), "{error}");
    }
}
