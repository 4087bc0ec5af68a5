//! The command line.

mod closing;
pub(crate) mod manual;
mod same_file;
mod slip;

use std::borrow::Cow;
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::sync::LazyLock;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    checkup, completions, host, incidents, ipc, jitter, keeper, lab, launch, lock, man, parent,
    record, reproduce, restore, rt, runs, schd_dbg, swap, watch, why, with,
};
use crate::{output, paths};

/// Finds where a Linux or Android device loses time between a touch and its
/// response, and takes that time back.
#[derive(Debug, Parser)]
#[command(
    name = "unjank",
    bin_name = "unjank",
    version = version(),
    max_term_width = WIDEST,
    propagate_version = true,
    after_help = "\
Examples:
  unjank checkup
  sudo unjank why -- git status
  unjank                             # what to type first on this machine

Exit codes: 0 fine, 1 failure, 2 usage, 3 not possible on this machine,
4 not permitted, 5 a gate failed, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The version, and the commit that was built if it is known (`build.rs`).
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        match option_env!("UNJANK_COMMIT") {
            Some(commit) => format!("{version} ({commit})"),
            None => version.to_owned(),
        }
    });
    &VERSION
}

/// Lines of help are not longer than this, in columns.
const WIDEST: usize = 100;

/// The help of `unjank`, for clap: `{before-help}` lists the commands by purpose.
const ROOT_TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n{before-help}\n{options}";

/// The help of any other command without what closes it.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure all five delays on this machine, judge each, and name the next command
    Checkup(checkup::Args),
    /// Explain one launch: where its time went, and what each change would save
    Why(why::Args),
    /// Record what all threads do, for ui.perfetto.dev and for unjank why
    Record(record::Args),
    /// Keep the last seconds in memory, and explain a stutter after it happened
    Watch(watch::Args),
    /// Ask unjank watch to explain the last three seconds
    Mark(watch::mark::Args),
    /// The stutters that unjank watch has explained
    #[command(subcommand)]
    Incidents(incidents::Verb),
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
    /// Repeat the experiments of five publications, and compare the results with theirs
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
    /// What bash, zsh, fish or another shell completes
    Completions(completions::Args),
    /// Write the manual pages
    Man(man::Args),
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
            return Self { command: Some(Command::Launch(launch::Verb::Load(args))) };
        }
        Self::checked(&typed).unwrap_or_else(|error| {
            end(&error, slip::meant(&typed, error.kind(), paths::is_program))
        })
    }

    fn checked(typed: &[OsString]) -> Result<Self, clap::Error> {
        let mut definition = Self::definition(output::width());
        let matches = definition.try_get_matches_from_mut(typed)?;
        same_file::refuse(&definition, &matches)?;
        Self::from_arg_matches(&matches)
    }

    /// All commands, with help for a terminal of this width in columns.
    pub(crate) fn definition(width: usize) -> clap::Command {
        with_closing(with_negative_numbers(grouped(Self::command())), width.min(WIDEST))
    }
}

/// Prints help or an error, with arguments escaped: they may come from a script or
/// a file's name. What was probably meant takes the place of clap's own guess.
fn end(error: &clap::Error, meant: Option<String>) -> ! {
    let plain = error.render().to_string();
    let shown = unjank_report::lines(&plain);
    let shown = about_number(error, &shown).map_or(shown, Cow::Owned);
    let message = shown.strip_prefix("error: ").unwrap_or(&shown);
    if let Some(meant) = meant {
        let first = message.lines().next().unwrap_or_default();
        let meant = unjank_report::one_line(&meant);
        clap::Error::raw(error.kind(), format!("{first}\n\n  tip: {meant}\n")).exit()
    }
    match &shown {
        Cow::Owned(_) if error.use_stderr() => clap::Error::raw(error.kind(), message).exit(),
        _ => error.exit(),
    }
}

/// The message about a value that is no number, in words about the value instead of the parser.
fn about_number(error: &clap::Error, message: &str) -> Option<String> {
    let cause = error.source()?;
    let expected = match cause.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        IntErrorKind::NegOverflow => "the number is too small",
        _ => "expected a whole number",
    };
    Some(message.replace(&cause.to_string(), expected))
}

/// The groups of commands in `--help`, the most frequent first: a heading, and its
/// commands.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Find out what is slow",
        &["checkup", "why", "record", "launch", "swap", "jitter", "lock", "ipc"],
    ),
    ("Find out what was slow", &["watch", "mark", "incidents"]),
    ("Take the time back", &["rt", "with", "restore"]),
    ("Keep and compare", &["runs", "host"]),
    ("Research and the lab", &["reproduce", "schd-dbg", "lab"]),
    ("Install", &["completions", "man"]),
];

/// Lists the commands by purpose; clap itself has only one list.
fn grouped(command: clap::Command) -> clap::Command {
    let about = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        about.map(|about| format!("  {name:<13}{about}\n"))
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("\n{heading}:\n{}", names.iter().filter_map(about).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    command.before_help(format!("Start with: unjank checkup\n{groups}"))
}

/// Ends the help of each command with its closing text, fitted to this width. clap writes what is
/// in a template as it is.
fn with_closing(command: clap::Command, width: usize) -> clap::Command {
    let command = command.mut_subcommands(|below| with_closing(below, width));
    let Some(closing) = command.get_after_help().map(ToString::to_string) else { return command };
    let template = if command.get_name() == "unjank" { ROOT_TEMPLATE } else { TEMPLATE };
    let closing = closing::fitted(&closing, width);
    command.help_template(format!("{template}\n\n{closing}"))
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
