//! `unjank rt exec`: a command whose threads get policies by their names.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::wait::until_readable;
use unjank_host::{Root, Support};
use unjank_jitter::rt::{self, Changer, Follower, Rules, Scope};

use super::change_args::{ChangeArgs, ReportForm};
use super::means::{self, Means};
use super::reporter::Reporter;
use super::restore;
use crate::commands::keeper;
use crate::commands::with::child::{End, Running, SignalPipe, Signals};
use crate::exit;
use crate::output::{self, Stream};

/// Arguments of `unjank rt exec`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank rt exec --profile jvm-inversion-aware --thread 'meas*=fifo:80' -- java -jar app.jar
  sudo unjank rt exec --others fifo:50 -- ./control-loop
  unjank rt exec --others batch:10 --thread 'ui*=other' -- ./app

Threads of the command and of its descendants get their policies as they appear
and get their names. As root, unjank learns of them from the kernel; otherwise
it looks for them, at most every 20 ms. When the command ends, the threads that
it leaves running get their old policies back. For policies, --max-busy and
refusals of the kernel see unjank rt set --help. JSON goes to standard error,
because standard output is the command's.

Signals are forwarded to the command. The exit code is the command's, 128 + N if
signal N ended it. unjank's own: 1 something is not put back, 2 usage, 4 not
permitted.")]
pub(crate) struct Args {
    #[command(flatten)]
    changes: ChangeArgs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command, changes its threads, and puts them back.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    let rules = args.changes.rules()?;
    rt::check(&root, &rules, args.changes.force())?;
    let dir = args.changes.state.dir()?;
    let reporter = Reporter::new(args.changes.form(), Stream::Stderr);
    let mut signals = Signals::listen().context("while listening for signals")?;
    let signal_pipe = SignalPipe::new().context("while listening for signals")?;
    let found = Means::find(&root, &rules);
    restore::restore_before_session(&root, &dir, found.kernel(), reporter)?;
    let events = means::events()?;
    // The command has the limits of this process.
    let setter = found.policy_setter(&root, std::process::id());
    let options = args.changes.options(true);
    let keeper = Some(keeper::command(&dir));
    let changer = Changer::begin(&root, &dir, None, &rules, &setter, options, keeper)?;
    if let Support::No(reason) = &events
        && args.changes.form() == ReportForm::Text
    {
        reporter.remark(&format!("new threads are found by polling ({reason})"))?;
    }
    let mut running = match Running::start(&args.command, &mut signals) {
        Ok(Ok(running)) => running,
        not_started => {
            // Nothing is held yet, so there is nothing to report.
            let _nothing = changer.finish();
            return not_started.map(|end| end.map_or_else(End::code, |_| exit::FINE).into());
        }
    };
    let (process, max_busy) = (running.id(), args.changes.max_busy());
    let mut follower =
        Follower::new(&root, changer, process, Scope::Family, events.yes(), max_busy);
    let outcome =
        follow(&root, &rules, &mut follower, &mut running, &mut signals, &signal_pipe, reporter);
    let never = follower.unmatched();
    let not_back = reporter.restored(&follower.finish());
    // If following has failed, the command still runs until it ends.
    let (end, failure) = match outcome {
        Ok(end) => (end, None),
        Err(error) => (running.wait(&mut signals)?, Some(error)),
    };
    if !never.is_empty() {
        reporter.remark(&format!("no thread has matched {}", never.join(", ")))?;
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

/// Follows new threads until the command ends.
fn follow(
    root: &Root,
    rules: &Rules,
    follower: &mut Follower<'_>,
    running: &mut Running,
    signals: &mut Signals,
    signal_pipe: &SignalPipe,
    reporter: Reporter,
) -> Result<End> {
    // After the command has started, because it must not inherit this.
    let precedence = means::precedence(root, rules)?;
    let _entered = means::enter(precedence.as_ref())?;
    loop {
        reporter.events(follower.step()?)?;
        if let Some(end) = running.attend(signals)? {
            return Ok(end);
        }
        let sources = [follower.as_fd(), Some(signal_pipe.as_fd())];
        let [_, has_signal] = until_readable(sources, Some(follower.wake_at()))?;
        if has_signal {
            signal_pipe.drain();
        }
    }
}
