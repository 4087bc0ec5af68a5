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
    /// What to do, as JSON
    task: String,
}

/// Does its task and tells how it went, line by line, on stdout.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let task: Task = serde_json::from_str(&args.task).context("while reading the task")?;
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    if !process::die_with_parent(task.parent)? {
        return Ok(ExitCode::SUCCESS);
    }
    let ready = || {
        tell(&Message::Ready)
            .and_then(|()| io::stdin().lock().read_line(&mut String::new()))
            .map(|_go| ())
            .map_err(|source| Error::file("hear", "the process that started this", source))
    };
    let called = latency::call(&task, &peer::command(), &Root::system(), &Teller(interrupt), ready);
    let last = match called {
        Ok(report) => Message::Done(Box::new(report)),
        Err(error) => Message::Failed(exit::sentence(&error.into())),
    };
    tell(&last).context("while reporting")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "caller".into()] }
}

fn tell(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Passes progress on to the process that started this.
struct Teller(Interrupt);

impl Monitor for Teller {
    fn progress(&self, fraction: f64, _doing: &str) {
        // A process that is gone kills this one.
        let _gone = tell(&Message::Progress(fraction));
    }

    fn stop_requested(&self) -> bool {
        self.0.requested()
    }
}
