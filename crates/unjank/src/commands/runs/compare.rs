//! `unjank runs compare`: compares two runs.

use std::process::ExitCode;

use anyhow::Result;
use unjank_measure::compare::{
    Comparison, FEWEST_REPEATS, NotCompared, Options, OtherRuns, compare, full_name,
};
use unjank_measure::effect::{Effect, Side};
use unjank_measure::{Answer, Unit};
use unjank_report::visible;

use super::source::StoreArgs;
use crate::output::{self, Page};
use crate::{exit, values};

/// Arguments of `unjank runs compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs compare last~1 last
  unjank runs compare baseline.json last --fail-if worse
  unjank lock probe --json --no-store | unjank runs compare baseline.json -
  unjank runs compare last~1 last --min-effect 5% --json

Series and facts are matched by name and labels. The answers are corrected for
the number of questions. If the store has at least three other runs of the same
command on the same machine, a difference must exceed what these differ among
themselves.

With --fail-if worse, the exit code is 5 if a value is worse or if the second run
lacks a series of the first.")]
pub(crate) struct Args {
    /// The baseline: an id or its beginning, last, last~1 …, a file, or - for
    /// stdin
    #[arg(value_name = "BEFORE")]
    before: String,
    /// The run to judge
    #[arg(value_name = "AFTER")]
    after: String,
    /// Exit with code 5 on this answer: a gate for CI
    #[arg(long, value_enum, value_name = "ANSWER")]
    fail_if: Option<Gate>,
    /// Ignore differences below this share
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = values::share)]
    min_effect: f64,
    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Gate {
    /// A value is worse, or one of the baseline is missing
    Worse,
}

/// Compares the runs and prints the answers.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let before = args.store.find(&args.before)?;
    let after = args.store.find(&args.after)?;
    let options = Options { min_effect: args.min_effect, seed: args.seed };
    let repeats = args.store.like(&[&before, &after]);
    let comparison = compare(&before, &after, &OtherRuns::new(&repeats), &options)?;
    if args.json {
        output::print(&output::json(&comparison)?)?;
    } else {
        output::print(&page(&comparison, output::width()))?;
    }
    let failed = args.fail_if == Some(Gate::Worse)
        && (comparison.count(Answer::Worse) > 0 || !comparison.missing.is_empty());
    Ok(ExitCode::from(if failed { exit::GATE } else { exit::FINE }))
}

/// Sections in the order of printing.
const ORDER: [Answer; 4] = [Answer::Worse, Answer::Better, Answer::Same, Answer::CannotTell];

fn page(comparison: &Comparison, width: usize) -> String {
    let mut page = Page::new(width);
    let run = |run: &unjank_measure::compare::RunName| {
        visible(&format!("{} {} {}", run.id, run.command, run.started_at)).into_owned()
    };
    page.fact("before", run(&comparison.a));
    page.fact("after", run(&comparison.b));
    page.fact("answer", headline(comparison));
    page.fact("run to run", run_to_run(comparison.repeats));
    for answer in ORDER {
        let effects: Vec<&Effect> =
            comparison.effects.iter().filter(|effect| effect.answer == answer).collect();
        if effects.is_empty() {
            continue;
        }
        page.section(answer.words());
        let rows: Vec<Vec<String>> = effects.into_iter().map(row).collect();
        page.table(&["series", "quantity", "before", "after", "difference"], &rows);
    }
    let list = |page: &mut Page, heading: &str, items: &[NotCompared]| {
        if !items.is_empty() {
            page.section(heading);
            for item in items {
                page.line(&visible(&format!("{}: {}", item.what, item.reason)));
            }
        }
    };
    list(&mut page, "missing in the second run", &comparison.missing);
    list(&mut page, "not compared", &comparison.not_compared);
    if !comparison.differences.is_empty() {
        page.section("other differences");
        for difference in &comparison.differences {
            let text = format!("{}: {} → {}", difference.what, difference.a, difference.b);
            page.line(&visible(&text));
        }
    }
    if !comparison.warnings.is_empty() {
        page.section("warnings");
        for warning in &comparison.warnings {
            page.line(&visible(warning));
        }
    }
    page.finish()
}

/// `2 worse, 1 better, 5 no meaningful difference, 9 cannot tell; 17 questions`.
fn headline(comparison: &Comparison) -> String {
    let counts: Vec<String> = ORDER
        .iter()
        .map(|&answer| (comparison.count(answer), answer.words()))
        .filter(|&(count, _)| count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let questions = comparison.questions;
    format!("{}; {questions} questions answered as one family", counts.join(", "))
}

/// Whether the intervals hold the spread between runs.
fn run_to_run(repeats: usize) -> String {
    if repeats > 0 {
        format!("intervals hold the spread of {repeats} other runs of the same thing")
    } else {
        format!(
            "unknown: the store has fewer than {FEWEST_REPEATS} other runs of the same thing, so \
             intervals hold the spread within runs only"
        )
    }
}

fn row(effect: &Effect) -> Vec<String> {
    vec![
        visible(&full_name(&effect.subject, &effect.labels)).into_owned(),
        visible(&effect.quantity).into_owned(),
        side(&effect.a, effect.unit),
        side(&effect.b, effect.unit),
        visible(&effect.reason).into_owned(),
    ]
}

fn side(side: &Side, unit: Unit) -> String {
    unit.show(side.value)
}
