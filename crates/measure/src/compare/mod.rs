//! Compares two runs.
//!
//! Series and facts are matched by name, labels and unit; each pair that can be
//! judged becomes one or several questions, and all questions of a comparison
//! are answered as one family. See [`effect`](crate::effect) for the meaning of
//! the answers.
//!
//! If a run was started several times, the intervals come from resampled starts
//! ([`stats::repetitions`](crate::stats::repetitions)); if it was measured in
//! one start, they hold the spread inside it alone. Other differences between
//! the runs, which could explain a difference in the numbers, are listed as
//! [`Difference`]s and warnings.

mod arms;
mod differences;
mod facts;
mod matching;
mod missed;
mod options;
mod other_runs;
mod question;
mod series;

use serde::{Deserialize, Serialize};

use self::question::Question;
use crate::effect::{Effect, decide};
use crate::error::{Error, Result};
use crate::record::{Answer, RunRecord};
use crate::stats::family;

pub use arms::tails;
pub use differences::Difference;
pub use matching::{NotCompared, full_name};
pub use options::Options;
pub use other_runs::OtherRuns;

/// The name and major version of a comparison's JSON form.
pub const SCHEMA: &str = "unjank.comparison/1";

/// The result of a comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The first run, the baseline.
    pub a: RunName,
    /// The second run, which is judged.
    pub b: RunName,
    /// The smallest difference that matters, as a share.
    pub min_effect: f64,
    /// The seed of the bootstrap.
    pub seed: u64,
    /// The number of questions answered as one family.
    pub questions: usize,
    /// The number of other runs of the same thing whose spread the intervals
    /// hold; 0 if there are fewer than [`FEWEST_REPEATS`] of either side.
    #[serde(default)]
    pub repeats: usize,
    /// The answers, in the order of the first run.
    pub effects: Vec<Effect>,
    /// Series of the first run that the second one lacks, or has no samples of, and facts with an
    /// interval that it lacks, or has without an interval.
    pub missing: Vec<NotCompared>,
    /// Everything else that was not compared, with reasons.
    pub not_compared: Vec<NotCompared>,
    /// Differences between the machines, the tools and the settings.
    pub differences: Vec<Difference>,
    /// Warnings that the answers must be read with.
    pub warnings: Vec<String>,
}

/// The identity of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// Its id: `20261121T101530-5f3a9c`.
    pub id: String,
    /// Its command without the options: `jitter native`.
    pub command: String,
    /// Its start, RFC 3339 in UTC.
    pub started_at: String,
}

impl RunName {
    fn of(record: &RunRecord) -> Self {
        Self {
            id: record.id.clone(),
            command: record.command.clone(),
            started_at: record.started_at.clone(),
        }
    }
}

impl Comparison {
    /// The number of effects with this answer.
    pub fn count(&self, answer: Answer) -> usize {
        self.effects.iter().filter(|effect| effect.answer == answer).count()
    }
}

/// The fewest other runs of the same thing whose spread counts.
pub const FEWEST_REPEATS: usize = 3;

/// Compares run `b` with run `a`. Those of the `others` that repeat one of them
/// show the spread from run to run.
///
/// # Errors
/// `Histogram` if a series is damaged, `NothingInCommon` if the runs share no
/// series and no fact.
pub fn compare(
    a: &RunRecord,
    b: &RunRecord,
    others: &OtherRuns<'_>,
    options: &Options,
) -> Result<Comparison> {
    let series = matching::series(a, b);
    let facts = matching::facts(a, b);
    if series.both.is_empty() && facts.both.is_empty() {
        return Err(Error::NothingInCommon { a: a.id.clone(), b: b.id.clone() });
    }
    let mut warnings = differences::warnings(a, b);
    let mut questions = Vec::new();
    let mut independent = 0;
    let mut not_compared = series.not_compared;
    for pair in &series.both {
        let asked = series::questions(pair)?;
        independent += usize::from(asked.independent);
        questions.extend(asked.questions);
        not_compared.extend(asked.unbounded);
    }
    questions.extend(facts.both.iter().map(facts::question));
    if independent > 0 {
        warnings.push(format!(
            "{independent} series kept no course over time: their samples are taken as \
             independent, so their intervals may be too narrow"
        ));
    }
    let judged = questions.iter().filter(|question| question.is_judged()).count();
    let draws = family::draws_for(judged);
    let repeats = others.like(a, b);
    let ask = |question: Question| {
        let spread = repeats.spread(&question);
        question.ask(spread, options, draws)
    };
    let asked = questions.into_iter().map(ask).collect();

    not_compared.extend(facts.not_compared);
    let mut missing = series.missing;
    missing.extend(facts.missing);
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        a: RunName::of(a),
        b: RunName::of(b),
        min_effect: options.min_effect,
        seed: options.seed,
        questions: judged,
        repeats: repeats.count(),
        effects: decide(asked, options.min_effect),
        missing,
        not_compared,
        differences: differences::between(a, b),
        warnings,
    })
}
