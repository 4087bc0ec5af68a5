//! One start, in a process of its own that can be killed at a deadline.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use unjank_host::process::peer::Peer;
use unjank_host::process::{Helper, send_signal};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::{Findings, Monitor};

use crate::commands::repetition::{self, Report, Task};
use crate::exit::Relayed;

/// How often the clock and the request to stop are checked.
const LOOK: Duration = Duration::from_millis(50);
/// Time for a start to report after a request to stop. A start whose peer does
/// not answer is killed earlier. A second Ctrl-C ends everything at once.
const REPORT_TIME: Nanos = Nanos::from_millis(60_000);
/// `SIGINT` of `signal(7)`.
const INTERRUPT: i32 = 2;

/// How a start ended.
pub(super) enum Ended {
    Done(Box<Findings>),
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
    let peer = Peer::start(repetition::command().without_task())?;
    let Peer { mut process, mut orders, mut answers } = peer;
    let task = task.clone();
    let (sender, report) = mpsc::channel();
    thread::Builder::new().name("repetition".to_owned()).spawn(move || {
        // Both calls end with the process, however it ends.
        let report = orders.send(&task).and_then(|()| answers.receive());
        let _nobody_waits = sender.send(report);
    })?;
    let start = Timestamp::now();
    let mut end = deadline;
    let mut asked = false;
    loop {
        match report.recv_timeout(LOOK) {
            Ok(report) => {
                return ended(report.context("while reading a repetition's report")?, &mut process);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow!("a repetition ended without a report"));
            }
        }
        let now = Timestamp::now();
        if monitor.stop_requested() && !asked {
            asked = true;
            // A process that has ended has reported.
            let _ended = send_signal(process.id(), INTERRUPT);
            let last = now + REPORT_TIME;
            end = Some(end.map_or(last, |end| end.min(last)));
        }
        if end.is_some_and(|end| now >= end) {
            return Ok(Ended::TimedOut);
        }
        monitor.progress(now.since(start).as_secs_f64() / length.as_secs_f64().max(1e-3), "");
    }
}

fn ended(report: Option<Report>, process: &mut Helper) -> Result<Ended> {
    match report {
        Some(Report::Done(findings)) => Ok(Ended::Done(findings)),
        Some(Report::Failed { sentence, code }) => Err(Relayed { sentence, code }.into()),
        None => {
            let status = process.wait().context("while waiting for a repetition")?;
            Err(anyhow!("a repetition ended without a report: {status}"))
        }
    }
}
