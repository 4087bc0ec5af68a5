//! The verdict on round trips: do calls to another process return in time?

use std::cmp::Reverse;

use unjank_host::Nanos;
use unjank_measure::{Answer, Bound, Findings, Percentile, Quantity, SeriesRecord, Verdict};

/// The largest healthy 99th percentile of a round trip.
///
/// It is the default deadline of AOSP's test (`deadline_us` of `schd-dbg.cpp`), and holds for
/// transports and machines without binder because it bounds what a call may cost its caller, not how
/// fast a processor is. A frame at 120 Hz lasts 8.3 ms, and a touch passes several processes until
/// it is on the screen: three such calls in a row take 7.5 ms. A server may make forty in a row
/// within 0.1 s, which feels instantaneous (Nielsen, *Usability Engineering*). The call itself takes
/// tens of microseconds, so a call that takes 2.5 ms has waited for a CPU. A service that
/// promises less has a deadline of its own: `ipc probe --deadline`.
pub const HEALTHY: Nanos = Nanos::from_micros(2_500);

const SOURCE: &str = "deadline of AOSP's binder latency test; three such calls in a row fit into a \
                      frame at 120 Hz (8.3 ms)";

/// The command to run next for details of round trips.
pub const NEXT_COMMAND: &str = "unjank ipc probe --for 30s --placement one-cpu,two-cpus,free";

/// Transports, the most usual on a device first.
const USUAL: [&str; 4] = ["binder", "hwbinder", "unix", "pipe"];
/// Placements: most calls go to a process on another CPU.
const USUAL_PLACEMENTS: [&str; 2] = ["two-cpus", "free"];

/// Judges the slowest of the transports that certainly miss the limit. If none
/// does, judges the most usual transport and placement, so that two runs judge
/// the same. Pairs of processes are judged together. `next` is the command to
/// run if the answer is not healthy.
pub fn verdict(findings: &Findings, next: &str) -> Verdict {
    let is_of_all =
        |series: &SeriesRecord| series.labels.get("pair").is_some_and(|pair| pair == "all");
    let has_all = findings.series.iter().any(is_of_all);
    let healthy = Bound { at_most: HEALTHY.get() as f64, source: SOURCE.to_owned() };
    let judged = findings
        .series
        .iter()
        .rev()
        .filter(|series| !has_all || is_of_all(series))
        .filter_map(|series| Some((series, tail(series)?)))
        .max_by_key(|(series, tail)| {
            let misses = (healthy.judge(tail) == Answer::Slow)
                .then(|| series.summary.map(|summary| summary.p50));
            (misses, Reverse(rank(series)))
        });
    let reason = match &judged {
        Some((series, _)) => {
            let starts = series.starts_note().unwrap_or_else(|| "one start".to_owned());
            format!("one call in a hundred takes longer; {starts}")
        }
        None => "no call was measured".to_owned(),
    };
    let judged = judged.map(|(_, tail)| tail);
    let question = "Do calls to another process return in time?";
    Verdict::of_health("ipc", question, healthy, judged, reason, next)
}

/// Sorts calls by how usual they are: the lowest rank is the most usual.
fn rank(series: &SeriesRecord) -> (usize, usize) {
    let place = |names: &[&str], name: Option<&str>| {
        names.iter().position(|usual| Some(*usual) == name).unwrap_or(names.len())
    };
    let placement = series.labels.get("placement").map(String::as_str);
    // In `ipc latency`, the caller's policy follows the transport.
    let transport = transport(series).and_then(|name| name.split('/').next());
    (place(&USUAL, transport), place(&USUAL_PLACEMENTS, placement))
}

fn transport(series: &SeriesRecord) -> Option<&str> {
    series.name.strip_prefix("ipc/")?.strip_suffix("/round_trip")
}

fn tail(series: &SeriesRecord) -> Option<Quantity> {
    let mut name = format!("p99 of a round trip over {}", transport(series)?);
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

    fn placed(transport: &str, placement: &str, round_trip: Nanos) -> Findings {
        let mut findings = findings(transport, round_trip);
        findings.series[0].labels.insert("placement".to_owned(), placement.to_owned());
        findings
    }

    #[test]
    fn a_transport_that_certainly_misses_the_limit_decides() {
        let mut all = findings("unix", Nanos::from_micros(30));
        all.merge(findings("pipe", Nanos::from_millis(4)));
        all.merge(findings("futex", Nanos::from_millis(5)));
        let verdict = verdict(&all, NEXT_COMMAND);
        assert_eq!(verdict.answer, Answer::Slow);
        assert!(verdict.measured.unwrap().name.contains("futex"), "the slowest of those");
    }

    #[test]
    fn otherwise_the_most_usual_calls_decide() {
        let micros = Nanos::from_micros;
        let mut all = placed("futex", "two-cpus", micros(90));
        all.merge(placed("unix", "one-cpu", micros(80)));
        all.merge(placed("unix", "two-cpus", micros(30)));
        let judged = |all: &Findings| verdict(all, NEXT_COMMAND).measured.unwrap().name;
        assert_eq!(judged(&all), "p99 of a round trip over unix, two-cpus");
        all.merge(placed("binder", "one-cpu", micros(10)));
        assert_eq!(judged(&all), "p99 of a round trip over binder, one-cpu");
    }

    #[test]
    fn of_equally_usual_calls_the_first_decide() {
        let mut all = findings("pi/other", Nanos::from_micros(10));
        all.merge(findings("unix/fifo", Nanos::from_micros(20)));
        all.merge(findings("unix/other", Nanos::from_micros(30)));
        let judged = verdict(&all, NEXT_COMMAND).measured.unwrap().name;
        assert_eq!(judged, "p99 of a round trip over unix/fifo");
    }

    #[test]
    fn pairs_are_judged_together() {
        let mut findings = findings("unix", Nanos::from_micros(30));
        findings.series[0].labels.insert("pair".to_owned(), "all".to_owned());
        let mut one = self::findings("unix", Nanos::from_millis(4));
        one.series[0].labels.insert("pair".to_owned(), "0".to_owned());
        findings.merge(one);
        assert_eq!(verdict(&findings, NEXT_COMMAND).answer, Answer::Healthy);
    }

    #[test]
    fn fast_calls_are_healthy_and_none_are_not_available() {
        assert_eq!(
            verdict(&findings("unix", Nanos::from_micros(30)), NEXT_COMMAND).answer,
            Answer::Healthy
        );
        assert_eq!(verdict(&Findings::default(), NEXT_COMMAND).answer, Answer::NotAvailable);
    }
}
