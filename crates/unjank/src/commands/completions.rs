//! `unjank completions`: what a shell completes.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Command, Id};
use clap_complete::Shell;

use crate::{exit, output};

/// Arguments of `unjank completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank completions bash > ~/.local/share/bash-completion/completions/unjank
  unjank completions zsh > ~/.zfunc/_unjank              # a directory of $fpath
  unjank completions fish > ~/.config/fish/completions/unjank.fish

Packages of unjank have them already. The shell reads them when it starts.")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script for all commands.
pub(crate) fn run(args: &Args, all: &Command) -> Result<ExitCode> {
    let mut command = visible(all).propagate_version(true);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "unjank", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::from(exit::FINE))
}

/// What a shell needs to know of a command, without the hidden commands below it.
fn visible(command: &Command) -> Command {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set()).map(visible);
    let arguments = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let is_visible = |id: &Id| arguments().any(|argument| argument.get_id() == id);
    // Arguments refer to groups.
    let groups = command.get_groups().filter(|group| group.get_args().all(is_visible));
    Command::new(command.get_name().to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .about(command.get_about().cloned().unwrap_or_default())
        .args(arguments())
        .groups(groups)
        .subcommands(below)
}
