//! The verdict on the wake-up latency of a parked thread.

mod load;

use unjank_host::Nanos;
use unjank_measure::{Bound, Findings, Quantity, SeriesRecord, Unit, Verdict};

pub use load::beside_load;

/// The longest healthy median time from a wake-up call until the parked thread
/// runs: twice what folly's authors give for a server of 2013.
pub const HEALTHY: Nanos = Nanos::from_micros(14);

const SOURCE: &str = "twice the 7 µs that folly's WaitOptions.h names for a server of 2013";

/// Judges the wake-up of a parked thread, and compares it with how long the
/// standard library spins before it parks.
pub fn verdict(findings: &Findings) -> Verdict {
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let series = findings.series_named("lock/park_wake");
    let measured = series.and_then(|series| {
        let name = "median time until a parked thread on another CPU runs again";
        Quantity::median_of(series, name)
    });
    let show = |name| findings.fact_named(name).map(|fact| Unit::Nanoseconds.show(fact.value));
    let budgets = [show("lock/std_spin_budget"), show("lock/backoff_spin_budget")];
    let reason = match (show("lock/break_even"), budgets) {
        (Some(even), [Some(fixed), Some(measured)]) => format!(
            "for waits under {even}, spinning is cheaper than parking; the standard library \
             spins for {fixed}, unjank-backoff (by its own measurement) for at most {measured}"
        ),
        _ => "no hand-off between two CPUs was measured".to_owned(),
    };
    let reason = match series.and_then(SeriesRecord::starts_note) {
        Some(starts) => format!("{reason}; {starts}"),
        None => reason,
    };
    let question = "Does a thread that waited for a lock run soon after its release?";
    let next = "unjank lock probe --for 10s --html lock.html";
    Verdict::of_health("lock", question, healthy, measured, reason, next)
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Answer, Series};

    use super::*;

    #[test]
    fn a_slow_wake_up_is_slow() {
        let mut series = Series::new("lock/park_wake");
        for _ in 0..1_000 {
            series.record(Nanos::from_micros(47));
        }
        let findings = Findings { series: vec![series.finish()], ..Findings::default() };
        assert_eq!(verdict(&findings).answer, Answer::Slow);
        assert_eq!(verdict(&Findings::default()).answer, Answer::NotAvailable);
    }
}
