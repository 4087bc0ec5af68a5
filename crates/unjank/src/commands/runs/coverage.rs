//! `unjank runs coverage`: how far several runs of the same thing agree.

use std::process::ExitCode;

use anyhow::Result;
use unjank_measure::compare::Options;
use unjank_measure::coverage::{Coverage, FEWEST, Row, coverage};
use unjank_measure::number::range;
use unjank_measure::store::{Filter, Selector};
use unjank_measure::{RunRecord, Unit};
use unjank_report::visible;

use super::source::StoreArgs;
use crate::output::{self, Page};
use crate::values;

/// Arguments of `unjank runs coverage`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs coverage --command checkup --limit 40
  unjank runs coverage monday.json tuesday.json wednesday.json
  unjank runs coverage --command 'lock probe' --json

A 95 % interval should hold the true value in 95 of 100 runs. The true value is
unknown, so the median of all runs stands for it. Successive runs are compared as
`unjank runs compare` does, with the other runs as repeats: if nothing changed
between them, at most 5 of 100 pairs may have an answer that is better or worse.")]
pub(crate) struct Args {
    /// The runs: ids or their beginnings, last, last~1 …, files
    #[arg(value_name = "RUN", conflicts_with_all = ["command", "limit"])]
    runs: Vec<String>,
    /// The newest runs of this command instead
    #[arg(long, value_name = "COMMAND", required_unless_present = "runs")]
    command: Option<String>,
    /// Only the newest N runs of it
    #[arg(long, value_name = "N", default_value = "40", value_parser = values::rows)]
    limit: usize,
    /// Ignore differences below this share
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = values::share)]
    min_effect: f64,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Reads the runs, evaluates them together, and prints the result.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let runs = runs(args)?;
    if runs.len() < FEWEST {
        let reason = format!("{} runs are too few: give at least {FEWEST}", runs.len());
        return Err(unjank_host::Error::Invalid(reason).into());
    }
    let options = Options { min_effect: args.min_effect, seed: args.seed };
    let coverage = coverage(&runs, &options)?;
    if args.json {
        output::print(&output::json(&coverage)?)?;
    } else {
        output::print(&page(&coverage, output::width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs, oldest first, or in the order in which they were named.
fn runs(args: &Args) -> Result<Vec<RunRecord>> {
    if !args.runs.is_empty() {
        return args.runs.iter().map(|name| args.store.find(name)).collect();
    }
    let store = args.store.open()?;
    let filter = Filter {
        command: args.command.clone(),
        limit: u32::try_from(args.limit).ok(),
        ..Filter::default()
    };
    let mut entries = store.list(&filter)?;
    entries.reverse();
    entries.into_iter().map(|entry| Ok(store.get(&Selector::Prefix(entry.id))?)).collect()
}

fn page(coverage: &Coverage, width: usize) -> String {
    let mut page = Page::new(width);
    page.fact("runs", coverage.runs.to_string());
    let compared = coverage.comparisons;
    let share = compared.share_of_different().map_or_else(String::new, |(share, [low, high])| {
        let [share, low, high] = [share, low, high].map(|share| Unit::Ratio.show(share));
        format!(" ({share}, {})", range(&low, &high))
    });
    page.fact(
        "compared",
        format!(
            "{} of {} pairs of successive runs{share} differ in some answer; {} of {} answers are \
             better or worse",
            compared.different, compared.pairs, compared.significant, compared.questions
        ),
    );
    let sum = |count: fn(&Row) -> usize| coverage.rows.iter().map(count).sum::<usize>();
    let (held, all) = (sum(|row| row.held), sum(|row| row.with_interval));
    page.fact(
        "held",
        format!("{held} of {all} intervals hold the median of all runs, to three digits"),
    );
    page.section("headline numbers");
    let rows: Vec<Vec<String>> = coverage.rows.iter().map(row).collect();
    page.table(
        &["subject", "grand median", "all runs", "held by", "same answer", "answers"],
        &rows,
    );
    page.finish()
}

fn row(row: &Row) -> Vec<String> {
    let [low, high] = row.range.map(|end| row.unit.show(end));
    let answers: Vec<String> =
        row.answers.iter().map(|(answer, count)| format!("{count} {answer}")).collect();
    let contradiction = match row.contradicting {
        none if none <= 0.0 => ", none contradict".to_owned(),
        share => format!(", {} contradict", Unit::Ratio.show(share)),
    };
    vec![
        visible(&row.subject).into_owned(),
        row.unit.show(row.grand_median),
        range(&low, &high),
        match row.coverage() {
            Some(share) => format!(
                "{} of {} intervals ({})",
                row.held,
                row.with_interval,
                Unit::Ratio.show(share)
            ),
            None => "no interval".to_owned(),
        },
        format!("{} of pairs{contradiction}", Unit::Ratio.show(row.agreeing)),
        answers.join(", "),
    ]
}
