//! Healthy limits in charts.

use unjank_measure::{SeriesRecord, Unit, Verdict};

use crate::chart::percentiles::Limit;
use crate::visible::visible;
use crate::words;

/// The healthy limit of a verdict about a quantile, if its value lies between the
/// extremes of one of these series.
pub(crate) fn limit(verdict: &Verdict, unit: Unit, series: &[&SeriesRecord]) -> Option<Limit> {
    let (measured, healthy) = (verdict.measured.as_ref()?, verdict.healthy.as_ref()?);
    let within = |series: &&SeriesRecord| {
        series.summary.is_some_and(|summary| {
            (summary.min as f64..=summary.max as f64).contains(&measured.value)
        })
    };
    let fits = measured.unit == unit && series.iter().any(within);
    let quantile = quantile_in(&measured.name).filter(|_| fits && healthy.at_most.is_finite())?;
    Some(Limit {
        at_most: healthy.at_most,
        quantile,
        words: format!("healthy up to {}", words::value(unit, healthy.at_most)),
        about: visible(&measured.name).into_owned(),
    })
}

/// The quantile that a quantity's name begins with: `p99.9 of …`, `median of …`.
fn quantile_in(name: &str) -> Option<f64> {
    let word = name.split_whitespace().next()?;
    if word == "median" {
        return Some(0.5);
    }
    let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::{Answer, Bound, Quantity, Series};

    use super::*;

    fn verdict(name: &str, value: f64) -> Verdict {
        Verdict {
            measured: Some(Quantity {
                name: name.to_owned(),
                value,
                unit: Unit::Nanoseconds,
                interval: None,
                at_least: None,
                n: 2,
            }),
            healthy: Some(Bound { at_most: 2.7e6, source: String::new() }),
            ..Verdict::new("jitter", "", Answer::Slow, "")
        }
    }

    fn limit_of(name: &str, value: f64) -> Option<Limit> {
        let mut series = Series::new("jitter/wakeup");
        series.record(Nanos(1_000));
        series.record(Nanos(9_000_000));
        limit(&verdict(name, value), Unit::Nanoseconds, &[&series.finish()])
    }

    #[test]
    fn a_limit_is_drawn_at_its_quantile() {
        let limit = limit_of("p99.9 of wake-up latency", 3e6).unwrap();
        assert!((limit.quantile - 0.999).abs() < 1e-12);
        assert_eq!(limit.words, "healthy up to 2.70 ms");
    }

    #[test]
    fn a_limit_for_something_else_is_not_drawn() {
        assert_eq!(limit_of("p99.9 of wake-up latency", 1e9), None, "no series reaches so far");
        assert_eq!(limit_of("share of late wake-ups", 3e6), None, "not a quantile");
        assert_eq!(limit_of("p100 of wake-up latency", 3e6), None, "a maximum has no place");
    }
}
