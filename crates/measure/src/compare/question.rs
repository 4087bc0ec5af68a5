//! One question of a comparison, and the sources of its bootstrap draws.

use std::collections::BTreeMap;
use std::rc::Rc;

use rand_distr::{Beta, Distribution as _, StandardNormal};

use super::matching::full_name;
use super::options::Options;
use crate::effect::{Asked, Side};
use crate::record::{Direction, Unit};
use crate::stats::random::{Random, seeded};
use crate::stats::{Contrast, Empirical, Repetitions, RunSpread, Z};

/// A quantity of both runs, before the bootstrap.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) subject: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) quantity: String,
    pub(super) unit: Unit,
    pub(super) better: Option<Direction>,
    pub(super) sides: [Side; 2],
    /// The source of draws of either side, or the reason why there is none.
    pub(super) sources: Result<[Source; 2], String>,
}

/// The source of the draws of one side.
#[derive(Debug)]
pub(super) enum Source {
    /// A quantile of samples, resampled with this effective n.
    Quantile { samples: Rc<Empirical>, q: f64, effective_n: f64 },
    /// A quantile of samples of several independent starts.
    Starts { starts: Rc<Repetitions>, q: f64 },
    /// A share of events, resampled with this number of events.
    Share { hits: f64, misses: f64 },
    /// A value with a 95 % interval of unknown origin.
    Interval { value: f64, low: f64, high: f64 },
}

impl Question {
    /// Whether the answer can be *better* or *worse*, so that the question
    /// belongs to the family.
    pub(super) fn is_judged(&self) -> bool {
        self.sources.is_ok() && self.better.is_some()
    }

    /// The name of the quantity within a run.
    pub(super) fn key(&self) -> String {
        key(&self.subject, &self.labels, &self.quantity, self.unit)
    }

    /// Draws both sides and weighs them. With a `spread`, the draws are those of
    /// any run of the same thing, not of these two alone.
    pub(super) fn ask(self, spread: Option<RunSpread>, options: &Options, times: usize) -> Asked {
        let stream = format!("{} {}", full_name(&self.subject, &self.labels), self.quantity);
        let values = self.sides.map(|side| side.value);
        let asked = Asked {
            subject: self.subject,
            labels: self.labels,
            quantity: self.quantity,
            unit: self.unit,
            better: self.better,
            sides: self.sides,
            weighed: Err(String::new()),
        };
        match self.sources {
            Ok([a, b]) => {
                let drawn_a = a.draw(times, &mut seeded(options.seed, &format!("{stream} a")));
                let drawn_b = b.draw(times, &mut seeded(options.seed, &format!("{stream} b")));
                let mut drawn: Vec<[f64; 2]> =
                    drawn_a.into_iter().zip(drawn_b).map(|(a, b)| [a, b]).collect();
                if let Some(spread) = spread {
                    spread.widen(&mut drawn, &mut seeded(options.seed, &format!("{stream} runs")));
                }
                asked.weigh(&Contrast::new(values[0], values[1], drawn), options.min_effect)
            }
            Err(reason) => Asked { weighed: Err(reason), ..asked },
        }
    }
}

/// The name of a quantity of a series or fact within a run.
pub(super) fn key(
    name: &str,
    labels: &BTreeMap<String, String>,
    quantity: &str,
    unit: Unit,
) -> String {
    format!("{} {quantity} {}", full_name(name, labels), unit.name())
}

impl Source {
    fn draw(&self, times: usize, random: &mut Random) -> Vec<f64> {
        match self {
            Self::Quantile { samples, q, effective_n } => samples
                .resampled(*q, *effective_n, random)
                .map(|drawn| drawn.take(times).collect())
                .unwrap_or_default(),
            Self::Starts { starts, q } => starts.draws(*q, times, random).unwrap_or_default(),
            Self::Share { hits, misses } => {
                let beta = Beta::new(hits + 0.5, misses + 0.5)
                    .expect("neither is negative, so both parameters are positive");
                (0..times).map(|_| beta.sample(random)).collect()
            }
            Self::Interval { value, low, high } => (0..times)
                .map(|_| {
                    let z: f64 = StandardNormal.sample(random);
                    let side = if z < 0.0 { value - low } else { high - value };
                    value + z * side.max(0.0) / Z
                })
                .collect(),
        }
    }
}
