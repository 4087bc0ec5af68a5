//! `unjank swap tierd install` and `uninstall`: the service at every boot.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_cachesim::tier::TierPolicy;
use unjank_swap::remedy::writeback::zram::Zram;

use super::client::Tierd;
use crate::commands::installation::options::{WithOptions, size, time, typed, word};
use crate::commands::unit;

/// The service, and its options.
const SERVICE: WithOptions = WithOptions {
    unit: &unit::TIERD,
    settings: "/etc/unjank/tierd.conf",
    written: "# Written by unjank swap tierd install; docs/reference/swap/tierd.md has all options.",
    hint: "unjank swap tierd status shows what it does; uninstall removes it",
};

/// Arguments of `unjank swap tierd install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tierd install
  sudo unjank swap tierd install --after 10min --per-day 512MiB

Installs a systemd unit that starts this program at every boot. Writes these options
to /etc/unjank/tierd.conf, unless that file exists. Exit code 3: nothing was
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
    /// How long all other pages stay in zram
    #[arg(long, value_name = "TIME", value_parser = time)]
    after: Option<String>,
    /// How much may be written to the backing device per day
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

/// Installs and starts it.
pub(super) fn install(args: &InstallArgs) -> Result<ExitCode> {
    SERVICE.install::<Tierd>(args.root.as_ref(), options(args), |root| {
        Zram::find(root, args.zram.as_deref())?;
        Ok(())
    })
}

/// Stops the service and removes what `install` has written.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    SERVICE.uninstall(args.root.as_ref())
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
    typed(options).collect::<Vec<_>>().join(" ")
}

fn policy(text: &str) -> Result<String, String> {
    text.parse::<TierPolicy>().map_err(|error| error.to_string())?;
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
}
