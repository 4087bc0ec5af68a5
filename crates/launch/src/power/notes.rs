//! Facts and warnings about a meter.

use unjank_host::energy::{About, Origin, Samples};
use unjank_measure::stats::{bootstrap, random::seeded};
use unjank_measure::{Fact, Findings, Unit};

/// Resamples of an average.
const DRAWS: usize = 10_000;
/// The fewest values for an interval.
const FEWEST: usize = 6;

/// Warns of a modelled meter.
pub(crate) fn about(about: &About, findings: &mut Findings) {
    if about.origin == Origin::Modelled {
        findings.warn(format!(
            "every energy is modelled, not measured: {}, from {}",
            about.covers, about.source
        ));
    }
}

/// Adds the counts of samples behind an energy, and warns of gaps and damage.
pub(super) fn samples(samples: Samples, findings: &mut Findings) {
    let counts = [
        ("good", samples.good),
        ("lost", samples.lost),
        ("damaged", samples.damaged),
        ("gaps", samples.gaps),
    ];
    for (kind, count) in counts {
        let fact = Fact::new("launch/power/samples", count as f64, Unit::Count);
        findings.facts.push(fact.with_label("kind", kind));
    }
    findings.facts.push(Fact::new(
        "launch/power/longest_between_samples",
        samples.longest.get() as f64,
        Unit::Nanoseconds,
    ));
    if samples.gaps > 0 {
        findings.warn(format!(
            "{} gaps between samples of the meter, {} in all, with {} lost samples; power within a \
             gap is interpolated",
            samples.gaps, samples.gap_time, samples.lost
        ));
    }
    if samples.damaged > 0 {
        findings.warn(format!(
            "{} samples of the meter were damaged and do not count",
            samples.damaged
        ));
    }
}

/// The average of `values` with its interval, as a fact; `None` without
/// values.
pub(super) fn mean(name: &str, values: &[f64], unit: Unit, seed: u64) -> Option<Fact> {
    if values.is_empty() {
        return None;
    }
    let average = |places: &[usize]| {
        let sum: f64 = places.iter().map(|&place| values[place]).sum();
        [sum / places.len() as f64; 2]
    };
    let places: Vec<usize> = (0..values.len()).collect();
    let mut fact = Fact::new(name, average(&places)[0], unit);
    fact.n = Some(values.len() as u64);
    if values.len() >= FEWEST {
        let drawn = bootstrap::pairs(values.len(), DRAWS, &mut seeded(seed, name), average);
        fact = fact.with_interval(drawn.interval_of_a(), values.len() as u64);
    }
    Some(fact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_has_an_interval_from_six_values_on() {
        assert_eq!(mean("x", &[], Unit::Joules, 1), None);
        let few = mean("x", &[1.0, 2.0], Unit::Joules, 1).unwrap();
        assert_eq!((few.value, few.interval, few.n), (1.5, None, Some(2)));
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let fact = mean("x", &values, Unit::Joules, 1).unwrap();
        let [low, high] = fact.interval.unwrap();
        // Student: 3.5 ± 2.57 × 1.87 / √6.
        assert!((low - 1.54).abs() < 0.25 && (high - 5.46).abs() < 0.25, "{low} {high}");
    }
}
