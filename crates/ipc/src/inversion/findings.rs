//! Turns calls into findings and a verdict: did they wait for the hog?

use unjank_host::{Error, Result};
use unjank_measure::stats::proportion;
use unjank_measure::{
    Answer, Fact, Findings, Percentile, Quantity, Series, SeriesRecord, StartFindings, Unit,
    Verdict, pool,
};

use super::options::Options;
use crate::transport::Transport;

/// The share of long calls that is not blamed on inversion: interrupts and the
/// hypervisor delay some calls anyway.
const TOLERATED: f64 = 0.05;

/// What one start measured over one transport.
pub(super) struct Cell {
    transport: Transport,
    pub(super) alone: Series,
    pub(super) beside_hog: Series,
}

impl Cell {
    pub(super) fn new(transport: Transport) -> Self {
        let series = |load: &str| {
            Series::new(format!("ipc/{transport}/inversion/round_trip")).with_label("load", load)
        };
        Self { transport, alone: series("none"), beside_hog: series("hog") }
    }

    /// The findings of the start; `None` without a call beside the hog.
    pub(super) fn finish(self, options: &Options) -> Option<Findings> {
        let n = self.beside_hog.n();
        if n == 0 {
            return None;
        }
        let (alone, beside_hog) = (self.alone.finish(), self.beside_hog.finish());
        let inverted = longer_than(&beside_hog, options.burst.get() / 4);
        let name = format!("ipc/{}/inversion/inverted", self.transport);
        let share = Fact::new(name, inverted as f64 / n as f64, Unit::Ratio)
            .with_interval(proportion::interval(inverted, n), n)
            .averaged();
        Some(Findings {
            series: vec![alone, beside_hog],
            facts: vec![share],
            ..Findings::default()
        })
    }
}

/// Adds the findings of all starts of a transport, and the verdict.
pub(super) fn note(
    transport: Transport,
    starts: Vec<StartFindings>,
    options: &Options,
    findings: &mut Findings,
) -> Result<()> {
    let pooled = pool(starts).map_err(|error| Error::Invalid(error.to_string()))?;
    if let ([alone, beside_hog], [share]) = (pooled.series.as_slice(), pooled.facts.as_slice()) {
        findings.verdicts.push(verdict(transport, options, share, alone, beside_hog));
    }
    findings.merge(pooled);
    Ok(())
}

fn longer_than(series: &SeriesRecord, limit: u64) -> u64 {
    let histogram = series.histogram().expect("a series that was just finished is whole");
    histogram
        .iter_recorded()
        .filter(|step| step.value_iterated_to() > limit)
        .map(|step| step.count_at_value())
        .sum()
}

fn verdict(
    transport: Transport,
    options: &Options,
    share: &Fact,
    alone: &SeriesRecord,
    beside_hog: &SeriesRecord,
) -> Verdict {
    let n = beside_hog.n;
    let inverted = longer_than(beside_hog, options.burst.get() / 4);
    let answer = match share.interval {
        Some([low, _]) if low > TOLERATED => Answer::No,
        Some([_, high]) if high < TOLERATED => Answer::Yes,
        _ => Answer::CannotTell,
    };
    let starts = beside_hog.starts_note().unwrap_or_else(|| "one start".to_owned());
    let p99 = |series: &SeriesRecord| {
        let name = "p99 of a real-time round trip beside the hog";
        Quantity::percentile_of(series, Percentile::P99, name)
    };
    let without = p99(alone).map_or_else(String::new, |alone| {
        format!("; p99 without the hog is {}", Unit::Nanoseconds.show(alone.value))
    });
    Verdict {
        measured: p99(beside_hog),
        next: (answer == Answer::No).then(|| {
            "unjank ipc inversion --transport pi   # docs/reference/pi-channel.md".to_owned()
        }),
        ..Verdict::new(
            format!("ipc/{transport}"),
            format!(
                "Does a real-time call over {transport} return without waiting for less urgent \
                 threads?"
            ),
            answer,
            format!(
                "{inverted} of {n} calls beside the hog took longer than a quarter of its burst of \
             {}{without}; {starts}",
                options.burst
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::Priority;
    use unjank_host::{Nanos, Timestamp};

    use super::*;

    fn options() -> Options {
        Options {
            transports: vec![Transport::Unix],
            calls: 1,
            starts: 1,
            cpu: 0,
            client: Priority::new(80).unwrap(),
            hog: Priority::new(50).unwrap(),
            burst: Nanos::from_millis(10),
            force: false,
        }
    }

    fn start(at: u64, slow: u64, fast: u64) -> StartFindings {
        let mut cell = Cell::new(Transport::Unix);
        cell.alone.record(Nanos::from_micros(10));
        for _ in 0..fast {
            cell.beside_hog.record(Nanos::from_micros(10));
        }
        for _ in 0..slow {
            cell.beside_hog.record(Nanos::from_millis(9));
        }
        StartFindings { at: Timestamp::from_nanos(at), findings: cell.finish(&options()).unwrap() }
    }

    fn verdict_of(starts: Vec<StartFindings>) -> Verdict {
        let mut findings = Findings::default();
        note(Transport::Unix, starts, &options(), &mut findings).unwrap();
        assert_eq!((findings.series.len(), findings.facts.len()), (2, 1));
        findings.verdicts.remove(0)
    }

    #[test]
    fn many_slow_calls_are_an_inversion_and_few_are_not() {
        let answer = |slow, fast| verdict_of(vec![start(0, slow, fast)]).answer;
        assert_eq!(answer(150, 50), Answer::No);
        assert_eq!(answer(0, 200), Answer::Yes);
        assert_eq!(answer(2, 200), Answer::Yes);
        assert_eq!(answer(1, 9), Answer::CannotTell);
    }

    #[test]
    fn one_start_of_several_does_not_decide() {
        let starts = |slow: fn(u64) -> u64| {
            verdict_of((0..10).map(|it| start(it, slow(it), 30 - slow(it))).collect())
        };
        // As many slow calls of as many calls, but they come from one server.
        let one = starts(|it| if it == 3 { 30 } else { 0 });
        let all = starts(|_| 3);
        assert_eq!((one.answer, all.answer), (Answer::CannotTell, Answer::No));
        assert!(one.reason.starts_with("30 of 300 calls"), "{}", one.reason);
        assert!(all.reason.ends_with("; 10 independent starts"), "{}", all.reason);
        assert_eq!(starts(|_| 0).answer, Answer::Yes);
    }
}
