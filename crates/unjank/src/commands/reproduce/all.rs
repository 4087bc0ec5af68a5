//! `unjank reproduce all`: every paper, one after the other.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Root;
use unjank_host::process::is_root;
use unjank_measure::claim::{self, CLAIMS, REASONS};
use unjank_measure::monitor::Part;
use unjank_measure::{Answer, Findings, Monitor, Table, Verdict};

use super::paper::Paper;
use super::{binder, launch, locks, phone, rt, swap};
use crate::commands::measured::{self, Outcome, OutputArgs, Settings};
use crate::exit;

/// Arguments of `unjank reproduce all`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank reproduce all --quick                  # ten minutes
  sudo unjank reproduce all --html papers.html       # up to two hours
  unjank reproduce all --quick --only swap,locks --no-phone

Each publication is measured as its own command does it. One that cannot be measured says
why, and the others go on.")]
pub(crate) struct AllArgs {
    /// Only these: launch, swap, rt, locks, binder
    #[arg(long, value_delimiter = ',', value_name = "PAPER,…", value_parser = named)]
    only: Vec<&'static str>,
    /// Fewer and shorter trials: ten minutes instead of up to two hours
    #[arg(long)]
    quick: bool,
    /// Do not boot the virtual phone for what this machine lacks
    #[arg(long)]
    no_phone: bool,
    #[command(flatten)]
    output: OutputArgs,
}

fn named(word: &str) -> Result<&'static str, String> {
    let names = PAPERS.map(|(paper, ..)| paper.name);
    let known = names.into_iter().find(|name| *name == word);
    known.ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// How a paper is measured with the usual options of its own command.
type Measure = fn(&[String], &Root, u64, &dyn Monitor) -> Result<Findings>;

/// Every paper, with its share of the time.
const PAPERS: [(Paper, f64, Measure); 5] = [
    (launch::PAPER, 0.6, |words, root, seed, monitor| {
        launch::measure(&parsed(words)?, root, seed, monitor)
    }),
    (swap::PAPER, 0.3, |words, root, _, monitor| swap::measure(&parsed(words)?, root, monitor)),
    (rt::PAPER, 0.15, |words, root, seed, monitor| {
        rt::measure(&parsed(words)?, root, seed, monitor)
    }),
    (locks::PAPER, 0.1, |words, root, seed, monitor| {
        locks::measure(&parsed(words)?, root, seed, monitor)
    }),
    (binder::PAPER, 0.1, |words, root, seed, monitor| {
        binder::measure(&parsed(words)?, root, seed, monitor)
    }),
];

pub(super) fn run(args: &AllArgs) -> Result<ExitCode> {
    let settings = Settings::default()
        .with("quick", args.quick)
        .with("phone", !args.no_phone)
        .with("only", args.only.clone());
    let command = measured::Command { name: "reproduce all", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let findings = measure(args, root, seed, monitor);
        let any = findings.table_named(CLAIMS).is_some_and(claim::has_values);
        let code = if any { exit::FINE } else { exit::UNSUPPORTED };
        Ok(Outcome::from(findings).ending(Ok(code)))
    })
}

/// All claims. A paper that cannot be measured says why, and the others go on.
fn measure(args: &AllArgs, root: &Root, seed: u64, monitor: &dyn Monitor) -> Findings {
    let mut findings = Findings::default();
    let chosen = |paper: &Paper| args.only.is_empty() || args.only.contains(&paper.name);
    let papers: Vec<_> = PAPERS.into_iter().filter(|(paper, ..)| chosen(paper)).collect();
    let whole: f64 = papers.iter().map(|(_, share, _)| share).sum();
    let mut from = 0.0;
    for (paper, share, measure) in papers {
        let share = share / whole;
        if monitor.stop_requested() {
            break;
        }
        let part = Part::new(monitor, paper.authors, from, share);
        from += share;
        match measure(&args.words(paper), root, seed, &part) {
            Ok(found) => findings.merge(phone::of_claims(found)),
            Err(error) => findings.verdicts.push(Verdict::new(
                paper.subject(),
                paper.question(),
                Answer::NotAvailable,
                exit::sentence(&error),
            )),
        }
    }
    findings.tables = joined(findings.tables);
    findings.headline = findings.table_named(CLAIMS).map(claim::summary);
    findings
}

impl AllArgs {
    /// The words of a paper's own command.
    fn words(&self, paper: Paper) -> Vec<String> {
        let mut words: Vec<String> =
            self.output.seed.iter().map(|seed| format!("--seed={seed}")).collect();
        words.extend(self.quick.then(|| "--quick".to_owned()));
        let in_phone = [launch::PAPER.name, binder::PAPER.name].contains(&paper.name);
        words.extend((self.no_phone && in_phone).then(|| "--no-phone".to_owned()));
        let measured = paper.name == swap::PAPER.name && !self.quick && is_root();
        words.extend(measured.then(|| "--measured".to_owned()));
        let OutputArgs { no_store, store, .. } = &self.output;
        words.extend(no_store.then(|| "--no-store".to_owned()));
        words.extend(store.iter().map(|store| format!("--store={}", store.display())));
        words
    }
}

/// The arguments that these words give.
fn parsed<A: clap::Args>(words: &[String]) -> Result<A> {
    let command = A::augment_args(clap::Command::new("reproduce").no_binary_name(true));
    Ok(A::from_arg_matches(&command.try_get_matches_from(words)?)?)
}

/// The claims of all papers in one table, and the reasons in another.
fn joined(tables: Vec<Table>) -> Vec<Table> {
    let mut joined: Vec<Table> = Vec::new();
    for table in tables {
        match joined.iter_mut().find(|known| known.name == table.name) {
            Some(known) => known.rows.extend(table.rows),
            None => joined.push(table),
        }
    }
    joined.sort_by_key(|table| [CLAIMS, REASONS].iter().position(|name| *name == table.name));
    joined
}

#[cfg(test)]
mod tests {
    use unjank_measure::Column;

    use super::*;

    #[test]
    fn every_paper_understands_the_words_of_all() {
        let output = OutputArgs {
            json: false,
            html: None,
            markdown: None,
            no_store: true,
            store: None,
            seed: None,
        };
        let args = AllArgs { only: Vec::new(), quick: true, no_phone: true, output };
        let words = |paper| args.words(paper);
        assert!(parsed::<launch::Args>(&words(launch::PAPER)).is_ok());
        assert!(parsed::<swap::Args>(&words(swap::PAPER)).is_ok());
        assert!(parsed::<rt::Args>(&words(rt::PAPER)).is_ok());
        assert!(parsed::<locks::Args>(&words(locks::PAPER)).is_ok());
        assert!(parsed::<binder::Args>(&words(binder::PAPER)).is_ok());
    }

    #[test]
    fn claims_of_all_papers_are_one_table() {
        let one = || claim::tables(&[claim::Claim::new("A", "b", "c").untold("why")]);
        let other = Table::new("other", "Other", [Column::text("x")]);
        let tables = joined([one(), one()].into_iter().flatten().chain([other]).collect());
        let rows: Vec<(&str, usize)> =
            tables.iter().map(|table| (&*table.name, table.rows.len())).collect();
        assert_eq!(rows, [("other", 0), (CLAIMS, 2), (REASONS, 2)]);
    }
}
