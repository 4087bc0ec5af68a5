//! `unjank lab run`: commands in a virtual phone.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use unjank_host::{Bytes, Error, Nanos};
use unjank_lab::kernel::MIRROR;
use unjank_lab::{Accelerator, Architecture, Event, InstructionTime, Kernel, Options, Profile};
use unjank_measure::Store;

use super::kernel::{Arch, architecture, cache, fetched};
use crate::commands::measured::build;
use crate::commands::storing::store_path;
use crate::interrupt::{Interrupt, stop};
use crate::output::{self, Progress, Stream};
use crate::{exit, values};

/// Arguments of `unjank lab run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lab run -- unjank ipc probe --transport binder
  unjank lab run --pstates exynos4210 -- unjank launch ramp
  unjank lab run --accel icount --pstates exynos4210 -- unjank launch bench \\
    --load 0,400ms --emulated-clock --a sampling_rate=100ms --b sampling_rate=50ms
  unjank lab run --cpu-count 4 --memory 2GiB -- unjank host --json
  unjank lab run -- unjank host --and unjank ipc probe --quick
  unjank lab run --add ./my-test -- my-test --verbose
  unjank lab run --arch aarch64 --guest unjank-arm -- unjank checkup --quick

The phone is a stock Debian kernel in QEMU with binder, ublk and zram; its only
program is unjank, which runs as root. It has no network and no disk. The exit
code is that of the last command, or 128 plus the signal that killed it. Ctrl-C
reaches the command, which prints its results so far; a second one ends the
phone. Without KVM the phone is emulated: its runs are labelled emulated, and
their times are not those of hardware. See docs/reference/lab.md.")]
pub(crate) struct Args {
    /// The command; --and begins another one, which runs if the first succeeds
    #[arg(required = true, last = true, value_name = "COMMAND", allow_hyphen_values = true)]
    command: Vec<String>,
    /// The phone's processor [default: that of this machine]
    #[arg(long, value_name = "ARCH")]
    arch: Option<Arch>,
    /// Virtual CPUs
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpu_count: usize,
    /// The phone's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::bytes)]
    memory: Bytes,
    /// Give the phone a disk of this size, empty, at /data (needs e2fsprogs)
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    disk: Option<Bytes>,
    /// P-states: exynos4210, or a profile in a file
    #[arg(long, value_name = "NAME|FILE")]
    pstates: Option<String>,
    /// End the phone after this time, such as 5m [default: none; 20m for the boot]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    timeout: Option<Nanos>,
    /// A program to put into the phone's /bin, with its libraries; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    add: Vec<PathBuf>,
    /// What executes the phone's instructions
    #[arg(long, value_enum, default_value = "auto")]
    accel: Accel,
    /// Time of one instruction with --accel icount: 1ns, 2ns, 4ns … 1024ns
    #[arg(long, value_name = "TIME", default_value_t, value_parser = instruction_time)]
    instruction_time: InstructionTime,
    /// Show the phone's console on stderr
    #[arg(long)]
    verbose: bool,
    /// Do not copy the phone's runs to the store
    #[arg(long)]
    no_store: bool,
    /// Keep them in this store [default: unjank/runs.sqlite in the user's data
    /// directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    store: Option<PathBuf>,
    /// A kernel: a Debian package, the directory of an unpacked one, or an
    /// image [default: the one that `unjank lab fetch` fetches]
    #[arg(long, value_name = "FILE", help_heading = "Parts")]
    kernel: Option<PathBuf>,
    /// The directory with that kernel's modules, if the package lacks them
    #[arg(long, value_name = "DIR", requires = "kernel", help_heading = "Parts")]
    modules: Option<PathBuf>,
    /// The unjank that runs in the phone [default: this one]
    #[arg(long, value_name = "FILE", help_heading = "Parts")]
    guest: Option<PathBuf>,
}

/// What executes the phone's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Accel {
    /// KVM if it works, else translation by QEMU
    Auto,
    /// The processor, through KVM
    Kvm,
    /// QEMU, which translates them
    Tcg,
    /// QEMU, with time counted in instructions: times do not depend on other
    /// load
    Icount,
}

