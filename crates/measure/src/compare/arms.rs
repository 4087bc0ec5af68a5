//! Compares series of one run with each other.

use super::Options;
use super::series;
use crate::effect::{Effect, decide};
use crate::error::Result;
use crate::record::SeriesRecord;
use crate::stats::family;

/// Compares the 99.9th percentiles of pairs of series, with the first as the
/// baseline, all as one family, in the order of `pairs`. `None` if one of the
/// two has too few samples to bound its tail. The labels are those of the
/// second.
///
/// Both are of one run, but were measured one after the other: the intervals
/// include only the spread inside each of them.
///
/// # Errors
/// `Histogram` if one of them is damaged.
pub fn tails(pairs: &[[&SeriesRecord; 2]], options: &Options) -> Result<Vec<Option<Effect>>> {
    let questions: Vec<_> = pairs.iter().map(series::tail).collect::<Result<_>>()?;
    let draws = family::draws_for(questions.iter().flatten().count());
    let bounded: Vec<bool> = questions.iter().map(Option::is_some).collect();
    let asked = questions.into_iter().flatten().map(|question| question.ask(None, options, draws));
    let mut effects = decide(asked.collect(), options.min_effect).into_iter();
    Ok(bounded.into_iter().map(|bounded| if bounded { effects.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use unjank_host::{Nanos, Timestamp};

    use super::*;
    use crate::record::Answer;
    use crate::series::Series;
    use crate::{Findings, StartFindings, pool};

    /// Samples of which one in a hundred takes `rare`.
    fn series(variant: &str, samples: u64, rare: u64) -> SeriesRecord {
        let start = Timestamp::from_nanos(0);
        let mut series = Series::new("test/wakeup")
            .with_label("variant", variant)
            .with_course(start, Nanos(samples * 1_000));
        for n in 0..samples {
            let late = if n % 100 == 0 { rare + n % 700 } else { 1_000 };
            series.record_at(start + Nanos(n * 1_000), Nanos(late));
        }
        series.finish()
    }

    #[test]
    fn each_pair_has_its_answer_and_too_few_samples_have_none() {
        let late = series("normal", 50_000, 90_000);
        let early = series("thread", 50_000, 30_000);
        let short = series("native", 500, 30_000);
        let pairs = [[&late, &early], [&late, &short], [&early, &late], [&late, &late]];
        let effects = tails(&pairs, &Options { min_effect: 0.1, seed: 7 }).unwrap();
        let answers: Vec<_> = effects
            .iter()
            .map(|effect| effect.as_ref().map(|it| (it.answer, it.labels["variant"].clone())))
            .collect();
        assert_eq!(
            answers,
            [
                Some((Answer::Better, "thread".to_owned())),
                None,
                Some((Answer::Worse, "normal".to_owned())),
                Some((Answer::Same, "normal".to_owned())),
            ]
        );
        let ratio = effects[0].as_ref().unwrap().ratio.unwrap();
        assert!((ratio.value - 1.0 / 3.0).abs() < 0.01, "{ratio:?}");
    }

    /// Starts that are all alike.
    fn starts(variant: &str, count: u64, rare: u64) -> SeriesRecord {
        let start = |number| StartFindings {
            at: Timestamp::from_nanos(number),
            findings: Findings {
                series: vec![series(variant, 50_000, rare)],
                ..Findings::default()
            },
        };
        pool((0..count).map(start).collect()).unwrap().series.remove(0)
    }

    #[test]
    fn two_or_three_starts_are_too_few_and_four_are_not() {
        let answered = [1, 2, 3, 4].map(|count| {
            let [late, early] = [starts("normal", count, 90_000), starts("thread", count, 30_000)];
            tails(&[[&late, &early]], &Options { min_effect: 0.1, seed: 7 }).unwrap()[0].is_some()
        });
        assert_eq!(answered, [true, false, false, true]);
    }
}
