//! `unjank swap tierd install` and `uninstall`: the service at every boot.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_cachesim::tier::TierPolicy;
use unjank_host::{Error, Root};
use unjank_swap::remedy::writeback::status::Status;
use unjank_swap::remedy::writeback::zram::Zram;

use super::args::SOCKET;
use crate::commands::installation::{self, Installation, Settings};
use crate::commands::service::{self, requests::Action};
use crate::commands::unit;
use crate::{exit, values};

/// The options of the installed service, which the unit reads.
const SETTINGS: &str = "/etc/unjank/tierd.conf";
/// The first line of settings that an installation writes.
const WRITTEN: &str =
    "# Written by unjank swap tierd install; docs/reference/swap/tierd.md has all options.";

/// Arguments of `unjank swap tierd install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tierd install
  sudo unjank swap tierd install --after 10min --per-day 512MiB

Installs a systemd unit that starts this program at every boot, and these options
in /etc/unjank/tierd.conf, unless there are some. Exit code 3: nothing was
installed, because no zram device with a backing device is in use, or systemd does
not run. What the service saves depends on the use of the machine: after some days,
unjank swap tierd status shows how many pages came back, and from where.")]
pub(super) struct InstallArgs {
    /// The zram device [default: the only one with a backing device]
    #[arg(long, value_name = "DEVICE", value_parser = word)]
    zram: Option<String>,
    /// Which pages stay in zram, by a name of `swap simulate --policy`
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    policy: Option<String>,
    /// How much zram holds, before compression
    #[arg(long, value_name = "SIZE", value_parser = size)]
    room: Option<String>,
    /// How long all other pages stay
    #[arg(long, value_name = "TIME", value_parser = time)]
    after: Option<String>,
    /// How much may be written to the backing device on a day
    #[arg(long, value_name = "SIZE", value_parser = size)]
    per_day: Option<String>,
    /// A directory tree that stands for the machine, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Arguments of `unjank swap tierd uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tierd uninstall
  sudo unjank swap tierd uninstall --root /srv/tree")]
pub(super) struct UninstallArgs {
    /// A directory tree that stands for the machine, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

fn below(root: Option<&PathBuf>) -> Root {
    root.map_or_else(Root::system, Root::at)
}

/// Installs and starts it.
pub(super) fn install(args: &InstallArgs) -> Result<ExitCode> {
    let root = below(args.root.as_ref());
    let target = Installation::on(&unit::TIERD, &root, Path::new(SETTINGS))?;
    let options = options(args);
    if target.has_settings() && !options.is_empty() {
        return Err(Error::Invalid(format!(
            "{} has the options, and stays as it is: change them there",
            target.settings().display()
        ))
        .into());
    }
    if root.is_system() {
        if let Ok(running) = service::ask::<Status>(Path::new(SOCKET), Action::Status, "") {
            return Err(Error::Invalid(format!(
                "unjank swap tierd runs already (process {}): stop it first, as with systemctl \
                 stop unjank-tierd",
                running.process
            ))
            .into());
        }
        // It would start in vain otherwise.
        Zram::find(&root, args.zram.as_deref())?;
    }
    let settings = (!options.is_empty())
        .then(|| Settings { text: format!("{WRITTEN}\nOPTIONS={options}\n"), about: options });
    let hint = "unjank swap tierd status shows what it does; uninstall removes it";
    target.install(settings.as_ref(), hint)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Stops the service and removes what `install` has written.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let root = below(args.root.as_ref());
    installation::uninstall(&unit::TIERD, &root, Path::new(SETTINGS), is_written)?;
    Ok(ExitCode::from(exit::FINE))
}

/// The given options, as they are typed.
fn options(args: &InstallArgs) -> String {
    let options = [
        ("--zram", &args.zram),
        ("--policy", &args.policy),
        ("--room", &args.room),
        ("--after", &args.after),
        ("--per-day", &args.per_day),
    ];
    let given = options
        .into_iter()
        .filter_map(|(option, value)| value.as_ref().map(|value| format!("{option} {value}")));
    given.collect::<Vec<_>>().join(" ")
}

/// Whether settings are as an installation wrote them.
fn is_written(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    matches!(lines[..], [WRITTEN, options] if options.starts_with("OPTIONS="))
}

/// A value that systemd passes on as one word.
fn word(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._+-=:".contains(letter);
    if text.is_empty() || !text.chars().all(plain) {
        return Err("only letters, digits and /._+-=: can be written into the settings".to_owned());
    }
    Ok(text.to_owned())
}

fn policy(text: &str) -> Result<String, String> {
    text.parse::<TierPolicy>().map_err(|error| error.to_string())?;
    word(text)
}

fn size(text: &str) -> Result<String, String> {
    values::bytes(text)?;
    word(text)
}

fn time(text: &str) -> Result<String, String> {
    values::duration(text)?;
    word(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: InstallArgs,
    }

    #[test]
    fn options_are_written_as_they_are_typed() {
        let typed = |words: &[&str]| Typed::try_parse_from([&["install"], words].concat());
        let all =
            ["--after", "10min", "--per-day", "512MiB", "--zram", "zram1", "--policy", "none"];
        let text = options(&typed(&all).unwrap().args);
        assert_eq!(text, "--zram zram1 --policy none --after 10min --per-day 512MiB");
        assert_eq!(options(&typed(&[]).unwrap().args), "");
        for wrong in [["--after", "x"], ["--policy", "x"], ["--room", "-1"], ["--zram", "a b"]] {
            assert!(typed(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn settings_that_were_changed_are_known() {
        assert!(is_written(&format!("{WRITTEN}\nOPTIONS=--after 10min\n")));
        for text in ["", "OPTIONS=--after 10min\n", &format!("{WRITTEN}\nOPTIONS=\nMORE=1\n")] {
            assert!(!is_written(text), "{text}");
        }
    }
}
