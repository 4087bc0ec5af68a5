//! `unjank launch boost install` and `uninstall`: the service at every boot, with the method that
//! this machine gains most from.

mod trial;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Error, Root};
use unjank_launch::remedy::config::{self, Config};
use unjank_launch::remedy::plan::Method;
use unjank_measure::{Findings, Monitor};

use self::trial::Trial;
use super::args::method;
use super::client::Boost;
use crate::commands::installation::{self, Installation};
use crate::commands::measured::{Command, Outcome, OutputArgs, Settings};
use crate::commands::place::PlaceArgs;
use crate::commands::service::check_that_none_runs;
use crate::commands::unit;
use crate::{exit, output, paths};

/// Arguments of `unjank launch boost install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank launch boost install
  sudo unjank launch boost install --dry-run               # try, and install nothing
  sudo unjank launch boost install --method double-tap --unproved

First it launches the built-in load app with and without each method that this
machine has, in alternating pairs. Then it installs the method that shortens
launches most: a systemd unit that starts this program at every boot, and the
method in /etc/unjank/boost.toml. If that file is there already, only its method
is tried, and the file stays as it is. Exit code 3: nothing was installed,
because no method shortens launches here or systemd does not run.")]
pub(super) struct InstallArgs {
    /// Try this method alone [default: each that this machine has]
    #[arg(long, value_name = "METHOD", value_parser = method)]
    method: Option<Method>,
    /// Pairs of launches for each method
    #[arg(long, value_name = "N", default_value_t = 12)]
    pairs: usize,
    /// Install the first method even if none shortens launches
    #[arg(long)]
    unproved: bool,
    /// Try, say what would be installed, and install nothing
    #[arg(long)]
    dry_run: bool,
    /// Count cycles by the frequency that the governor set, as in the virtual phone
    #[arg(long)]
    emulated_clock: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Arguments of `unjank launch boost uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank launch boost uninstall
  sudo unjank launch boost uninstall --root /srv/tree")]
pub(super) struct UninstallArgs {
    /// A directory tree that stands for the machine, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Tries, and installs what helps.
pub(super) fn install(args: &InstallArgs) -> Result<ExitCode> {
    let settings = Settings::default()
        .with("method", args.method.map(trial::name))
        .with("pairs", args.pairs)
        .with("unproved", args.unproved)
        .with("dry_run", args.dry_run)
        .with("emulated_clock", args.emulated_clock);
    let command = Command { name: "launch boost install", output: &args.output, settings };
    command.run(|_, seed, monitor| measure(args, &args.place.root(), seed, monitor))
}

fn measure(args: &InstallArgs, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Outcome> {
    // What can refuse does so before minutes of measuring.
    let target = if args.dry_run {
        None
    } else {
        Some(Installation::on(&unit::BOOST, root, config::place(root))?)
    };
    let there = root.exists(config::place(root));
    let config = Config::read(root, None).map_err(Error::of_named_file)?;
    if root.is_system() {
        check_that_none_runs::<Boost>()?;
    }
    let method = method_to_try(args.method, there.then_some(config.boost.method))?;
    let directory = paths::temporary_directory()?;
    let state_dir = args.place.state_dir()?;
    let trial = Trial {
        root,
        state_dir: &state_dir,
        config: &config,
        method,
        pairs: args.pairs,
        emulated_clock: args.emulated_clock,
        directory: directory.path(),
    };
    let findings = trial.run(seed, monitor)?;
    if monitor.stop_requested() {
        return Ok(Outcome::from(findings));
    }
    let Some(chosen) = choose(args, &findings) else {
        output::remark(if args.unproved {
            "nothing is installed: no launch of the trial has succeeded"
        } else {
            "nothing is installed: no method shortens launches here, as far as these pairs show; \
             more --pairs show smaller gains, and --unproved installs all the same"
        });
        return Ok(Outcome::from(findings).ending(Ok(exit::UNSUPPORTED)));
    };
    let Some(target) = target else {
        output::remark(&format!("{chosen} would be installed"));
        return Ok(Outcome::from(findings));
    };
    // The trial is kept, however this ends.
    let settings =
        installation::Settings { text: written(&chosen), about: format!("method {chosen}") };
    let hint = "unjank launch boost status shows what it does; uninstall removes it";
    let done = target.install(Some(&settings), hint);
    Ok(Outcome::from(findings).ending(done.map(|()| exit::FINE)))
}

/// The only method to try: the one that was named, or that of the settings, which stay as they are.
fn method_to_try(named: Option<Method>, set: Option<Method>) -> Result<Option<Method>> {
    match (named, set) {
        (Some(named), Some(set)) if named != set => Err(Error::Invalid(format!(
            "the settings have the method {}, and stay as they are: change it there first",
            trial::name(set)
        ))
        .into()),
        _ => Ok(named.or(set)),
    }
}

/// The method to install: the best, or with `--unproved` the first that was tried.
fn choose(args: &InstallArgs, findings: &Findings) -> Option<String> {
    let tried = || {
        let mut rows = unjank_launch::bench::rows(findings).into_iter();
        rows.find(|row| row.name.ends_with("/total"))
    };
    let best = trial::best(findings).or_else(|| if args.unproved { tried() } else { None })?;
    Some(best.other.0)
}

/// The settings that an installation writes.
fn written(method: &str) -> String {
    format!(
        "# The method that shortened launches most on this machine: unjank launch boost install.\n\
         # docs/reference/launch/boost.md has all keys.\n\n[boost]\nmethod = \"{method}\"\n"
    )
}

/// Stops the service and removes what `install` has written.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let root = args.root.as_ref().map_or_else(Root::system, Root::at);
    installation::uninstall(&unit::BOOST, &root, config::place(&root), is_written)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Whether settings are as an installation wrote them.
fn is_written(text: &str) -> bool {
    let method = text.lines().find_map(|line| line.strip_prefix("method = \"")?.strip_suffix('"'));
    method.is_some_and(|method| text == written(method))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn settings_that_stay_are_the_ones_that_are_tried() {
        let [one, other] = [Method::MinFreq, Method::DoubleTap];
        let tried = |named, set| method_to_try(named, set).ok();
        assert_eq!(tried(None, None), Some(None));
        assert_eq!(tried(Some(one), None), Some(Some(one)));
        assert_eq!(tried(None, Some(other)), Some(Some(other)));
        assert_eq!(tried(Some(one), Some(one)), Some(Some(one)));
        assert_eq!(tried(Some(one), Some(other)), None);
    }

    #[test]
    fn settings_are_read_as_written() {
        let text = written("double-tap");
        let config = Config::parse(&text, Path::new("boost.toml")).unwrap();
        assert_eq!(config.boost.method, Method::DoubleTap);
        assert!(is_written(&text));
        assert!(!is_written(&text.replace("[boost]", "[boost]\nlearn = false")));
        assert!(!is_written(""));
    }
}
