//! `unjank swap convert`: converts traces between formats.

mod summary;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use unjank_host::Error;
use unjank_swap::trace::Trace;
use unjank_swap::trace::convert::{self, To};

use super::reading::{ReadingArgs, check_stdin};
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress};

/// Arguments of `unjank swap convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap convert cod_exec.csv.gz game.parquet       # a phone's block trace
  unjank swap convert sda.blktrace.* sda.parquet         # one file for each CPU: merged
  unjank swap convert trace.txt out.csv --swap-device 254,0
  unjank swap convert hm_1.csv hm_1.oracleGeneral        # for libCacheSim
  unjank swap convert web.oracleGeneral.zst web.parquet
  blkparse -i sda | unjank swap convert - sda.parquet
  unjank swap convert game.parquet - --to csv | head

A Parquet table has the columns time_ns, process, pid, space, page, operation and
backing, among others; pandas, DuckDB and Spark read it. docs/reference/swap/convert.md lists
the contents of each format. Lines that make no event are counted and reported at the
end. A malformed line ends the conversion, unless --skip-bad counts it. The output
appears when it is complete, or not at all.")]
pub(crate) struct Args {
    /// Traces, compressed or not, or - for stdin; several are merged by time
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// The output: .parquet, .csv or .oracleGeneral, or - for stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The output's format [default: from its name]
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Option<ToName>,
    /// Sort events by time, which takes 36 bytes of memory for each
    #[arg(long)]
    sort: bool,
    /// Replace an existing output
    #[arg(long = "replace")]
    force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToName {
    /// A table of events, compressed
    Parquet,
    /// Comma-separated values with named columns
    Csv,
    /// libCacheSim's records of 24 bytes, with next accesses
    #[value(name = "oracleGeneral", alias = "oraclegeneral")]
    OracleGeneral,
}

impl ToName {
    fn get(self) -> To {
        match self {
            Self::Parquet => To::Parquet,
            Self::Csv => To::Csv,
            Self::OracleGeneral => To::OracleGeneral,
        }
    }
}

/// Converts and prints a summary, on stderr if the trace itself goes to stdout.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let to_stdout = args.output == Path::new("-");
    let options = convert::Options { to: to(args)?, sort: args.sort, force: args.force };
    check(args)?;
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    let mut trace = Trace::open(&args.inputs, &args.reading.options())?;
    let progress = Progress::new("swap convert", interrupt);
    let written = if to_stdout {
        convert::to_stream(&mut trace, io::stdout(), options, &progress)
    } else {
        convert::to_file(&mut trace, &args.output, options, &progress)
    };
    progress.clear();
    let written = match written {
        // The reader of stdout has closed it.
        Err(Error::File { source, .. })
            if to_stdout && source.kind() == io::ErrorKind::BrokenPipe =>
        {
            return Ok(ExitCode::from(exit::FINE));
        }
        written => written?,
    };
    let (summary, names) = (trace.summary(), trace.names());
    let text = if args.json {
        summary::json(&summary, names, written)?
    } else {
        summary::text(&summary, names, written, &args.output)
    };
    if to_stdout {
        output::remark_lines(text.trim_end());
    } else {
        output::print(&text)?;
    }
    Ok(ExitCode::from(if written.interrupted { exit::INTERRUPTED } else { exit::FINE }))
}

/// The format of the output.
fn to(args: &Args) -> Result<To> {
    let named = args.to.map(ToName::get).or_else(|| To::from_path(&args.output));
    let Some(to) = named else {
        bail!(Error::Invalid(format!(
            "{}: unknown output format; end the name in .parquet, .csv or .oracleGeneral, or use \
             --to",
            args.output.display()
        )));
    };
    if to == To::OracleGeneral && args.output == Path::new("-") {
        bail!(Error::Invalid(
            "oracleGeneral takes two passes over the output; write it to a file, not to stdout"
                .into()
        ));
    }
    Ok(to)
}

/// Rejects early what would fail after hours or destroy an input.
fn check(args: &Args) -> Result<()> {
    check_stdin(&args.inputs)?;
    if args.output.exists() {
        let output = args.output.canonicalize().ok();
        if args.inputs.iter().any(|input| output.is_some() && input.canonicalize().ok() == output) {
            bail!(Error::Invalid(format!(
                "{} is an input; the output would replace it",
                args.output.display()
            )));
        }
        if !args.force && args.output != Path::new("-") {
            bail!(Error::Invalid(format!(
                "{} already exists; --replace allows it",
                args.output.display()
            )));
        }
    }
    Ok(())
}
