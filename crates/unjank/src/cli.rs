//! The command line.

use std::borrow::Cow;
use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    checkup, host, ipc, jitter, keeper, lab, launch, lock, parent, reproduce, restore, rt, runs,
    schd_dbg, swap, why, with,
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
    /// Measure all five delays on this machine, judge each, and name the next command
    Checkup(checkup::Args),
    /// Explain one launch: where its time went, and what each change would save
    Why(why::Args),
    /// Describe this machine: everything that affects delays
    Host(host::Args),
    /// Slow launches: measure them, raise the CPU's clock for them, and compare energy
    #[command(subcommand)]
    Launch(launch::Verb),
    /// Slow page-ins: measure their cost, record and analyse swap traces, simulate policies
    #[command(subcommand)]
    Swap(swap::Verb),
    /// Late threads: measure wake-up latency, natively and in a JVM, and find its causes
    #[command(subcommand)]
    Jitter(jitter::Verb),
    /// Give threads of other programs a real-time or other policy, chosen by their names
    #[command(subcommand)]
    Rt(rt::Verb),
    /// Waiting for locks: measure what it costs, and find threads that wait badly
    #[command(subcommand)]
    Lock(lock::Verb),
    /// Calls between processes: measure round trips, and check priority inheritance
    #[command(subcommand)]
    Ipc(ipc::Verb),
    /// AOSP's binder latency test: its options, and its keys as valid JSON
    #[command(name = "schd-dbg")]
    SchdDbg(schd_dbg::Args),
    /// What the five publications claim, beside what comes out here
    Reproduce(reproduce::Args),
    /// The virtual phone: a kernel with binder, ublk and P-states, in QEMU
    #[command(subcommand)]
    Lab(lab::Verb),
    /// Kept runs: list, show, compare, export, import, prune
    #[command(subcommand)]
    Runs(runs::Verb),
    /// Change knobs of the kernel for the time of a command, and put them back
    With(with::Args),
    /// Put back what a killed unjank left changed
    Restore(restore::Args),
    /// Put back changes if the unjank that made them is killed; started by that unjank
    #[command(hide = true)]
    Keeper(keeper::Args),
    /// Run one start of a probe in its own process; started by the probe
    #[command(hide = true)]
    Repetition(parent::Parent),
}

impl Cli {
    /// Parses the command line.
    ///
    /// `launch load` is an app whose start is measured, and building the parser
    /// for all commands takes longer than starting a program. So its own parser
    /// is tried first. The full parser handles help and errors.
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

/// Prints help or an error, with arguments escaped: they may come from a script or
/// a file's name.
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

/// The groups of commands in `--help`, the most frequent first: a heading, and its
/// commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Find out what is slow", &["checkup", "why", "launch", "swap", "jitter", "lock", "ipc"]),
    ("Take the time back", &["rt", "with", "restore"]),
    ("Keep and compare", &["runs", "host"]),
    ("Research and the lab", &["reproduce", "schd-dbg", "lab"]),
];

/// Lists the commands by purpose; clap itself has only one list.
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

/// Lets every value be a negative number or time, so that the error for `--tier -5` or
/// `--for -5ms` comes from the option's own parser instead of naming an unknown option `-5`.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| {
            let has_value = argument.get_action().takes_values();
            let is_time = argument.get_value_names().is_some_and(|names| names[0] == "TIME");
            match (has_value, is_time) {
                (true, true) => argument.allow_hyphen_values(true),
                (true, false) => argument.allow_negative_numbers(true),
                (false, _) => argument,
            }
        })
        .mut_subcommands(with_negative_numbers)
}

/// The parser for `launch load` alone.
#[derive(Debug, Parser)]
struct Load {
    #[command(flatten)]
    args: launch::load::Args,
}

/// The command line for clap: options of `schd-dbg` may have a single dash, as in
/// AOSP's tool.
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

#[cfg(test)]
mod tests;
