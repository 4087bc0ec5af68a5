//! `unjank rt set`: gives threads of a running process policies by their names.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use unjank_host::wait::until_readable;
use unjank_host::{Nanos, Root, Support, Timestamp};
use unjank_jitter::rt::{self, Follower, Scope};

use super::change_args::ChangeArgs;
use super::means::{self, Means};
use super::reporter::Reporter;
use super::restore;
use crate::commands::keeper;
use crate::output::Stream;
use crate::{exit, interrupt, values};

/// Arguments of `unjank rt set`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank rt set 4711 --thread 'meas*=fifo:80'
  sudo unjank rt set 4711 --profile jvm-inversion-aware --thread 'meas*=fifo:80' --for 60s
  sudo unjank rt set 4711 --others fifo:50 --max-busy 200ms
  sudo unjank rt set 4711 --thread 'data-loop*=rr:60' --keep && sudo unjank rt restore 4711
  unjank rt set 4711 --thread 'worker-?=batch'

Policies: fifo:1-99, rr:1-99, other[:NICE], batch[:NICE], idle, and
deadline:RUNTIME/DEADLINE/PERIOD. All threads are changed, or none. New and
renamed threads are followed until Ctrl-C, the end of --for or of the process;
then everything is put back. If NOTIFY_SOCKET is set, a message there says when
the threads are changed (sd_notify(3)). A thread that computes for longer than --max-busy
without a sleep is put back at once. If the kernel refuses a real-time policy,
unjank tries rtkit, and then a better nice value, and prints the result. A change
that this user could not put back is refused: idle, or a worse nice value,
without CAP_SYS_NICE or RLIMIT_NICE.

With --keep unjank does not watch: the kernel ends the process (SIGXCPU) if one
of its real-time threads computes for longer than --max-busy without a sleep.
Changes are recorded before they are made. If unjank is killed, a keeper process
puts them back; if that is killed, too, unjank restore does.")]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID")]
    process: u32,
    #[command(flatten)]
    changes: ChangeArgs,
    /// End after this time [default: at Ctrl-C, or when the process ends]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    length: Option<Nanos>,
    /// End at once and leave the changes: unjank rt restore puts them back
    #[arg(long, conflicts_with = "length")]
    keep: bool,
}

/// Changes the threads, watches them, and puts them back.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    let rules = args.changes.rules()?;
    let dir = args.changes.state.dir()?;
    let reporter = Reporter::new(args.changes.form(), Stream::Stdout);
    let signals = interrupt::stream().context("while listening for signals")?;
    let found = Means::find(&root, &rules);
    restore::restore_before_session(&root, &dir, found.kernel(), reporter)?;
    // Before the first look, so that no new thread is missed in between.
    let events = if args.keep { Support::no("") } else { means::events()? };
    let setter = found.policy_setter(&root, args.process);
    let options = args.changes.options(!args.keep).reversible();
    let began = Timestamp::now();
    let keeper = Some(keeper::command(&dir));
    let (walk, changer) = rt::set(&root, &dir, args.process, &rules, &setter, options, keeper)?;
    let took = Timestamp::now().since(began);
    if args.keep {
        changer.keep()?;
        let kept = "they stay until unjank rt restore";
        reporter.walked(args.process, &walk, took, Some(kept))?;
        return Ok(ExitCode::from(exit::FINE));
    }
    let how = match &events {
        Support::Yes(_) => "the kernel reports new ones".to_owned(),
        Support::No(reason) => format!("new ones are found by polling ({reason})"),
    };
    let (scope, max_busy) = (Scope::Process, args.changes.max_busy());
    let mut follower = Follower::new(&root, changer, args.process, scope, events.yes(), max_busy);
    let watched = reporter.walked(args.process, &walk, took, Some(&how)).and_then(|()| {
        let precedence = means::precedence(&root, &rules)?;
        let _entered = means::enter(precedence.as_ref())?;
        let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Ready]);
        watch(args, &mut follower, &signals, reporter)
    });
    let not_back = reporter.restored(&follower.finish())?;
    watched?;
    match not_back {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::from(exit::FINE)),
    }
}

/// Watches until a signal, the end of `--for` or the end of the process.
fn watch(
    args: &Args,
    follower: &mut Follower<'_>,
    signals: &UnixStream,
    reporter: Reporter,
) -> Result<()> {
    let end = args.length.map(|length| Timestamp::now() + length);
    loop {
        reporter.events(follower.step()?)?;
        if follower.is_over() {
            return reporter.remark(&format!("process {} has ended", args.process));
        }
        let due = follower.wake_at();
        let until = end.map_or(due, |end| due.min(end));
        let [_, signal] = until_readable([follower.as_fd(), Some(signals.as_fd())], Some(until))?;
        if signal || end.is_some_and(|end| end <= Timestamp::now()) {
            return Ok(());
        }
    }
}
