//! `unjank watch install` and `uninstall`: the service at every boot.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::args::{launch_rule, rule, silence_rule};
use super::client::Watch;
use crate::commands::installation::options::{WithOptions, size, time, typed, word};
use crate::commands::unit;
use crate::commands::why::open_tracefs;
use crate::values;

/// The service, and its options.
const SERVICE: WithOptions = WithOptions {
    unit: &unit::WATCH,
    settings: "/etc/unjank/watch.conf",
    written: "# Written by unjank watch install; docs/reference/watch.md has all options.",
    hint: "unjank mark after a stutter explains it; uninstall removes the service",
};

/// Arguments of `unjank watch install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank watch install
  sudo unjank watch install --late 'pipewire*=5ms' --most-kept 64MiB

Installs a systemd unit that starts this program at every boot. Writes these options
to /etc/unjank/watch.conf, unless that file exists. Exit code 3: nothing was
installed, because the kernel cannot record, or systemd does not run.")]
pub(super) struct InstallArgs {
    /// Memory of the kernel's buffers
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffers: Option<String>,
    /// Begin with an eighth of the buffers, and enlarge them when they hold less than this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep: Option<String>,
    /// Also record the system calls and page faults of these programs: 'firefox'; may be repeated
    #[arg(long, value_name = "NAME", value_parser = program)]
    calls_of: Vec<String>,
    /// Threads that must not wait for a CPU longer than this: NAME=TIME; may be repeated
    #[arg(long, value_name = "NAME=TIME", value_parser = thread)]
    late: Vec<String>,
    /// Programs that must not take longer to start than this ('code=3s'), or than usual
    /// ('firefox=2x'); may be repeated
    #[arg(long, value_name = "NAME=LIMIT", value_parser = launch)]
    slow_launch: Vec<String>,
    /// Servers that must not leave a Unix socket unread for longer than this: 'Xorg=2s'; may be
    /// repeated
    #[arg(long, value_name = "NAME=TIME", value_parser = server)]
    silent: Vec<String>,
    /// Maximum number of incidents that are explained in an hour
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    per_hour: Option<u32>,
    /// Maximum size of all kept incidents
    #[arg(long, value_name = "SIZE", value_parser = size)]
    most_kept: Option<String>,
    /// Replace names of threads and programs by hashes
    #[arg(long, conflicts_with = "calls_of")]
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

/// Installs and starts it.
pub(super) fn install(args: &InstallArgs) -> Result<ExitCode> {
    SERVICE.install::<Watch>(args.root.as_ref(), options(args), |root| {
        open_tracefs(root)?;
        Ok(())
    })
}

/// Stops the service and removes what `install` has written.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    SERVICE.uninstall(args.root.as_ref())
}

/// The given options, as they are typed.
fn options(args: &InstallArgs) -> String {
    let valued =
        [("--buffers", &args.buffers), ("--keep", &args.keep), ("--most-kept", &args.most_kept)];
    let rules = [
        ("--calls-of", &args.calls_of),
        ("--late", &args.late),
        ("--slow-launch", &args.slow_launch),
        ("--silent", &args.silent),
    ];
    let rules = rules
        .into_iter()
        .flat_map(|(option, rules)| rules.iter().map(move |rule| format!("{option} {rule}")));
    let per_hour = args.per_hour.map(|number| format!("--per-hour {number}"));
    let redact = args.redact.then(|| "--redact".to_owned());
    typed(valued).chain(rules).chain(per_hour).chain(redact).collect::<Vec<_>>().join(" ")
}

fn program(text: &str) -> Result<String, String> {
    values::thread_pattern(text)?;
    word(text)
}

fn thread(text: &str) -> Result<String, String> {
    rule(text)?;
    word(text)
}

fn launch(text: &str) -> Result<String, String> {
    launch_rule(text)?;
    word(text)
}

fn server(text: &str) -> Result<String, String> {
    silence_rule(text)?;
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
            "--late a*=5ms --late b=1s --slow-launch c=2x --silent d=2s --per-hour 9 --redact";
        let all: Vec<&str> = all.split(' ').collect();
        let text = options(&typed(&all).unwrap().args);
        assert_eq!(text, all.join(" "));
        assert_eq!(options(&typed(&[]).unwrap().args), "");
        for wrong in [
            ["--late", "a"],
            ["--late", "a b=5ms"],
            ["--silent", "a=5ms"],
            ["--slow-launch", "a=1x"],
        ] {
            assert!(typed(&wrong).is_err(), "{wrong:?}");
        }
    }
}
