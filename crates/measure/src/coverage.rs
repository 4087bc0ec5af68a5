//! Agreement of several runs of one command: how often intervals, each computed
//! from a single run, hold between runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::{self, OtherRuns, compare};
use crate::error::Result;
use crate::record::{Answer, Quantity, RunRecord, Unit};
use crate::stats::{bootstrap, proportion};

/// The fewest runs that can be evaluated together.
pub const FEWEST: usize = 3;

/// The agreement of several runs of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of runs.
    pub runs: usize,
    /// One row for each question that runs answer with a number.
    pub rows: Vec<Row>,
    /// Each run against the one before it.
    pub comparisons: Comparisons,
}

/// The answers to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The subject of the verdict: `jitter`.
    pub subject: String,
    /// Unit of the measured quantity.
    pub unit: Unit,
    /// Number of runs that measured it.
    pub runs: usize,
    /// The median of all runs.
    pub grand_median: f64,
    /// The smallest and the largest value.
    pub range: [f64; 2],
    /// Number of runs that gave an interval.
    pub with_interval: usize,
    /// Number of these intervals that hold the grand median.
    pub held: usize,
    /// Number of runs that gave each answer.
    pub answers: BTreeMap<String, usize>,
    /// The share of pairs of runs with the same answer.
    pub agreeing: f64,
    /// The share of pairs where one run is healthy and the other slow.
    pub contradicting: f64,
}

/// Comparisons of runs that should not differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparisons {
    /// Number of compared pairs of runs.
    pub pairs: usize,
    /// Number of these pairs in which a value was better or worse.
    pub different: usize,
    /// Number of questions answered in all pairs.
    pub questions: usize,
    /// Number of these that were answered with better or worse.
    pub significant: usize,
}

impl Comparisons {
    /// The share of pairs of runs that differ in some answer, and its 95 % interval
    /// (Wilson). A comparison of two runs of the same thing is wrong if one of its
    /// answers is, so this share should be at most 5 %. `None` without pairs.
    pub fn share_of_different(&self) -> Option<(f64, [f64; 2])> {
        let (different, pairs) = (self.different as u64, self.pairs as u64);
        (pairs > 0)
            .then(|| (different as f64 / pairs as f64, proportion::interval(different, pairs)))
    }
}

impl Row {
    /// The share of intervals that hold the grand median.
    pub fn coverage(&self) -> Option<f64> {
        (self.with_interval > 0).then(|| self.held as f64 / self.with_interval as f64)
    }
}

/// Evaluates `runs` together. They must be in the order of their starts.
///
/// # Errors
/// As [`compare`](crate::compare::compare).
pub fn coverage(runs: &[RunRecord], options: &compare::Options) -> Result<Coverage> {
    let mut subjects: Vec<&str> = Vec::new();
    for verdict in runs.iter().flat_map(|run| &run.findings.verdicts) {
        if verdict.measured.is_some() && !subjects.contains(&verdict.subject.as_str()) {
            subjects.push(&verdict.subject);
        }
    }
    let rows = subjects.into_iter().filter_map(|subject| row(runs, subject)).collect();
    let mut comparisons = Comparisons::default();
    let others = OtherRuns::new(runs);
    for pair in runs.windows(2) {
        let comparison = compare(&pair[0], &pair[1], &others, options)?;
        let significant = comparison.count(Answer::Better) + comparison.count(Answer::Worse);
        comparisons.pairs += 1;
        comparisons.different += usize::from(significant > 0);
        comparisons.questions += comparison.questions;
        comparisons.significant += significant;
    }
    Ok(Coverage { runs: runs.len(), rows, comparisons })
}

/// Numbers are kept to three significant digits; smaller differences count as
/// none.
const RESOLUTION: f64 = 1e-3;

fn row(runs: &[RunRecord], subject: &str) -> Option<Row> {
    let verdicts = || {
        let of_run = |run: &'_ RunRecord| -> Option<(Quantity, Answer)> {
            let verdict = run.findings.verdicts.iter().find(|it| it.subject == subject)?;
            Some((verdict.measured.clone()?, verdict.answer))
        };
        runs.iter().filter_map(of_run)
    };
    let mut values: Vec<f64> = verdicts().map(|(measured, _)| measured.value).collect();
    let grand_median = bootstrap::quantile(&mut values, 0.5)?;
    let intervals: Vec<[f64; 2]> =
        verdicts().filter_map(|(measured, _)| measured.interval).collect();
    let holds = |[low, high]: &&[f64; 2]| {
        let finest = grand_median.abs() * RESOLUTION;
        (*low - finest..=*high + finest).contains(&grand_median)
    };
    let answers: Vec<Answer> = verdicts().map(|(_, answer)| answer).collect();
    let mut counted = BTreeMap::new();
    for answer in &answers {
        *counted.entry(answer.words().to_owned()).or_insert(0) += 1;
    }
    Some(Row {
        subject: subject.to_owned(),
        unit: verdicts().next()?.0.unit,
        runs: values.len(),
        grand_median,
        range: [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ],
        with_interval: intervals.len(),
        held: intervals.iter().filter(holds).count(),
        answers: counted,
        agreeing: share_of_pairs(&answers, |one, other| one == other),
        contradicting: share_of_pairs(&answers, |one, other| {
            matches!(
                (one, other),
                (Answer::Healthy, Answer::Slow) | (Answer::Slow, Answer::Healthy)
            )
        }),
    })
}

