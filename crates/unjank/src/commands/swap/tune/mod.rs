//! `unjank swap tune`: what this machine's swap should be.

mod undo;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::machine::VmStat;
use unjank_host::process::is_root;
use unjank_host::{Bytes, Error, Machine, Root};
use unjank_measure::record::Change;
use unjank_measure::{Findings, Monitor};
use unjank_swap::remedy::tune::decide::{Method, Present, Proposal, decide};
use unjank_swap::remedy::tune::reuse::Reuse;
use unjank_swap::remedy::tune::{Options, apply, files, findings, measure};
use unjank_swap::trace::{self, Trace};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::session;
use crate::{interrupt, output, paths, values};

/// Arguments of `unjank swap tune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tune                            # measure and propose; nothing is changed
  sudo unjank swap tune --apply                    # also apply it, until --undo or the next boot
  sudo unjank swap tune --recording evening.parquet    # the size of zram from what came back
  sudo unjank swap tune --write                    # for every boot, as files below /etc
  sudo unjank swap tune --undo                     # take back what --apply and --write did

A sample of the pages that programs have in memory is compressed with each
algorithm of zram, in zram devices that are removed afterwards. The sample is stored
nowhere else, and its memory is neither swapped nor dumped. Then the file system and
a swap area on storage are read past the page cache. The proposal follows from these
measurements: zram or zswap, the algorithm, the size, vm.swappiness (200·k/(1+k), as
the kernel documents it) and vm.page-cluster, each with its reason.

--write makes files for zram-generator, sysctl.d and tmpfiles.d, which those
programs read at boot. Exit codes: 3 not possible on this machine, 4 not
permitted (this needs root). docs/reference/swap/tune.md has the details.")]
pub(crate) struct Args {
    /// What to swap to
    #[arg(long = "use", value_name = "METHOD", value_enum, default_value = "auto")]
    method: MethodName,
    /// A recording of unjank swap record, for the algorithm and the size; several are merged by time
    #[arg(long, value_name = "FILE")]
    recording: Vec<PathBuf>,
    /// How much of programs' memory to compress
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = values::bytes)]
    sample_size: Bytes,
    /// A directory on the file system to read [default: the user's cache, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Make the settings, until --undo or the next boot
    #[arg(long)]
    apply: bool,
    /// Write the settings to files, for every boot
    #[arg(long)]
    write: bool,
    /// Where those files go
    #[arg(long, value_name = "DIR", default_value = "/etc")]
    etc: PathBuf,
    /// Take back what --apply and --write did
    #[arg(long, conflicts_with_all = ["apply", "write", "recording", "method", "sample_size", "directory"])]
    undo: bool,
    /// The directory of the journals [default: /var/lib/unjank/journal for root]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MethodName {
    /// zswap where there is a swap area on storage, otherwise zram
    Auto,
    /// A zram device
    Zram,
    /// zswap, in front of a swap area on storage
    Zswap,
}

impl MethodName {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Zram => "zram",
            Self::Zswap => "zswap",
        }
    }

    fn method(self) -> Method {
        match self {
            Self::Auto => Method::Auto,
            Self::Zram => Method::Zram,
            Self::Zswap => Method::Zswap,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let state = args.state_dir.clone().map_or_else(paths::journal, Ok)?;
    if args.undo {
        return undo::run(&state, &args.etc, args.output.json);
    }
    if !is_root() {
        let what = "measuring with programs' memory".to_owned();
        return Err(Error::Permission { what, needs: "root".to_owned() }.into());
    }
    let options = Options {
        sample: args.sample_size,
        directory: args.directory.clone().unwrap_or_else(paths::scratch),
    };
    let traces: Vec<String> =
        args.recording.iter().map(|path| path.display().to_string()).collect();
    let settings = Settings::default()
        .with("use", args.method.name())
        .with("recording", traces)
        .with("sample_size", options.sample.get())
        .with("directory", options.directory.display().to_string())
        .with("apply", args.apply)
        .with("write", args.write);
    let command = measured::Command { name: "swap tune", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let reuse = if args.recording.is_empty() {
            None
        } else {
            let Some(reuse) = reuse(&args.recording, monitor)? else {
                return Ok(Findings::default());
            };
            Some(reuse)
        };
        let present = present(root)?;
        let session = session::open(root, Some(&state))?;
        let measured = measure(&options, &session, root, seed, monitor);
        let (measured, changes) = session::end(Some(session), measured)?;
        let proposal = decide(&measured, &present, reuse.as_ref(), args.method.method());
        let acts = !monitor.stop_requested();
        let applied = args.apply && acts;
        let made = if applied { make(&proposal, root, &state)? } else { Vec::new() };
        let mut findings = findings(measured, &proposal, reuse.as_ref(), applied);
        session::note(changes, &mut findings);
        findings.changes.extend(made);
        if args.write && acts {
            for path in files::write(&proposal, &args.etc)? {
                output::remark(&format!("wrote {}", path.display()));
            }
        }
        Ok(findings)
    })
}

/// Makes the settings, and returns what was changed.
fn make(proposal: &Proposal, root: &Root, state: &Path) -> Result<Vec<Change>> {
    let session = session::open(root, Some(state))?;
    apply::apply(proposal, session, root, state).context("while making the settings")
}

/// What came back in recordings; `None` if the user interrupted their reading.
fn reuse(paths: &[PathBuf], monitor: &dyn Monitor) -> Result<Option<Reuse>> {
    let options = trace::Options { stop: interrupt::stop(), ..trace::Options::default() };
    let mut trace = Trace::open(paths, &options)?;
    Reuse::read(&mut trace, monitor).context("while reading the recording")
}

/// The machine as it is.
fn present(root: &Root) -> Result<Present> {
    let Machine { memory, kernel, .. } = Machine::read(root);
    let vmstat = VmStat::read(root)?;
    let crypto = root.read_if_there("/proc/crypto")?.map(|text| {
        let names = text.lines().filter_map(|line| line.strip_prefix("name"));
        names.filter_map(|rest| Some(rest.split_once(':')?.1.trim().to_owned())).collect()
    });
    Ok(Present {
        memory,
        kernel: kernel.release,
        readahead: vmstat.swap_ra().zip(vmstat.swap_ra_hit()),
        crypto,
    })
}
