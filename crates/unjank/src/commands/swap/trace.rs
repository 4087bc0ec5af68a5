//! `unjank swap trace`: what a shortage of memory cost in a recording.

use std::process::ExitCode;

use anyhow::Result;
use unjank_measure::Findings;
use unjank_swap::stalls::{self, Options};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::recording::{Opened, RecordingArgs};
use crate::values;

/// Arguments of `unjank swap trace`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("seed", |seed| seed.hide(true)), after_help = "Examples:
  unjank swap trace phone.perfetto-trace
  unjank swap trace phone.perfetto-trace --process com.example.app
  unjank swap trace trace.dat --since +2s --until +5s --html memory.html

Shows which threads looked for pages to evict before they got memory (direct reclaim),
and for how long; the CPU time of kswapd; and the files whose pages entered the page
cache. It needs no root. The events are vmscan/mm_vmscan_direct_reclaim_begin and
_end, filemap/mm_filemap_add_to_page_cache, and sched/sched_switch. For skew, reuse
and thrashing of single pages: unjank swap analyze.")]
pub(crate) struct Args {
    #[command(flatten)]
    recording: RecordingArgs,
    /// Rows of each table, or all
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::rows)]
    limit: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.recording.add_to(Settings::of_recording());
    let command = measured::Command { name: "swap trace", output: &args.output, settings };
    command.run(|_, _, _| find(args))
}

fn find(args: &Args) -> Result<Findings> {
    let options = |opened: &Opened| Options {
        only: opened.only.clone(),
        window: opened.window,
        paths: opened.recorded.annex.iter().flat_map(|annex| annex.files.clone()).collect(),
        limit: args.limit,
        why: opened.why.clone(),
    };
    args.recording.search(|opened| {
        stalls::run(&opened.recorded.trace, &opened.roster, &options(opened), &opened.stop)
    })
}
