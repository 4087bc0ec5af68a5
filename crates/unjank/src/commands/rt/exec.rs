//! `unjank rt exec`: a command whose threads get policies by their names.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::wait::until_readable;
use unjank_host::{Root, Support};
use unjank_jitter::rt::{self, Changer, Follower, Rules, Scope};

use super::means::{self, Means};
use super::restore;
use super::tell::Teller;
use super::wishes::{Form, WishArgs};
use crate::commands::keeper;
use crate::commands::with::child::{Bell, End, Running, Signals};
use crate::exit;
use crate::output::{self, Stream};

/// Arguments of `unjank rt exec`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank rt exec --profile jvm-inversion-aware --thread 'meas*=fifo:80' -- java -jar app.jar
  sudo unjank rt exec --process fifo:50 -- ./control-loop
  unjank rt exec --process batch:10 --thread 'ui*=other' -- ./app

Threads of the command and of all that it starts get their policies as they
appear and are named: as root the kernel tells of them, else they are looked for,
at most every 20 ms. At the end of the command, what it leaves running is put
back. Policies, --max-busy and what is done where the kernel refuses: unjank rt
set --help. JSON goes to standard error, since standard output is the command's.

Signals go on to the command. The exit code is the command's, 128 + N if signal
N ended it. unjank's own: 1 something is not put back, 2 usage, 4 permission.")]
pub(crate) struct Args {
    #[command(flatten)]
    wishes: WishArgs,
    /// The command, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs, follows, puts back.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    let rules = args.wishes.rules()?;
    rt::check(&root, &rules, args.wishes.force())?;
    let dir = args.wishes.state.dir()?;
    let teller = Teller::new(args.wishes.form(), Stream::Stderr);
    let mut signals = Signals::listen().context("while listening for signals")?;
    let bell = Bell::new().context("while listening for signals")?;
    let found = Means::find(&root, &rules);
    restore::what_was_cut_off(&root, &dir, found.kernel(), teller)?;
    let events = means::events()?;
    // The command has the limits of this process.
    let ladder = found.ladder(std::process::id());
    let options = args.wishes.options(true);
    let keeper = Some(keeper::command(&dir));
    let changer = Changer::begin(&root, &dir, None, &rules, &ladder, options, keeper)?;
    if let Support::No(reason) = &events
        && args.wishes.form() == Form::Text
    {
        teller.remark(&format!("new threads are looked for ({reason})"))?;
    }
    let mut running = match Running::start(&args.command, &mut signals) {
        Ok(Ok(running)) => running,
        not_started => {
            // Nothing is held yet, so nothing is left to tell.
            let _nothing = changer.finish();
            return not_started.map(|end| end.map_or_else(End::code, |_| exit::FINE).into());
        }
    };
    let (process, max_busy) = (running.id(), args.wishes.max_busy());
    let mut follower =
        Follower::new(&root, changer, process, Scope::Family, events.yes(), max_busy);
    let outcome = follow(&root, &rules, &mut follower, &mut running, &mut signals, &bell, teller);
    let never = follower.unmatched();
    let not_back = teller.restored(&follower.finish());
    // If following has failed, the command is still to come to its end.
    let (end, failure) = match outcome {
        Ok(end) => (end, None),
        Err(error) => (running.wait(&mut signals)?, Some(error)),
    };
    if !never.is_empty() {
        teller.remark(&format!("no thread has matched {}", never.join(", ")))?;
    }
    match failure.or(not_back?.map(Into::into)) {
        Some(error) if end.code() == exit::FINE => Err(error),
        Some(error) => {
            output::remark(&exit::sentence(&error));
            Ok(end.code().into())
        }
        None => Ok(end.code().into()),
    }
}

/// Until the command ends.
fn follow(
    root: &Root,
    rules: &Rules,
    follower: &mut Follower<'_>,
    running: &mut Running,
    signals: &mut Signals,
    bell: &Bell,
    teller: Teller,
) -> Result<End> {
    // After the command has started, which must not inherit it.
    let precedence = means::precedence(root, rules)?;
    let _entered = means::enter(precedence.as_ref())?;
    loop {
        teller.events(follower.step()?)?;
        if let Some(end) = running.attend(signals)? {
            return Ok(end);
        }
        let sources = [follower.as_fd(), Some(bell.as_fd())];
        let [_, rung] = until_readable(sources, Some(follower.wake_at()))?;
        if rung {
            bell.quiet();
        }
    }
}
