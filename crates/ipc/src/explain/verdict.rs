//! Do inter-process calls answer in time?

use unjank_host::Nanos;
use unjank_measure::{Answer, Bound, Findings, Percentile, Quantity, SeriesRecord, Verdict};

/// The largest healthy 99th percentile of a round trip.
pub const HEALTHY: Nanos = Nanos::from_micros(2_500);

const SOURCE: &str = "deadline of AOSP's binder latency test";

/// The command that looks closer at round trips.
pub const CLOSER: &str = "unjank ipc probe --for 30s --placement one-cpu,two-cpus,free";

/// Judges what certainly misses the limit, where anything does, else what has
/// the slowest median, which differs less from run to run than the slowest
/// tail does; of pairs of processes, all of them together. `next` is what to
/// type if that is not well.
pub fn verdict(findings: &Findings, next: &str) -> Verdict {
    let is_of_all =
        |series: &SeriesRecord| series.labels.get("pair").is_some_and(|pair| pair == "all");
    let has_all = findings.series.iter().any(is_of_all);
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let slowest = findings
        .series
        .iter()
        .filter(|series| !has_all || is_of_all(series))
        .filter_map(|series| Some((series, tail(series)?)))
        .max_by_key(|(series, tail)| {
            let median = series.summary.map(|summary| summary.p50);
            (healthy.judge(tail) == Answer::Slow, median)
        });
    let reason = match &slowest {
        Some((series, _)) => {
            let reason = "the slowest of what was measured; one call in a hundred takes longer";
            match series.told_of_starts() {
                Some(starts) => format!("{reason}; {starts}"),
                None => reason.to_owned(),
            }
        }
        None => "no call was measured".to_owned(),
    };
    let slowest = slowest.map(|(_, tail)| tail);
    let question = "Do calls to another process return in time?";
    Verdict::of_health("ipc", question, healthy, slowest, reason, next)
}

fn tail(series: &SeriesRecord) -> Option<Quantity> {
    let transport = series.name.strip_prefix("ipc/")?.strip_suffix("/round_trip")?;
    let mut name = format!("p99 of a round trip over {transport}");
    for label in ["placement", "caller"].iter().filter_map(|&label| series.labels.get(label)) {
        name = format!("{name}, {label}");
    }
    Quantity::percentile_of(series, Percentile::P99, name)
}

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::*;

    fn findings(transport: &str, round_trip: Nanos) -> Findings {
        let mut series = Series::new(format!("ipc/{transport}/round_trip"));
        for _ in 0..10_000 {
            series.record(round_trip);
        }
        Findings { series: vec![series.finish()], ..Findings::default() }
    }

    #[test]
    fn the_slowest_transport_decides() {
        let mut both = findings("unix", Nanos::from_micros(30));
        both.merge(findings("pipe", Nanos::from_millis(4)));
        let verdict = verdict(&both, CLOSER);
        assert_eq!(verdict.answer, Answer::Slow);
        assert!(verdict.measured.unwrap().name.contains("pipe"));
    }

    #[test]
    fn pairs_are_judged_together() {
        let mut findings = findings("unix", Nanos::from_micros(30));
        findings.series[0].labels.insert("pair".to_owned(), "all".to_owned());
        let mut one = self::findings("unix", Nanos::from_millis(4));
        one.series[0].labels.insert("pair".to_owned(), "0".to_owned());
        findings.merge(one);
        assert_eq!(verdict(&findings, CLOSER).answer, Answer::Healthy);
    }

    #[test]
    fn fast_calls_are_healthy_and_none_are_not_available() {
        assert_eq!(
            verdict(&findings("unix", Nanos::from_micros(30)), CLOSER).answer,
            Answer::Healthy
        );
        assert_eq!(verdict(&Findings::default(), CLOSER).answer, Answer::NotAvailable);
    }
}
