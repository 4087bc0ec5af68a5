//! What can be typed.

use std::borrow::Cow;
use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    checkup, host, ipc, jitter, keeper, lab, launch, lock, repetition, restore, rt, runs, schd_dbg,
    swap, with,
};

/// Finds where a Linux or Android device loses time between a touch and its
/// response, and takes that time back.
#[derive(Debug, Parser)]
#[command(
    name = "unjank",
    bin_name = "unjank",
    version,
    max_term_width = 100,
    propagate_version = true,
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n{before-help}\n{options}{after-help}",
    after_help = "\
Exit codes: 0 fine, 1 failure, 2 usage, 3 not possible on this machine,
4 not permitted, 5 a gate failed, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure all five delays on this machine, judge each, and say what to type next
    Checkup(checkup::Args),
    /// Describe this machine: everything about it that changes how long things take
    Host(host::Args),
    /// The CPU is still slow when an app starts: measure launches, raise the clock for them, energy
    #[command(subcommand)]
    Launch(launch::Verb),
    /// What the app needs was swapped out: the cost of a page-in, traces of swap, policies for a tier
    #[command(subcommand)]
    Swap(swap::Verb),
    /// The thread is woken late: wake-up latency
    #[command(subcommand)]
    Jitter(jitter::Verb),
    /// Real-time and other policies for threads of other programs, chosen by their names
    #[command(subcommand)]
    Rt(rt::Verb),
    /// The thread waits for a lock: what waiting costs
    #[command(subcommand)]
    Lock(lock::Verb),
    /// The answer comes from another process: round trips
    #[command(subcommand)]
    Ipc(ipc::Verb),
    /// AOSP's binder latency test: its options, and its keys as valid JSON
    #[command(name = "schd-dbg")]
    SchdDbg(schd_dbg::Args),
    /// The virtual phone: a kernel with binder, ublk and P-states, in QEMU
    #[command(subcommand)]
    Lab(lab::Verb),
    /// The runs that were kept: list, show, compare, export, import, prune
    #[command(subcommand)]
    Runs(runs::Verb),
    /// Change knobs of the kernel for the time of a command, and put them back
    With(with::Args),
    /// Put back what an unjank that was cut off has left changed
    Restore(restore::Args),
    /// Started by every command that changes something, to put it back if that is killed
    #[command(hide = true)]
    Keeper(keeper::Args),
    /// Started by probes for each repetition, which is a process of its own
    #[command(hide = true)]
    Repetition(repetition::Args),
}

impl Cli {
    /// Reads what was typed.
    ///
    /// `launch load` is an app whose start is measured, and making the rules
    /// for all commands takes longer than starting a program. So its own are
    /// tried first; help, and what is wrong, is told by the rules for all.
    pub(crate) fn read(typed: impl Iterator<Item = OsString>) -> Self {
        let typed = arguments(typed);
        if let [_, noun, verb @ ..] = typed.as_slice()
            && noun == "launch"
            && verb.first().is_some_and(|verb| verb == "load")
            && let Ok(Load { args }) = Load::try_parse_from(verb)
        {
            return Self { command: Command::Launch(launch::Verb::Load(args)) };
        }
        let command = with_negative_numbers(grouped(Self::command()));
        command
            .try_get_matches_from(typed)
            .and_then(|typed| Self::from_arg_matches(&typed))
            .unwrap_or_else(|error| end(&error))
    }
}

/// Shows help, or what is wrong; arguments may come from a script or a file's name.
fn end(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    match unjank_report::lines(&plain) {
        Cow::Owned(shown) if error.use_stderr() => {
            let message = shown.strip_prefix("error: ").unwrap_or(&shown);
            clap::Error::raw(error.kind(), message).exit()
        }
        _ => error.exit(),
    }
}

/// What a user looks for, the most frequent first: a heading, and its commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Find out what is slow", &["checkup", "launch", "swap", "jitter", "lock", "ipc"]),
    ("Take the time back", &["rt", "with", "restore"]),
    ("Keep and compare", &["runs", "host"]),
    ("Research and the lab", &["schd-dbg", "lab"]),
];

/// Lists the commands by what they are for, where clap knows one list only.
fn grouped(command: clap::Command) -> clap::Command {
    let about = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        about.map(|about| format!("  {name:<10}{about}\n"))
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("\n{heading}:\n{}", names.iter().filter_map(about).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    command.before_help(format!("Start with: unjank checkup\n{groups}"))
}

/// Lets every value begin with a minus before a digit: an option's own rules say what is
/// wrong with `--tier -5`, rather than that there is no option `-5`.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| {
            let has_value = argument.get_action().takes_values();
            if has_value { argument.allow_negative_numbers(true) } else { argument }
        })
        .mut_subcommands(with_negative_numbers)
}

/// The rules for `launch load` alone.
#[derive(Debug, Parser)]
struct Load {
    #[command(flatten)]
    args: launch::load::Args,
}

/// The command line as clap reads it: what follows `schd-dbg` may have one
/// dash, as in AOSP's tool.
fn arguments(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut is_schd_dbg = false;
    let translate = |(place, argument): (usize, OsString)| {
        is_schd_dbg |= place == 1 && argument == "schd-dbg";
        match argument.into_string() {
            Ok(argument) if is_schd_dbg => schd_dbg::with_two_dashes(argument).into(),
            Ok(argument) => argument.into(),
            Err(argument) => argument,
        }
    };
    typed.enumerate().map(translate).collect()
}
