//! The conclusion of an experiment whose trials yield one number each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Pair, Trials};
use crate::effect::{Asked, Effect, Side, decide};
use crate::findings::Findings;
use crate::record::{Direction, Fact, Unit};
use crate::stats::bootstrap::{self, Resampled};
use crate::stats::random::{Random, seeded};
use crate::stats::{Contrast, contrast, family as questions, order};

/// Fewer pairs cannot decide anything: if all of five favour one arm, that
/// happens by chance once in sixteen times.
pub const FEWEST_PAIRS: usize = 6;

/// The tail quantiles that are compared if there are enough samples.
pub(super) const TAILS: [f64; 3] = [0.9, 0.99, 0.999];

/// The question of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// In one sentence: `Does raising the clock shorten the launch?`
    pub text: String,
    /// The path of the quantity: `launch/boost/time`.
    pub subject: String,
    /// The unit of the quantity.
    pub unit: Unit,
    /// The direction of improvement.
    pub better: Direction,
    /// The smallest effect that matters, as a share; 0 for no threshold.
    pub min_effect: f64,
}

/// The conclusion of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// The question in one sentence.
    pub question: String,
    /// The planned number of pairs.
    pub planned: usize,
    /// The completed number of pairs.
    pub pairs: usize,
    /// The order of the pairs: `AB BA BA AB`.
    pub order: String,
    /// The seed of the order and of the bootstrap.
    pub seed: u64,
    /// The effects: the median's first, then those of the tail quantiles that
    /// the samples bound.
    pub effects: Vec<Effect>,
}

impl Conclusion {
    /// Whether the experiment was stopped before its last pair.
    pub fn stopped(&self) -> bool {
        self.pairs < self.planned
    }

    /// The difference of the medians.
    pub fn median(&self) -> Option<&Effect> {
        self.effects.first()
    }

    /// Adds the verdicts, the order and, for a stopped experiment, a warning.
    pub fn note(&self, findings: &mut Findings) {
        for effect in &self.effects {
            let mut verdict = effect.verdict(&self.question);
            if self.stopped() {
                let (pairs, planned) = (self.pairs, self.planned);
                verdict.reason =
                    format!("{} (stopped after {pairs} of {planned} pairs)", verdict.reason);
            }
            findings.verdicts.push(verdict);
        }
        let subject = self.median().map_or("experiment", |effect| &effect.subject);
        let mut pairs = Fact::new(format!("{subject}/pairs"), self.pairs as f64, Unit::Count);
        pairs.labels.insert("order".to_owned(), self.order.clone());
        pairs.labels.insert("seed".to_owned(), self.seed.to_string());
        findings.facts.push(pairs);
        if self.stopped() {
            findings.warn(format!(
                "{subject}: stopped after {} of {} pairs, so its intervals are wider than planned",
                self.pairs, self.planned
            ));
        }
    }

    pub(super) fn new<T>(trials: &Trials<T>, question: &Question, asked: Vec<Asked>) -> Self {
        Self::of(trials, question, decide(asked, question.min_effect))
    }

    fn of<T>(trials: &Trials<T>, question: &Question, effects: Vec<Effect>) -> Self {
        Self {
            question: question.text.clone(),
            planned: trials.plan.pairs,
            pairs: trials.pairs.len(),
            order: trials.order(),
            seed: trials.plan.seed,
            effects,
        }
    }
}

/// The conclusions of several experiments, as one family: the probability of a
/// single false *better* or *worse* among all of them is 5 %. `min_effect`
/// replaces that of each question.
pub fn family(experiments: &[(Trials<f64>, Question)], min_effect: f64) -> Vec<Conclusion> {
    let asked: Vec<Vec<Asked>> =
        experiments.iter().map(|(trials, question)| trials.asked(question)).collect();
    let counts: Vec<usize> = asked.iter().map(Vec::len).collect();
    let mut effects = decide(asked.into_iter().flatten().collect(), min_effect).into_iter();
    let conclusions = experiments.iter().zip(counts).map(|((trials, question), count)| {
        Conclusion::of(trials, question, effects.by_ref().take(count).collect())
    });
    conclusions.collect()
}

