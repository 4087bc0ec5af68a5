//! `unjank swap synth`: the trace of a synthetic phone.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use unjank_host::Error;
use unjank_swap::synth::{Preset, Synth, presets};
use unjank_swap::trace::convert::{self, To};

use super::input::SEED;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Progress, grid};

/// Arguments of `unjank swap synth`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap synth --list                          # the presets
  unjank swap synth games games.parquet             # Bahn & Kim's nine games
  unjank swap synth favourites f.csv --seed 7 --count 1000
  unjank swap synth games - | head
  unjank swap simulate --preset games               # the same without a file

Apps are launched one after the other. A launch touches the pages that all apps share
(libraries, services), the app's hot and some of its warm pages, its code and some of
its assets; it creates new pages and writes some of its data. Sizes are chosen to
reproduce the values of Bahn & Kim (unjank reproduce swap). Nothing was measured.")]
pub(crate) struct Args {
    /// The preset; --list shows all
    #[arg(required_unless_present = "list", value_parser = Preset::named)]
    preset: Option<&'static Preset>,
    /// The output: .parquet or .csv, or - for CSV on stdout
    #[arg(value_name = "OUT", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// Print the presets
    #[arg(long, conflicts_with_all = ["preset", "output"])]
    list: bool,
    /// The number of launches [default: the preset's]
    #[arg(long = "count", short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    launches: Option<u32>,
    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Replace an existing output
    #[arg(long = "replace")]
    force: bool,
    /// Print the summary, or the presets, as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the trace, or lists the presets.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (Some(preset), Some(path)) = (args.preset, &args.output) else {
        output::print(&list(args.json)?)?;
        return Ok(ExitCode::from(exit::FINE));
    };
    let preset = Preset { launches: args.launches.unwrap_or(preset.launches), ..*preset };
    let to_stdout = path.as_os_str() == "-";
    let to = match To::from_path(path) {
        _ if to_stdout => To::Csv,
        Some(to @ (To::Parquet | To::Csv)) => to,
        _ => bail!(Error::Invalid(format!(
            "{}: the name must end in .parquet or .csv; unjank swap convert writes other formats",
            path.display()
        ))),
    };
    let interrupt = Interrupt::listen().context("while listening for Ctrl-C")?;
    let progress = Progress::new("swap synth", interrupt);
    let options = convert::Options { to, sort: false, force: args.force };
    let mut synth = Synth::new(preset, args.seed);
    let written = if to_stdout {
        match convert::to_stream(&mut synth, std::io::stdout(), options, &progress) {
            // The reader of stdout has closed it.
            Err(Error::File { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::from(exit::FINE));
            }
            written => written,
        }
    } else {
        convert::to_file(&mut synth, path, options, &progress)
    };
    progress.clear();
    let written = written?;
    let text = if args.json {
        output::json(&json!({
            "preset": preset.name,
            "synthetic": true,
            "seed": args.seed,
            "launches": preset.launches,
            "events": written.events,
            "interrupted": written.interrupted,
        }))?
    } else if written.interrupted {
        "interrupted: nothing was written".to_owned()
    } else {
        format!(
            "{}: {} events of {} launches (synthetic: {}, seed {})",
            path.display(),
            written.events,
            preset.launches,
            preset.name,
            args.seed
        )
    };
    if to_stdout {
        output::remark_lines(&text);
    } else {
        output::print(&text)?;
    }
    Ok(ExitCode::from(if written.interrupted { exit::INTERRUPTED } else { exit::FINE }))
}

fn list(as_json: bool) -> Result<String> {
    if as_json {
        let presets = presets::ALL.iter().map(|preset| {
            json!({
                "name": preset.name,
                "about": preset.about,
                "memory_bytes": preset.phone.memory().get(),
                "apps": preset.apps.count,
                "launches": preset.launches,
            })
        });
        return output::json(&presets.collect::<Vec<_>>());
    }
    let rows = presets::ALL.iter().map(|preset| {
        [
            preset.name.to_owned(),
            preset.apps.count.to_string(),
            preset.launches.to_string(),
            preset.phone.memory().to_string(),
            preset.about.to_owned(),
        ]
    });
    Ok(grid(rows, ["preset", "apps", "launches", "memory", "what"]).join("\n"))
}