/// The share of all pairs of which `is` is true; 1 where there is no pair.
fn share_of_pairs(answers: &[Answer], is: impl Fn(Answer, Answer) -> bool) -> f64 {
    let count = answers.len();
    let pairs = || (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
    let all = pairs().count();
    if all == 0 {
        return 1.0;
    }
    pairs().filter(|&(one, other)| is(answers[one], answers[other])).count() as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use unjank_host::{Machine, Nanos, Timestamp};

    use super::*;
    use crate::record::{Bound, Run, Tool};
    use crate::{Findings, Series, Start, Verdict};

    fn run(value: f64, interval: Option<[f64; 2]>) -> RunRecord {
        let measured = Quantity {
            name: "x".to_owned(),
            value,
            unit: Unit::Nanoseconds,
            interval,
            at_least: None,
            n: 9,
        };
        let healthy = Bound { at_most: 100.0, source: "a test".to_owned() };
        let verdict =
            Verdict::of_health("lock", "?", healthy, Some(measured), "so".to_owned(), "next");
        let mut series = Series::new("test/series");
        for _ in 0..100 {
            series.record(Nanos(1_000));
        }
        let findings = Findings {
            verdicts: vec![verdict],
            series: vec![series.finish()],
            ..Findings::default()
        };
        let run = Run {
            tool: Tool { version: "0".to_owned(), commit: None },
            command: "test".to_owned(),
            host: Machine::default(),
            settings: [].into(),
            findings,
            labels: Vec::new(),
        };
        Start::now().finish(Timestamp::now(), run)
    }

    #[test]
    fn intervals_and_answers_are_counted() {
        let runs = [
            run(90.0, Some([80.0, 99.0])),
            run(95.0, Some([94.0, 96.0])),
            run(120.0, Some([110.0, 130.0])),
            run(96.0, None),
        ];
        let coverage = coverage(&runs, &compare::Options::default()).unwrap();
        let [row] = coverage.rows.as_slice() else { panic!("{coverage:?}") };
        assert_eq!((row.grand_median, row.range), (95.5, [90.0, 120.0]));
        assert_eq!((row.with_interval, row.held, row.coverage()), (3, 2, Some(2.0 / 3.0)));
        assert_eq!(row.answers["healthy"], 2);
        assert!((row.agreeing - 1.0 / 6.0).abs() < 1e-12, "{}", row.agreeing);
        assert!((row.contradicting - 2.0 / 6.0).abs() < 1e-12, "{}", row.contradicting);
        assert_eq!(coverage.comparisons.pairs, 3);
        assert_eq!(coverage.comparisons.significant, 0);
    }

    #[test]
    fn the_share_of_different_pairs_has_an_interval() {
        let compared = Comparisons { pairs: 78, different: 6, ..Comparisons::default() };
        let (share, [low, high]) = compared.share_of_different().unwrap();
        assert!((share - 0.077).abs() < 1e-3, "{share}");
        assert!((0.03..0.05).contains(&low) && (0.15..0.17).contains(&high), "{low} {high}");
        assert_eq!(Comparisons::default().share_of_different(), None);
    }

    #[test]
    fn one_run_has_no_pairs() {
        let coverage = coverage(&[run(1.0, None)], &compare::Options::default()).unwrap();
        assert_eq!((coverage.rows[0].agreeing, coverage.comparisons.pairs), (1.0, 0));
        assert_eq!(coverage.rows[0].coverage(), None);
    }

    #[test]
    fn differences_below_the_resolution_are_ignored() {
        let exact = run(100_000.0, Some([100_000.0; 2]));
        let next = run(100_031.0, Some([100_031.0; 2]));
        let other = run(100_300.0, Some([100_300.0; 2]));
        let runs = [exact.clone(), exact, next, other];
        let row = &coverage(&runs, &compare::Options::default()).unwrap().rows[0];
        assert_eq!((row.held, row.with_interval), (3, 4));
    }
}
