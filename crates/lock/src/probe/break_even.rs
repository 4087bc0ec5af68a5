//! The break-even of spinning: the wait from which parking ends sooner.

use unjank_measure::{Fact, Findings, Quantity, Unit};

use super::handoff::Placement;

/// Adds the break-even between spinning and parking: how much longer a parked
/// hand-off takes than a spun one, one way. A shorter wait ends sooner if it is
/// spun. Spinning for this long before parking never costs more than twice the
/// best choice (ski rental: Karlin et al., *Competitive randomized algorithms*,
/// 1990).
pub(crate) fn note(findings: &mut Findings) {
    let median = |wait: &str| {
        let name = format!("lock/{wait}/round_trip");
        let series = findings.series.iter().find(|series| {
            series.name == name
                && series.labels.get("placement").is_some_and(|p| p == Placement::TwoCpus.name())
        })?;
        let median = Quantity::median_of(series, name)?;
        Some((median.value, median.interval?, median.n))
    };
    let (Some(spin), Some(park)) = (median("spin"), median("park")) else { return };
    let one_way = |longer: f64, shorter: f64| ((longer - shorter) / 2.0).max(0.0);
    let fact = Fact::new("lock/break_even", one_way(park.0, spin.0), Unit::Nanoseconds)
        .with_interval(
            [one_way(park.1[0], spin.1[1]), one_way(park.1[1], spin.1[0])],
            spin.2.min(park.2),
        );
    findings.facts.push(fact);
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Series;

    use super::*;

    fn series(wait: &str, round_trip: u64) -> unjank_measure::SeriesRecord {
        let mut series =
            Series::new(format!("lock/{wait}/round_trip")).with_label("placement", "two-cpus");
        for _ in 0..100 {
            series.record(Nanos(round_trip));
        }
        series.finish()
    }

    #[test]
    fn the_break_even_is_half_the_difference_of_round_trips() {
        let mut findings = Findings::default();
        note(&mut findings);
        assert!(findings.facts.is_empty());
        findings.series = vec![series("spin", 100), series("park", 50_000)];
        note(&mut findings);
        let fact = findings.fact_named("lock/break_even").unwrap();
        assert!((fact.value - 24_950.0).abs() < 30.0, "{fact:?}");
        assert!(fact.interval.is_some());
    }
}
