//! The verdict on ramps: is the clock up in time?

mod load;

use unjank_host::Nanos;
use unjank_measure::{Bound, Findings, Quantity, Verdict};

pub use load::beside_load;

/// The longest healthy median time from wake to 95 % of full speed.
pub const HEALTHY: Nanos = Nanos::from_micros(16_700);

const SOURCE: &str = "one frame at 60 Hz; a period of 100 ms costs 3.3 % of a launch (Jo & Suh)";

/// Judges the median launch over all CPUs.
pub fn verdict(findings: &Findings) -> Verdict {
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let measured = findings.series_named("launch/ramp/time_to_full").and_then(|series| {
        Quantity::median_of(series, "median time from wake to 95 % of full speed")
    });
    let lost = findings.series_named("launch/ramp/work_lost").and_then(|series| series.summary);
    let reason = match lost {
        Some(lost) if lost.p50 == 0 => {
            "the first slice that was measured was at full speed already, so this time is an upper \
             bound"
                .to_owned()
        }
        Some(lost) => format!("a slow clock costs a launch {} of full-speed work", Nanos(lost.p50)),
        None => "no launch reached full speed".to_owned(),
    };
    let question = "Is the clock up in time when work begins?";
    let next = "unjank launch ramp --count 40 --html ramp.html";
    Verdict::of_health("launch", question, healthy, measured, reason, next)
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Answer, Series, SeriesRecord};

    use super::*;

    fn series(name: &str, value: Nanos, launches: u32) -> SeriesRecord {
        let mut series = Series::new(name);
        for _ in 0..launches {
            series.record(value);
        }
        series.finish()
    }

    fn findings(time_to_full: Nanos, launches: u32) -> Findings {
        let series = vec![series("launch/ramp/time_to_full", time_to_full, launches)];
        Findings { series, ..Findings::default() }
    }

    #[test]
    fn at_the_resolution_the_time_is_an_upper_bound() {
        let reason = |lost| {
            let mut findings = findings(Nanos::from_micros(100), 10);
            findings.series.push(series("launch/ramp/work_lost", lost, 10));
            verdict(&findings).reason
        };
        assert!(reason(Nanos::ZERO).contains("upper bound"), "{}", reason(Nanos::ZERO));
        let lost = reason(Nanos::from_micros(50));
        assert!(lost.contains("costs a launch 50.0 µs of full-speed work"), "{lost}");
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
