//! `unjank swap probe`: the time to bring an evicted page back.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Bytes, Nanos};
use unjank_swap::{Options, Pages, explain};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::repeated::{self, Repeated, StartArgs};
use crate::commands::repetition::Task;
use crate::{paths, values};

/// Arguments of `unjank swap probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap probe
  unjank swap probe --pages file --directory /data/local/tmp
  unjank swap probe --size 256MiB --for 30s --html swap.html

unjank pages out memory of its own (MADV_PAGEOUT, through swap) or, without
swap, evicts pages of a scratch file. Then it touches them in random order.
Touches that wait for a read are page-ins; pages that readahead brought along
are counted apart. No memory of other programs is evicted.

Each start fills and evicts --size before its time begins: large sizes on slow
storage take minutes, even with --quick; --starts 1 does it once.")]
pub(crate) struct Args {
    /// Which pages to evict
    #[arg(long, value_enum, default_value = "auto")]
    pages: PagesName,
    /// How much to evict in each round; less if memory is scarce
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = values::bytes)]
    size: Bytes,
    /// How long to touch pages, without the time to fill and evict them in each start
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    duration: Nanos,
    /// Touch pages for two seconds
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// The directory for a scratch file [default: the user's cache, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    starts: StartArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PagesName {
    /// Anonymous pages if there is swap, else file pages
    Auto,
    /// Anonymous pages, through swap
    Anonymous,
    /// Pages of a scratch file
    File,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = Options {
        pages: match args.pages {
            PagesName::Auto => Pages::Auto,
            PagesName::Anonymous => Pages::Anonymous,
            PagesName::File => Pages::File,
        },
        size: args.size,
        duration: if args.quick { Nanos::from_millis(2_000) } else { args.duration },
        directory: args.directory.clone().unwrap_or_else(paths::scratch),
    };
    let (starts, length) = args.starts.divide(options.duration);
    let settings = Settings::default()
        .with("pages", format!("{:?}", options.pages).to_lowercase())
        .with("size", options.size.get())
        .with("for", options.duration.get())
        .with("starts", starts)
        .with("directory", options.directory.display().to_string());
    let command = measured::Command { name: "swap probe", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let repeated = Repeated::new(root, "page-ins", length, |turn| {
            let options = Options { duration: length, ..options.clone() };
            Task::Swap(options, seed.wrapping_add(turn.into()))
        });
        let mut findings = repeated::run(repeated, starts, seed, monitor)?;
        findings.verdicts.push(explain::verdict(&findings, Some(explain::fitting(root)?)));
        Ok(findings)
    })
}
