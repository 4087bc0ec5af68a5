//! The verdict on wake-up latency: are threads woken in time?

use hdrhistogram::Histogram;
use unjank_host::Nanos;
use unjank_measure::stats::{Empirical, Repetitions, order};
use unjank_measure::{Answer, Bound, Findings, Quantity, SeriesRecord, Unit, Verdict};

use crate::probe::PERIOD_LABEL;

/// The largest healthy 99.9th percentile of a wake-up latency beside a
/// garbage collector.
pub const HEALTHY: Nanos = Nanos::from_micros(3_000);

pub(crate) const HEALTHY_SOURCE: &str = "one time slice of the Linux scheduler on 8 CPUs or more \
                                         (4 × 0.75 ms, kernel/sched/fair.c): the wait for one \
                                         thread in front";
const OTHER: &str = "jitter/native/other/wakeup";
/// Real-time policies, in the order of preference for the reason.
const REALTIME: [(&str, &str); 3] = [
    ("SCHED_FIFO", "jitter/native/fifo/wakeup"),
    ("SCHED_RR", "jitter/native/rr/wakeup"),
    ("SCHED_DEADLINE", "jitter/native/deadline/wakeup"),
];

/// The next step if a real-time policy was in time.
const REMEDY: &str = "sudo unjank rt set PID --thread 'NAME*=fifo:80'";
/// The next step otherwise.
const CAUSE: &str = "sudo unjank jitter native --trace --for 60s --html jitter.html";

/// The percentile of the verdict. A run as short as a checkup's gives it an
/// interval; the 99.9th depends on a few stalls and differs several-fold between runs.
const Q: f64 = 0.99;

/// The source of the limit.
const PERIOD_SOURCE: &str =
    "the period of the wake-ups: a thread that is later misses its next one";

/// Judges ordinary threads, and reports the effect of a real-time policy. Healthy
/// is a 99th percentile of at most one period.
///
/// Each missed period counts as late as it was: a stall of 60 ms at a period of
/// 1 ms is 60 late wake-ups, not one.
pub fn verdict(findings: &Findings) -> Verdict {
    let period = findings.fact_named("jitter/native/period").map_or(0.0, |fact| fact.value);
    let mut verdict = Verdict {
        healthy: Some(healthy(period)),
        ..Verdict::new(
            "jitter",
            "Are threads woken in time?",
            Answer::NotAvailable,
            "no wake-up was measured",
        )
    };
    let tail = |name| tail_of(findings, name, period as u64);
    let realtime = REALTIME.iter().find_map(|(policy, name)| Some((policy, tail(name)?)));
    let other = tail(OTHER);
    let only_realtime = other.is_none();
    let Some(ordinary) = other.or_else(|| realtime.as_ref().map(|(_, tail)| tail.clone())) else {
        return verdict;
    };
    verdict.answer = verdict.healthy.as_ref().map_or(Answer::CannotTell, |b| b.judge(&ordinary));
    let spoken = match &realtime {
        Some(_) if only_realtime => "no ordinary thread was measured".to_owned(),
        Some((policy, tail)) => {
            format!("with {policy}, p99 is {}", Unit::Nanoseconds.show(tail.value))
        }
        None => "no real-time policy was measured".to_owned(),
    };
    verdict.reason = format!("one wake-up in a hundred is later than that; {spoken}");
    if let Some(starts) = findings.series_named(OTHER).and_then(SeriesRecord::starts_note) {
        verdict.reason = format!("{}; {starts}", verdict.reason);
    }
    if let Some(cause) = worst_cause(findings) {
        verdict.reason = format!("{}; the latest: {cause}", verdict.reason);
    }
    if verdict.answer != Answer::Healthy {
        // A policy is suggested only if it was measured to help.
        let is_healthy =
            |tail| verdict.healthy.as_ref().is_some_and(|b| b.judge(tail) == Answer::Healthy);
        let helps = realtime.as_ref().is_some_and(|(_, tail)| !only_realtime && is_healthy(tail));
        let next = if helps { REMEDY } else { CAUSE };
        verdict.next = Some(next.to_owned());
    }
    verdict.measured = Some(ordinary);
    verdict
}

/// The limit for a period in nanoseconds; one millisecond if the period is unknown.
fn healthy(period: f64) -> Bound {
    const USUAL: f64 = 1e6;
    let at_most = if period > 0.0 { period } else { USUAL };
    Bound { at_most, source: PERIOD_SOURCE.to_owned() }
}

/// The cause of the latest ordinary wake-up, if it was traced.
fn worst_cause(findings: &Findings) -> Option<&str> {
    let ordinary = findings.outliers.iter().filter(|outlier| outlier.series == OTHER);
    ordinary.max_by_key(|outlier| outlier.value)?.cause.as_deref()
}

/// The 99th percentile, missed periods included.
fn tail_of(findings: &Findings, name: &str, period: u64) -> Option<Quantity> {
    let series = findings.series_named(name)?;
    let by_start = corrected(findings, series, period)?;
    let (first, others) = by_start.split_first()?;
    let mut histogram = first.clone();
    for other in others {
        histogram.add(other).ok()?;
    }
    let n = histogram.len();
    if n == 0 {
        return None;
    }
    let starts: Vec<Empirical> =
        by_start.iter().map(|start| Empirical::new(start, 0, u64::MAX)).collect();
    let repeated = Repetitions::new(&starts);
    let interval = match &repeated {
        Some(starts) => starts.interval(Q).map(|ends| ends.map(|end| end as f64)),
        None if by_start.len() > 1 => None,
        None => order::quantile_interval(n, Q)
            .map(|ranks| ranks.map(|rank| order::value_at_rank(&histogram, rank) as f64)),
    };
    let policy = series.labels.get("policy").map_or("", String::as_str);
    // The table of series leaves missed periods out, so its p99 differs.
    let counted = if n > series.n { ", missed periods counted as late" } else { "" };
    Some(Quantity {
        name: format!("p99 of wake-up latency as {policy}{counted}"),
        value: histogram.value_at_quantile(Q) as f64,
        unit: series.unit,
        interval,
        at_least: match interval {
            Some(_) => None,
            None => repeated.and_then(|starts| starts.lower_end(Q)).map(|low| low as f64),
        },
        n,
    })
}

