//! `unjank swap tier status`: the tiers of this machine.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use unjank_swap::remedy::policy::Identity;
use unjank_swap::remedy::tier::directory::of_all;
use unjank_swap::remedy::tier::status::{self, TierStatus};

use crate::{exit, output};

/// Arguments of `unjank swap tier status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tier status
  sudo unjank swap tier status --json | jq '.tiers[].progress.pages'")]
pub(crate) struct Args {
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    tiers: Vec<TierStatus>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let tiers = status::of_all(&of_all())?;
    if args.json {
        output::print(&output::json(&Document { schema: "unjank.tiers/1", tiers })?)?;
    } else if tiers.is_empty() {
        output::print("this machine has no swap tier")?;
    } else {
        let texts: Vec<String> = tiers.iter().map(text).collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(ExitCode::from(exit::FINE))
}

fn text(tier: &TierStatus) -> String {
    let path = |path: &Option<std::path::PathBuf>, without: &str| {
        path.as_deref().map_or(without.to_owned(), |path: &Path| path.display().to_string())
    };
    let process = |number: Option<u32>| number.map_or("none".to_owned(), |it| it.to_string());
    let pages = &tier.progress.pages;
    let reads = pages.fast_reads + pages.slow_reads;
    let mut lines = vec![
        format!(
            "{} ({}), policy {} on {}",
            path(&tier.device, "no device"),
            tier.name,
            tier.policy,
            match tier.identity {
                Identity::Slot => "slots",
                Identity::Page => "pages",
            }
        ),
        format!(
            "  processes: supervisor {}, server {} ({} started)",
            process(tier.supervisor),
            process(tier.server),
            tier.progress.starts
        ),
        format!(
            "  fast: {} in {}, {} pages of it free",
            tier.fast_size,
            path(&tier.fast, "memory"),
            tier.progress.free_frames
        ),
        format!("  slow: {} in {}", tier.slow_size, tier.slow.display()),
        match tier.used {
            Some(used) => format!("  in use: {used}"),
            None => "  this machine does not swap to it".to_owned(),
        },
        format!(
            "  pages read: {} from the fast backing ({:.1} %), {} from the slow one",
            pages.fast_reads,
            pages.fast_reads as f64 / reads.max(1) as f64 * 100.0,
            pages.slow_reads
        ),
        format!(
            "  pages written: {} to the fast backing, {} to the slow one, {} of them copies",
            pages.fast_writes, pages.slow_writes, pages.copies
        ),
    ];
    if tier.identity == Identity::Page {
        let written = pages.named + pages.not_named;
        lines.push(format!(
            "  pages identified by process and address: {} ({:.1} %)",
            pages.named,
            pages.named as f64 / written.max(1) as f64 * 100.0
        ));
    }
    let failures = pages.fast_failed + pages.slow_failed;
    if failures + pages.wrong > 0 {
        lines.push(format!("  {failures} transfers failed, {} pages were wrong", pages.wrong));
    }
    if tier.missing.get() > 0 {
        lines.push(format!("  memory is {} short to take it down", tier.missing));
    }
    output::Lines::from_iter(lines).finish()
}
