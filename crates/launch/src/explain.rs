//! Is the clock up in time?

use unjank_host::Nanos;
use unjank_measure::{Answer, Bound, Findings, Quantity, Verdict};

/// The longest healthy median time from wake to 95 % of full speed.
pub const HEALTHY: Nanos = Nanos::from_micros(16_700);

const SOURCE: &str = "one frame at 60 Hz; a period of 100 ms costs 3.3 % of a launch (Jo & Suh)";

/// Judges the median launch over all CPUs.
pub fn verdict(findings: &Findings) -> Verdict {
    let median = |name: &str| {
        let series = findings.series.iter().find(|series| series.name == name)?;
        let summary = series.summary?;
        Some((series.n, summary.p50, summary.intervals[0]))
    };
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let measured = median("launch/ramp/time_to_full").map(|(n, p50, interval)| Quantity {
        name: "median time from wake to 95 % of full speed".to_owned(),
        value: p50 as f64,
        unit: unjank_measure::Unit::Nanoseconds,
        interval: interval.map(|bounds| bounds.map(|bound| bound as f64)),
        n,
    });
    let answer = measured.as_ref().map_or(Answer::NotAvailable, |median| healthy.judge(median));
    let reason = match median("launch/ramp/work_lost") {
        Some((_, lost, _)) => format!("a launch loses {} of full-speed work to it", Nanos(lost)),
        None => "no launch reached full speed".to_owned(),
    };
    Verdict {
        question: "Is the clock up in time when work begins?".to_owned(),
        subject: "launch".to_owned(),
        answer,
        measured,
        healthy: Some(healthy),
        effect: None,
        minimum_effect: None,
        reason,
        next: matches!(answer, Answer::Slow | Answer::CannotTell)
            .then(|| "unjank launch ramp --launches 40 --html ramp.html".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::*;

    fn findings(time_to_full: Nanos, launches: u32) -> Findings {
        let mut series = Series::new("launch/ramp/time_to_full");
        for _ in 0..launches {
            series.record(time_to_full);
        }
        Findings { series: vec![series.finish()], ..Findings::default() }
    }

    #[test]
    fn a_slow_governor_is_slow_and_a_fast_one_healthy() {
        assert_eq!(verdict(&findings(Nanos::from_millis(80), 10)).answer, Answer::Slow);
        assert_eq!(verdict(&findings(Nanos::from_millis(2), 10)).answer, Answer::Healthy);
    }

    #[test]
    fn three_launches_decide_nothing() {
        assert_eq!(verdict(&findings(Nanos::from_millis(2), 3)).answer, Answer::CannotTell);
        assert_eq!(verdict(&Findings::default()).answer, Answer::NotAvailable);
    }
}