fn instruction_time(text: &str) -> Result<InstructionTime, String> {
    let time = values::duration(text)?;
    InstructionTime::new(time).ok_or("not a power of two from 1ns to 1024ns".to_owned())
}

/// Separates two commands.
const AND: &str = "--and";

/// Boots the phone, runs the commands, and stores the phone's runs.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let commands = commands(&args.command)?;
    let architecture = architecture(args.arch);
    let guest = match &args.guest {
        Some(named) => named.clone(),
        None if architecture != Architecture::default() => bail!(Error::Invalid(format!(
            "a phone of {architecture} needs a static unjank for {architecture}: name it with \
             --guest FILE (make dist builds one)"
        ))),
        None => env::current_exe().context("while looking for the file of this program")?,
    };
    let cache = cache(architecture)?;
    let kernel = match &args.kernel {
        Some(path) => Kernel::at(path, args.modules.as_deref(), cache.directory())?,
        None => fetched(&cache, MIRROR)?,
    };
    let stop = stop();
    let profile = args.pstates.as_deref().map(|name| Profile::find(name, &stop)).transpose()?;
    let options = Options {
        architecture,
        kernel,
        guest,
        build: build(),
        programs: args.add.clone(),
        cpus: args.cpu_count,
        memory: args.memory,
        disk: args.disk,
        profile,
        accelerator: match args.accel {
            Accel::Auto => None,
            Accel::Kvm => Some(Accelerator::Kvm),
            Accel::Tcg => Some(Accelerator::Tcg),
            Accel::Icount => Some(Accelerator::Icount(args.instruction_time)),
        },
        limit: args.timeout,
        verbose: args.verbose,
        scratch: cache.directory().to_owned(),
        stop,
    };
    let path = if args.no_store { None } else { store_path(args.store.as_deref()) };
    let open = |path: PathBuf| {
        Store::check_place(&path)?;
        Store::open(&path)
    };
    let mut store = path.map(open).transpose()?;
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    let progress = Progress::new("lab run", interrupt);
    let mut failure = Ok(());
    let result = unjank_lab::run(&options, &commands, &progress, &mut |event| {
        let done = take(event, args.verbose, &progress, store.as_mut());
        if failure.is_ok() {
            failure = done;
        }
    });
    progress.clear();
    let result = result?;
    failure?;
    Ok(ExitCode::from(if result.interrupted { exit::INTERRUPTED } else { result.code() }))
}

/// Prints or stores one event of the phone.
fn take(
    event: Event<'_>,
    verbose: bool,
    progress: &Progress,
    store: Option<&mut Store>,
) -> Result<()> {
    match event {
        Event::Console(bytes) if verbose => Stream::Stderr.pass_on(bytes)?,
        Event::Console(_) | Event::Ended(_) => {}
        Event::Up { .. } => progress.clear(),
        Event::Stdout(bytes) => Stream::Stdout.pass_on(bytes)?,
        Event::Stderr(bytes) => Stream::Stderr.pass_on(bytes)?,
        Event::Remark(text) => output::remark(&unjank_report::visible(&format!("phone: {text}"))),
        Event::Record(text) => {
            if let Some(store) = store {
                store
                    .import(text, "a run of the virtual phone")
                    .context("the run was measured, but not stored (--no-store skips the store)")?;
            }
        }
    }
    Ok(())
}

/// The commands between the `--and`s.
fn commands(words: &[String]) -> Result<Vec<Vec<String>>> {
    let commands: Vec<Vec<String>> = words.split(|word| word == AND).map(<[_]>::to_vec).collect();
    if commands.iter().any(Vec::is_empty) {
        bail!(Error::Invalid(format!("{AND} must stand between two commands")));
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn and_separates_commands() {
        assert_eq!(commands(&words("unjank host")).unwrap(), [words("unjank host")]);
        assert_eq!(
            commands(&words("unjank host --and my-test -v")).unwrap(),
            [words("unjank host"), words("my-test -v")]
        );
        for wrong in ["--and x", "x --and", "x --and --and y"] {
            assert!(commands(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
