//! `unjank ipc caller`: the client process of a pair.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::{Error, Root, process};
use unjank_ipc::PeerCommand;
use unjank_ipc::latency::{self, Message, Task};
use unjank_measure::Monitor;

use super::peer;
use crate::exit;
use crate::interrupt::Interrupt;

/// Arguments of `unjank ipc caller`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as JSON
    task: String,
}

/// Runs the task and reports on stdout, one message a line.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let task: Task = serde_json::from_str(&args.task).context("while reading the task")?;
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    if !process::die_with_parent(task.parent)? {
        return Ok(ExitCode::SUCCESS);
    }
    let ready = || {
        send(&Message::Ready)
            .and_then(|()| io::stdin().lock().read_line(&mut String::new()))
            .map(|_go| ())
            .map_err(|source| Error::file("read from", "the process that started this", source))
    };
    let progress = Progress(interrupt);
    let called = latency::call(&task, &peer::command(), &Root::system(), &progress, ready);
    let last = match called {
        Ok(report) => Message::Done(Box::new(report)),
        Err(error) => Message::Failed(exit::sentence(&error.into())),
    };
    send(&last).context("while reporting")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "caller".into()] }
}

fn send(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Passes progress on to the process that started this one.
struct Progress(Interrupt);

impl Monitor for Progress {
    fn progress(&self, fraction: f64, _doing: &str) {
        // Fails only if the parent is gone; the kernel then kills this process.
        let _gone = send(&Message::Progress(fraction));
    }

    fn stop_requested(&self) -> bool {
        self.0.requested()
    }
}
