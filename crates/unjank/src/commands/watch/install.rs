//! `unjank watch install` and `uninstall`: the service at every boot.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Error, Root};
use unjank_watch::status::Status;

use super::args::{SOCKET, rule};
use crate::commands::installation::{self, Installation, Settings};
use crate::commands::service::{self, requests::Action};
use crate::commands::unit;
use crate::commands::why::open_tracefs;
use crate::{exit, values};

/// The options of the installed service, which the unit reads.
const SETTINGS: &str = "/etc/unjank/watch.conf";
/// The first line of settings that an installation writes.
const WRITTEN: &str = "# Written by unjank watch install; docs/reference/watch.md has all options.";

/// Arguments of `unjank watch install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank watch install
  sudo unjank watch install --late 'pipewire*=5ms' --most-kept 64MiB

Installs a systemd unit that starts this program at every boot, and these options
in /etc/unjank/watch.conf, unless there are some. Exit code 3: nothing was
installed, because the kernel cannot record, or systemd does not run.")]
pub(super) struct InstallArgs {
    /// Memory of the kernel's buffers
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffers: Option<String>,
    /// Threads that must not wait for a CPU longer than this: NAME=TIME; may be repeated
    #[arg(long = "late", value_name = "NAME=TIME", value_parser = thread)]
    threads: Vec<String>,
    /// The most incidents that are explained in an hour
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    per_hour: Option<u32>,
    /// The most that kept incidents take
    #[arg(long, value_name = "SIZE", value_parser = size)]
    most_kept: Option<String>,
    /// Replace names of threads and programs by hashes
    #[arg(long)]
    redact: bool,
    /// A directory tree that stands for the machine, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Arguments of `unjank watch uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank watch uninstall
  sudo unjank watch uninstall --root /srv/tree")]
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
    let target = Installation::on(&unit::WATCH, &root, Path::new(SETTINGS))?;
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
                "unjank watch runs already (process {}): stop it first, as with systemctl stop \
                 unjank-watch",
                running.process
            ))
            .into());
        }
        // It would start in vain otherwise.
        open_tracefs(&root)?;
    }
    let settings = (!options.is_empty())
        .then(|| Settings { text: format!("{WRITTEN}\nOPTIONS={options}\n"), about: options });
    let hint = "unjank mark after a stutter explains it; uninstall removes the service";
    target.install(settings.as_ref(), hint)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Stops the service and removes what `install` has written.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let root = below(args.root.as_ref());
    installation::uninstall(&unit::WATCH, &root, Path::new(SETTINGS), is_written)?;
    Ok(ExitCode::from(exit::FINE))
}

/// The given options, as they are typed.
fn options(args: &InstallArgs) -> String {
    let valued = [("--buffers", &args.buffers), ("--most-kept", &args.most_kept)];
    let valued = valued
        .into_iter()
        .filter_map(|(option, value)| value.as_ref().map(|value| format!("{option} {value}")));
    let threads = args.threads.iter().map(|rule| format!("--late {rule}"));
    let per_hour = args.per_hour.map(|number| format!("--per-hour {number}"));
    let redact = args.redact.then(|| "--redact".to_owned());
    valued.chain(threads).chain(per_hour).chain(redact).collect::<Vec<_>>().join(" ")
}

/// Whether settings are as an installation wrote them.
fn is_written(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    matches!(lines[..], [WRITTEN, options] if options.starts_with("OPTIONS="))
}

/// A value that systemd passes on as one word.
fn word(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._+-=:*".contains(letter);
    if text.is_empty() || !text.chars().all(plain) {
        return Err("only letters, digits and /._+-=:* can be written into the settings".to_owned());
    }
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<String, String> {
    values::bytes(text)?;
    word(text)
}

fn thread(text: &str) -> Result<String, String> {
    rule(text)?;
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
        let all = ["--late", "a*=5ms", "--late", "b=1s", "--per-hour", "9", "--redact"];
        let text = options(&typed(&all).unwrap().args);
        assert_eq!(text, "--late a*=5ms --late b=1s --per-hour 9 --redact");
        assert_eq!(options(&typed(&[]).unwrap().args), "");
        for wrong in [["--late", "a"], ["--late", "a b=5ms"], ["--most-kept", "x"]] {
            assert!(typed(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn settings_that_were_changed_are_known() {
        assert!(is_written(&format!("{WRITTEN}\nOPTIONS=--redact\n")));
        assert!(!is_written("OPTIONS=--redact\n"));
    }
}
