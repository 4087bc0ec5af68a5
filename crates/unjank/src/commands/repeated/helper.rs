//! One start, in a process of its own that can be given up.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use unjank_host::process::{Helper, send_signal};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::{Findings, Monitor};

use crate::commands::repetition::{Outcome, Task};
use crate::exit::Relayed;

/// How often the clock and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Time to report what is known after a wish to stop: a peer that does not
/// answer is given up sooner. A second Ctrl-C ends everything at once.
const LAST_WORDS: Nanos = Nanos::from_millis(60_000);
/// The longest report that is read.
const LONGEST_REPORT: u64 = 1 << 30;
/// `SIGINT` of `signal(7)`.
const INTERRUPT: i32 = 2;

/// How a start ended.
pub(super) enum Ended {
    Done(Box<Findings>),
    /// It was not over in time.
    GivenUp,
}

/// Runs one task in a new process. It is asked to stop when the user wishes to,
/// and killed at `deadline`.
pub(super) fn run(
    task: &Task,
    length: Nanos,
    deadline: Option<Timestamp>,
    monitor: &dyn Monitor,
) -> Result<Ended> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["repetition", &std::process::id().to_string()]);
    let mut process = Helper::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let mut input = process.take_input().context("while starting a repetition")?;
    let (Some(mut output), _) = process.take_output() else {
        return Err(anyhow!("a repetition has no output"));
    };
    let task = serde_json::to_vec(task).context("while telling a repetition its task")?;
    let (sender, report) = mpsc::channel();
    thread::Builder::new().name("repetition".to_owned()).spawn(move || {
        // Both end when the process does, however it ends.
        let told = input.write_all(&task);
        drop(input);
        let mut text = Vec::new();
        let read = told.and_then(|()| output.by_ref().take(LONGEST_REPORT).read_to_end(&mut text));
        let _nobody_waits = sender.send(read.map(|_| text));
    })?;
    let start = Timestamp::now();
    let mut end = deadline;
    let mut asked = false;
    loop {
        match report.recv_timeout(LOOK) {
            Ok(text) => return outcome(&text.context("while hearing a repetition")?, &mut process),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow!("a repetition ended without a report"));
            }
        }
        let now = Timestamp::now();
        if monitor.stop_requested() && !asked {
            asked = true;
            // One that has ended has reported.
            let _ended = send_signal(process.id(), INTERRUPT);
            let last = now + LAST_WORDS;
            end = Some(end.map_or(last, |end| end.min(last)));
        }
        if end.is_some_and(|end| now >= end) {
            return Ok(Ended::GivenUp);
        }
        monitor.progress(now.since(start).as_secs_f64() / length.as_secs_f64().max(1e-3), "");
    }
}

fn outcome(text: &[u8], process: &mut Helper) -> Result<Ended> {
    if text.is_empty() {
        let status = process.wait().context("while waiting for a repetition")?;
        return Err(anyhow!("a repetition ended without a report: {status}"));
    }
    match serde_json::from_slice(text).context("while reading what a repetition found")? {
        Outcome::Done(findings) => Ok(Ended::Done(findings)),
        Outcome::Failed { sentence, code } => Err(Relayed { sentence, code }.into()),
    }
}
