//! `unjank runs prune`: removes old runs from the store.

use std::process::ExitCode;

use anyhow::{Result, bail};
use jiff::Timestamp;
use unjank_host::Nanos;
use unjank_measure::store::Keep;

use super::list::table;
use super::source::StoreArgs;
use crate::{output, values};

/// Arguments of `unjank runs prune`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true)), after_help = "Examples:
  unjank runs prune --newest 100
  unjank runs prune --older-than 2160h --dry-run")]
pub(crate) struct Args {
    /// Keep only the newest N runs
    #[arg(long, value_name = "N", group = "which")]
    newest: Option<u32>,
    /// Remove runs older than this: 720h, 90d …
    #[arg(long, value_name = "TIME", group = "which", value_parser = age)]
    older_than: Option<Nanos>,
    /// Only list the runs that would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print the removed runs as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Parses an age, also in days. It needs a unit: 90 seconds instead of 90 days would remove almost
/// everything.
fn age(text: &str) -> Result<Nanos, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days {
        Some(days) if days > 0 => Ok(Nanos::from_millis(days.saturating_mul(86_400_000))),
        _ if text.parse::<f64>().is_ok() => Err("an age needs a unit: 90d, 36h".to_owned()),
        _ => values::duration(text),
    }
}

/// Removes runs and lists them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let keep = match (args.newest, args.older_than) {
        (Some(newest), _) => Keep::Newest(newest),
        (None, Some(age)) => {
            let age = i64::try_from(age.get()).unwrap_or(i64::MAX);
            let since = Timestamp::now().checked_sub(jiff::SignedDuration::from_nanos(age));
            Keep::Since(since.unwrap_or(Timestamp::MIN))
        }
        (None, None) => bail!("give --newest or --older-than"),
    };
    let removed = args.store.open()?.prune(keep, args.dry_run)?;
    if args.json {
        output::print(&output::json(&removed)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = if args.dry_run { "would be removed" } else { "removed" };
    if removed.is_empty() {
        output::print(&format!("no run {what}"))?;
    } else {
        output::print(&format!("{}\n{} {what}", table(&removed), removed.len()))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_may_be_in_days() {
        assert_eq!(age("90d"), Ok(Nanos::from_millis(90 * 86_400_000)));
        assert_eq!(age("36h"), Ok(Nanos::from_millis(36 * 3_600_000)));
        assert!(age("0d").is_err() && age("-1d").is_err() && age("90").is_err());
    }
}