impl Trials<f64> {
    /// The effects: the median of the differences within pairs, and the
    /// differences of the arms' tail quantiles if there are enough trials.
    pub fn conclude(&self, question: &Question) -> Conclusion {
        Conclusion::new(self, question, self.asked(question))
    }

    fn asked(&self, question: &Question) -> Vec<Asked> {
        let arms = [|pair: &Pair<f64>| pair.a, |pair: &Pair<f64>| pair.b]
            .map(|arm| self.pairs.iter().map(arm).collect::<Vec<f64>>());
        let tails = TAILS.map(|q| {
            order::quantile_interval(arms[0].len() as u64, q)?;
            let mut random = seeded(self.plan.seed, &format!("{} {q}", question.subject));
            Some((q, tail(&arms, q, &mut random)))
        });
        let mut asked = vec![median_asked(&arms, question, self.plan.seed)];
        for (q, contrast) in tails.into_iter().flatten() {
            let quantity = format!("p{}", q * 100.0);
            asked.push(
                question
                    .ask(quantity, [contrast.a, contrast.b], self.pairs.len() as u64)
                    .weigh(&contrast, question.min_effect),
            );
        }
        asked
    }
}

/// The contrast of two arms' q-quantiles, over resampled pairs.
fn tail(arms: &[Vec<f64>; 2], q: f64, random: &mut Random) -> Contrast {
    let n = arms[0].len();
    let mut buffer = Vec::with_capacity(n);
    bootstrap::pairs(n, questions::draws_for(TAILS.len()), random, |drawn| {
        [&arms[0], &arms[1]].map(|arm| pick_quantile(arm, drawn, q, &mut buffer))
    })
}

/// The question about the median, weighed.
///
/// The effect is the median of the differences within pairs: drift from pair to
/// pair cancels before anything is estimated, unlike in a difference of two
/// medians.
pub(super) fn median_asked(arms: &[Vec<f64>; 2], question: &Question, seed: u64) -> Asked {
    let n = arms[0].len();
    let mut values = [0.0; 2];
    for (value, arm) in values.iter_mut().zip(arms) {
        *value = bootstrap::quantile(&mut arm.clone(), 0.5).unwrap_or(0.0);
    }
    let mut asked = question.ask("p50".to_owned(), values, n as u64);
    if n < FEWEST_PAIRS {
        asked.weighed = Err(format!("fewer than {FEWEST_PAIRS} pairs (here {n}) decide nothing"));
        return asked;
    }
    let differences: Vec<f64> = arms[0].iter().zip(&arms[1]).map(|(a, b)| b - a).collect();
    let mut random = seeded(seed, &question.subject);
    let mut buffer = Vec::with_capacity(n);
    let times = questions::draws_for(TAILS.len());
    let Resampled { seen, draws } = bootstrap::resampled(n, times, &mut random, |drawn| {
        [&arms[0], &arms[1], &differences]
            .map(|values| pick_quantile(values, drawn, 0.5, &mut buffer))
    });
    asked.sides[1].interval = Some(contrast::interval(draws.iter().map(|[_, b, _]| *b).collect()));
    let changed = draws.into_iter().map(|[a, _, difference]| [a, a + difference]).collect();
    let contrast = Contrast::new(seen[0], seen[0] + seen[2], changed);
    asked.weigh(&contrast, question.min_effect)
}

/// The q-quantile of the drawn indices of an arm.
fn pick_quantile(arm: &[f64], drawn: &[usize], q: f64, buffer: &mut Vec<f64>) -> f64 {
    buffer.clear();
    buffer.extend(drawn.iter().map(|&place| arm[place]));
    bootstrap::quantile(buffer, q).unwrap_or(0.0)
}

impl Question {
    pub(super) fn ask(&self, quantity: String, values: [f64; 2], n: u64) -> Asked {
        let side = |value| Side { value, interval: None, n: Some(n), effective_n: None };
        Asked {
            subject: self.subject.clone(),
            labels: BTreeMap::new(),
            quantity,
            unit: self.unit,
            better: Some(self.better),
            sides: values.map(side),
            weighed: Err(String::new()),
        }
    }
}