/// The distribution of each start, with each missed period as late as it was.
/// Threads with periods of their own are corrected one by one.
fn corrected(findings: &Findings, all: &SeriesRecord, period: u64) -> Option<Vec<Histogram<u64>>> {
    let of_its_own = |series: &&SeriesRecord| {
        series.name == all.name && series.labels.contains_key(PERIOD_LABEL)
    };
    let mut whole: Vec<Histogram<u64>> = Vec::new();
    for single in findings.series.iter().filter(of_its_own) {
        let period = single.labels[PERIOD_LABEL].parse().ok()?;
        for (number, start) in starts_of(single)?.iter().enumerate() {
            let start = start.clone_correct(period);
            match whole.get_mut(number) {
                Some(whole) => whole.add(&start).ok()?,
                None => whole.push(start),
            }
        }
    }
    if whole.is_empty() {
        whole = starts_of(all)?.iter().map(|start| start.clone_correct(period)).collect();
    }
    Some(whole)
}

/// The samples of each start; all samples if there was one start.
fn starts_of(series: &SeriesRecord) -> Option<Vec<Histogram<u64>>> {
    match series.repetitions.as_slice() {
        [] => Some(vec![series.histogram().ok()?]),
        _ => series.histograms_by_start().ok(),
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Fact, Series};

    use super::*;

    fn findings(latencies: &[(u64, u64)]) -> Findings {
        let mut series = Series::new(OTHER).with_label("policy", "other");
        for &(latency, times) in latencies {
            for _ in 0..times {
                series.record(Nanos(latency));
            }
        }
        let period = Fact::new("jitter/native/period", 1e6, Unit::Nanoseconds);
        Findings { series: vec![series.finish()], facts: vec![period], ..Findings::default() }
    }

    #[test]
    fn punctual_threads_are_healthy() {
        let verdict = verdict(&findings(&[(60_000, 10_000)]));
        assert_eq!(verdict.answer, Answer::Healthy);
        assert_eq!(verdict.next, None);
        let measured = verdict.measured.expect("it was measured");
        assert_eq!(measured.name, "p99 of wake-up latency as other");
    }

    #[test]
    fn one_long_stall_counts_as_the_periods_it_missed() {
        // One sample of 60 ms among 3,000: below the 99th percentile as it
        // stands, far above it with its 59 missed periods.
        let verdict = verdict(&findings(&[(60_000, 3_000), (60_000_000, 1)]));
        assert_eq!(verdict.answer, Answer::Slow);
        assert!(verdict.next.is_some());
        // The series' own p99 is 60 µs: the name says why this one differs.
        let measured = verdict.measured.expect("it was measured");
        let name = "p99 of wake-up latency as other, missed periods counted as late";
        assert_eq!((measured.name.as_str(), measured.n), (name, 3_060));
    }

    #[test]
    fn threads_with_periods_of_their_own_are_corrected_by_them() {
        // The second thread's stall of 60 ms is 5 missed periods of 10 ms; with
        // the first one's period it would be 59.
        let mut findings = findings(&[(60_000, 10_000), (60_000_000, 1)]);
        let whole = tail_of(&findings, OTHER, 1_000_000).unwrap();
        assert_eq!(whole.n, 10_060);
        for (period, latencies) in [(1_000_000, (60_000, 5_000)), (10_000_000, (60_000_000, 1))] {
            let mut series = Series::new(OTHER).with_label(PERIOD_LABEL, period.to_string());
            (0..latencies.1).for_each(|_| series.record(Nanos(latencies.0)));
            findings.series.push(series.finish());
        }
        assert_eq!(tail_of(&findings, OTHER, 1_000_000).unwrap().n, 5_006);
    }

    #[test]
    fn a_real_time_policy_alone_is_judged_and_mentioned_once() {
        let mut findings = findings(&[(60_000, 10_000)]);
        REALTIME[0].1.clone_into(&mut findings.series[0].name);
        let verdict = verdict(&findings);
        assert_eq!(verdict.answer, Answer::Healthy);
        assert!(verdict.reason.ends_with("no ordinary thread was measured"), "{}", verdict.reason);
    }

    #[test]
    fn rt_is_the_next_step_only_if_it_helps() {
        let late = || findings(&[(60_000, 3_000), (60_000_000, 1)]);
        let with_fifo = |latency| {
            let mut series = Series::new(REALTIME[0].1).with_label("policy", "fifo");
            for _ in 0..10_000 {
                series.record(Nanos(latency));
            }
            let mut findings = late();
            findings.series.push(series.finish());
            findings
        };
        let next = |findings: &Findings| verdict(findings).next;
        assert_eq!(next(&with_fifo(20_000)).as_deref(), Some(REMEDY));
        assert_eq!(next(&with_fifo(9_000_000)).as_deref(), Some(CAUSE));
        assert_eq!(next(&late()).as_deref(), Some(CAUSE));
    }

    #[test]
    fn nothing_measured_is_not_available() {
        assert_eq!(verdict(&Findings::default()).answer, Answer::NotAvailable);
    }
}
