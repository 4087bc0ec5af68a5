//! `unjank swap record`: page-ins and page-outs as a trace.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Bytes, Nanos};
use unjank_swap::record::{self, Options};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::session;
use crate::{paths, values};

/// Arguments of `unjank swap record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap record --out j.parquet --memory-limit 200MiB --swap-size 2GiB -- java -jar a.jar
  sudo unjank swap record --out evening.parquet --for 10m
  sudo unjank swap record --out all.parquet --for 60s --files --block-device vda

Every page of any process that is swapped out or in becomes an event with its time,
its process and its page in the swap area, for the given time or until the command
ends. A page-in names the process that touched the page; a page-out names the process
that had to make room. Requests to a swap file are recognised by the sectors at which
the file lies. The trace is written when the recording ends, also with Ctrl-C; swap
convert and other commands read it.

The command's output goes to stderr. With --memory-limit it runs in a control group
of its own; processes that are left in it are killed at the end. docs/reference/swap/record.md
has the limits of such a trace.")]
pub(crate) struct Args {
    /// The file for the trace: a Parquet table; - is stdout
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long = "replace")]
    force: bool,
    /// How long to record [default: until the command ends]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    duration: Option<Nanos>,
    /// Memory limit of the command and everything it starts; the rest is swapped
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    memory_limit: Option<Bytes>,
    /// Make a swap area of this size for the time of the recording; it is used before all others
    #[arg(long = "swap-size", value_name = "SIZE", value_parser = values::bytes)]
    swap: Option<Bytes>,
    /// The directory of that swap area [default: the user's cache, else /var/tmp]
    #[arg(long, value_name = "DIR", requires = "swap")]
    directory: Option<PathBuf>,
    /// Record the page cache, too: file pages that are read into memory and dropped from it
    #[arg(long)]
    files: bool,
    /// Record all requests to this block device, too: vda, 254,0
    #[arg(long = "block-device", value_name = "DEVICE")]
    device: Vec<String>,
    /// The kernel's event buffer of each CPU
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = values::bytes)]
    buffer: Bytes,
    /// The command, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = Options {
        command: args.command.clone(),
        duration: args.duration,
        output: args.out.clone(),
        force: args.force,
        files: args.files,
        devices: args.device.clone(),
        memory_limit: args.memory_limit,
        swap: args.swap,
        directory: args.directory.clone().unwrap_or_else(paths::scratch),
        buffer: args.buffer,
    };
    options.check()?;
    let words = |words: &[OsString]| -> Vec<String> {
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    };
    let settings = Settings::default()
        .with("command", words(&options.command))
        .with("for", options.duration.map(Nanos::get))
        .with("out", options.output.display().to_string())
        .with("memory_limit", options.memory_limit.map(Bytes::get))
        .with("swap_size", options.swap.map(Bytes::get))
        .with("files", options.files)
        .with("block_device", options.devices.clone())
        .with("buffer", options.buffer.get());
    let command = measured::Command { name: "swap record", output: &args.output, settings };
    let own = [("--out", Some(args.out.as_path()))];
    command.run_beside(&own, |root, _seed, monitor| {
        let changes = options.memory_limit.is_some() || options.swap.is_some();
        let session = if changes { Some(session::open(root, None)?) } else { None };
        let recorded = record::run(&options, root, session.as_ref(), monitor);
        let (mut findings, changes) = session::end(session, recorded)?;
        session::note(changes, &mut findings);
        Ok(findings)
    })
}
