//! The questions about a series of two runs.

use std::rc::Rc;

use super::matching::{NotCompared, full_name};
use super::missed;
use super::question::{Question, Source, key};
use crate::effect::Side;
use crate::error::Result;
use crate::record::{SeriesRecord, Unit};
use crate::stats::{Dependence, Empirical, Repetitions, order};

/// The quantiles that are compared, if both runs bound them.
const COMPARED: [(f64, &str); 4] =
    [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// The questions about one series.
#[derive(Debug)]
pub(super) struct SeriesQuestions {
    pub(super) questions: Vec<Question>,
    /// Whether a run has no course over time, so that its samples are taken as
    /// independent.
    pub(super) independent: bool,
    /// The tails that the first run bounds and the second does not.
    pub(super) unbounded: Vec<NotCompared>,
}

/// One run's samples of the series.
struct Run {
    samples: Rc<Empirical>,
    /// Its starts, if there are several: the bootstrap draws them.
    starts: Option<Rc<Repetitions>>,
    /// For each quantile of [`COMPARED`].
    effective_n: [f64; COMPARED.len()],
    independent: bool,
}

impl Run {
    fn of(record: &SeriesRecord) -> Result<Self> {
        let samples = record.empirical()?;
        if let Some(starts) = record.starts()? {
            return Ok(Self {
                samples: Rc::new(samples),
                effective_n: COMPARED.map(|(q, _)| starts.effective_n(q)),
                starts: Some(Rc::new(starts)),
                independent: false,
            });
        }
        let count = record.repetitions.iter().filter(|start| start.n > 0).count();
        if count > 1 {
            // Too few starts to show how they differ: each is worth one sample.
            return Ok(Self {
                samples: Rc::new(samples),
                starts: None,
                effective_n: [count as f64; COMPARED.len()],
                independent: false,
            });
        }
        let dependence = Dependence::new(&samples, &record.slices);
        let independent = dependence.is_none();
        let effective_n = COMPARED.map(|(q, _)| {
            dependence.as_ref().map_or(samples.n() as f64, |dependence| dependence.effective_n(q))
        });
        Ok(Self { samples: Rc::new(samples), starts: None, effective_n, independent })
    }

    /// Whether the samples bound a quantile of [`COMPARED`].
    fn bounds(&self, place: usize) -> bool {
        let (q, _) = COMPARED[place];
        match &self.starts {
            Some(starts) => starts.bound(q),
            None => order::quantile_interval(self.effective_n[place] as u64, q).is_some(),
        }
    }
}

/// The question about the 99.9th percentile of two series of one run.
pub(super) fn tail(pair: &[&SeriesRecord; 2]) -> Result<Option<Question>> {
    const TAIL: usize = 2;
    let [a, b] = *pair;
    Ok(quantile(b, &[Run::of(a)?, Run::of(b)?], TAIL))
}

pub(super) fn questions(pair: &[&SeriesRecord; 2]) -> Result<SeriesQuestions> {
    let [a, b] = *pair;
    let runs = [Run::of(a)?, Run::of(b)?];
    let quantiles = (0..COMPARED.len()).filter_map(|place| quantile(a, &runs, place));
    Ok(SeriesQuestions {
        independent: runs.iter().any(|run| run.independent),
        questions: quantiles.chain(missed::question(a, b)).collect(),
        unbounded: unbounded(a, &runs),
    })
}

fn unbounded(record: &SeriesRecord, [a, b]: &[Run; 2]) -> Vec<NotCompared> {
    let lost = (1..COMPARED.len()).filter(|&place| a.bounds(place) && !b.bounds(place));
    let not_compared = |place: usize| NotCompared {
        what: format!("{}, {}", full_name(&record.name, &record.labels), COMPARED[place].1),
        reason: format!(
            "the second run is worth {:.0} independent samples, which are too few to bound it",
            b.effective_n[place]
        ),
    };
    lost.map(not_compared).collect()
}

/// The names and values of all that is compared of a series; of a damaged one
/// only the missed periods.
pub(super) fn values(series: &SeriesRecord) -> Vec<(String, f64)> {
    let key = |quantity, unit| key(&series.name, &series.labels, quantity, unit);
    let samples = series.empirical().ok().filter(|samples| samples.n() > 0);
    let quantile =
        |samples: &Empirical, (q, name)| (key(name, series.unit), samples.quantile(q) as f64);
    let quantiles = samples.iter().flat_map(|samples| COMPARED.map(|it| quantile(samples, it)));
    quantiles.chain([(key(missed::QUANTITY, Unit::Ratio), series.missed_share())]).collect()
}

/// The question about one quantile. The median is always asked about, if only
/// to report too few samples; a tail only if it is bounded.
fn quantile(record: &SeriesRecord, runs: &[Run; 2], place: usize) -> Option<Question> {
    let (q, name) = COMPARED[place];
    let side = |run: &Run| Side {
        value: run.samples.quantile(q) as f64,
        interval: None,
        n: Some(run.samples.n()),
        effective_n: Some(run.effective_n[place]),
    };
    let source = |run: &Run| match &run.starts {
        Some(starts) => Source::Starts { starts: Rc::clone(starts), q },
        None => Source::Quantile {
            samples: Rc::clone(&run.samples),
            q,
            effective_n: run.effective_n[place],
        },
    };
    let [a, b] = runs;
    let sources = if a.bounds(place) && b.bounds(place) {
        Ok([source(a), source(b)])
    } else if place == 0 {
        let worth = a.effective_n[place].min(b.effective_n[place]);
        Err(format!("worth {worth:.0} independent samples, which are too few to bound the median"))
    } else {
        return None;
    };
    Some(Question {
        subject: record.name.clone(),
        labels: record.labels.clone(),
        quantity: name.to_owned(),
        unit: record.unit,
        better: record.unit.better(),
        sides: [side(a), side(b)],
        sources,
    })
}
