//! `unjank ipc caller`: the client process of a pair.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use unjank_host::process::HelperCommand;
use unjank_host::process::peer::{receive, send};
use unjank_host::{Error, Root};
use unjank_ipc::latency::{self, Message, Order};
use unjank_measure::Monitor;

use super::peer;
use crate::commands::parent::Parent;
use crate::exit;
use crate::interrupt::Interrupt;

/// Reads the task from stdin, runs it, and reports on stdout.
pub(crate) fn run(parent: Parent) -> Result<ExitCode> {
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    if !parent.lives()? {
        return Ok(ExitCode::SUCCESS);
    }
    let order = || receive::<Order>(&mut io::stdin().lock());
    let Some(Order::Prepare(task)) = order().context("while reading the task")? else {
        bail!("the first order has no task");
    };
    let ready = || {
        answer(&Message::Ready)
            .and_then(|()| order())
            .map(|_begin| ())
            .map_err(|source| Error::file("read from", "the process that started this", source))
    };
    let progress = Progress(interrupt);
    let called = latency::call(&task, &peer::command(), &Root::system(), &progress, ready);
    let last = match called {
        Ok(report) => Message::Done(Box::new(report)),
        Err(error) => Message::Failed(exit::sentence(&error.into())),
    };
    answer(&last).context("while reporting")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> HelperCommand {
    HelperCommand::this_program(["ipc", "caller"])
}

fn answer(message: &Message) -> io::Result<()> {
    send(&mut io::stdout().lock(), message)
}

/// Passes progress on to the process that started this one.
struct Progress(Interrupt);

impl Monitor for Progress {
    fn progress(&self, fraction: f64, _doing: &str) {
        // Fails only if the parent is gone; the kernel then kills this process.
        let _gone = answer(&Message::Progress(fraction));
    }

    fn stop_requested(&self) -> bool {
        self.0.requested()
    }
}
