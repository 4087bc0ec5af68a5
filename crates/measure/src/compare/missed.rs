//! The question about missed periods: their number, and that of their bursts.

use super::question::{Question, Source};
use crate::effect::Side;
use crate::record::{Direction, SeriesRecord, Slice, Unit};
use crate::stats::repetitions::FEWEST as FEWEST_STARTS;

/// What is compared here.
pub(super) const QUANTITY: &str = "missed periods";

/// The question about the share of missed periods, if either run missed any.
pub(super) fn question(a: &SeriesRecord, b: &SeriesRecord) -> Option<Question> {
    if a.missed == 0 && b.missed == 0 {
        return None;
    }
    // The run without misses shows no bursts; its misses are assumed to come in
    // bursts of the other run's size.
    let burst = burst(a).max(burst(b));
    let side = |run: &SeriesRecord| {
        let due = run.n.saturating_add(run.missed);
        Side {
            value: run.missed_share(),
            interval: None,
            n: Some(due),
            effective_n: Some(due as f64 / burst),
        }
    };
    let source = |run: &SeriesRecord| Source::Share {
        hits: run.missed as f64 / burst,
        misses: run.n as f64 / burst,
    };
    Some(Question {
        subject: a.name.clone(),
        labels: a.labels.clone(),
        quantity: QUANTITY.to_owned(),
        unit: Unit::Ratio,
        better: Some(Direction::Smaller),
        sides: [side(a), side(b)],
        sources: Ok([source(a), source(b)]),
    })
}

/// The size of a burst of missed periods: the variance of their number per
/// slice, divided by its mean. As all periods are due at equal distances, a
/// slice lacks exactly the samples that were missed in it. 1 if the series has
/// no course.
fn burst(series: &SeriesRecord) -> f64 {
    if series.repetitions.len() >= FEWEST_STARTS {
        return burst_over_starts(series);
    }
    let counts = counts(&series.slices);
    if counts.len() < 3 || series.missed == 0 {
        return 1.0;
    }
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // A wake-up on the border of two slices counts in one or the other, which
    // adds up to half a sample to the variance.
    let missed = series.missed as f64 / n;
    ((variance - 0.5) / missed).clamp(1.0, series.missed as f64)
}

/// The same from start to start: the variance of the misses per start over
/// their mean.
fn burst_over_starts(series: &SeriesRecord) -> f64 {
    let starts = series.repetitions.len() as f64;
    let mean = series.missed as f64 / starts;
    let squares: f64 =
        series.repetitions.iter().map(|start| (start.missed as f64 - mean).powi(2)).sum();
    let variance = squares / (starts - 1.0);
    if mean > 0.0 { (variance / mean).clamp(1.0, series.missed as f64) } else { 1.0 }
}

/// Samples per slice, including empty slices, without the last one, which also
/// holds everything after the expected end.
fn counts(slices: &[Slice]) -> Vec<f64> {
    let length = slices.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).min();
    let (Some(length), Some(last)) = (length.filter(|&length| length > 0), slices.last()) else {
        return Vec::new();
    };
    // Slices of a record from outside may be anywhere; a run has at most this
    // many.
    let all = (last.at / length).min(crate::series::SLICES as u64) as usize;
    let mut counts = vec![0.0; all];
    for slice in slices {
        if let Some(count) = counts.get_mut((slice.at / length) as usize) {
            *count += slice.n as f64;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use unjank_host::{Nanos, Timestamp};

    use super::*;
    use crate::Series;

    /// 24,000 periods of 1 ms; `missed` selects those that are missed.
    fn run(missed: impl Fn(u64) -> bool) -> SeriesRecord {
        let start = Timestamp::from_nanos(0);
        let length = Nanos::from_millis(24_000);
        let mut series = Series::new("test/periodic").with_course(start, length);
        for period in 0..24_000 {
            if missed(period) {
                series.miss(1);
            } else {
                series.record_at(start + Nanos::from_millis(period), Nanos(1_000));
            }
        }
        series.finish()
    }

    #[test]
    fn single_misses_are_independent_events() {
        assert!((burst(&run(|period| period % 700 == 0)) - 1.0).abs() < 0.5);
        assert!((burst(&run(|_| false)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_burst_is_about_one_event() {
        let size = burst(&run(|period| (5_030..5_080).contains(&period)));
        assert!((25.0..=50.0).contains(&size), "{size}");
        // A stall of two seconds leaves whole slices empty.
        let size = burst(&run(|period| (5_000..7_000).contains(&period)));
        assert!(size > 80.0, "{size}");
    }

    #[test]
    fn a_run_without_a_course_shows_no_bursts() {
        let mut series = Series::new("test/periodic");
        series.record(Nanos(5));
        series.miss(100);
        assert!((burst(&series.finish()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_misses_no_question() {
        assert!(question(&run(|_| false), &run(|_| false)).is_none());
        assert!(question(&run(|_| false), &run(|period| period == 7)).is_some());
    }
}
