//! Turns calls into findings and a verdict: did they wait for the hog?

use unjank_measure::stats::proportion;
use unjank_measure::{
    Answer, Fact, Findings, Percentile, Quantity, Series, SeriesRecord, Unit, Verdict,
};

use super::options::Options;
use crate::transport::Transport;

/// The share of long calls that is not blamed on inversion: interrupts and the
/// hypervisor delay some calls anyway.
const TOLERATED: f64 = 0.05;

/// What was measured over one transport.
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

    pub(super) fn note(self, options: &Options, findings: &mut Findings) {
        let n = self.beside_hog.n();
        if n == 0 {
            return;
        }
        let transport = self.transport;
        let (alone, beside_hog) = (self.alone.finish(), self.beside_hog.finish());
        let inverted = longer_than(&beside_hog, options.burst.get() / 4);
        findings.facts.push(
            Fact::new(
                format!("ipc/{transport}/inversion/inverted"),
                inverted as f64 / n as f64,
                Unit::Ratio,
            )
            .with_interval(proportion::interval(inverted, n), n),
        );
        findings.verdicts.push(verdict(transport, options, inverted, &alone, &beside_hog));
        findings.series.extend([alone, beside_hog]);
    }
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
    inverted: u64,
    alone: &SeriesRecord,
    beside_hog: &SeriesRecord,
) -> Verdict {
    let n = beside_hog.n;
    let [low, high] = proportion::interval(inverted, n);
    let answer = if low > TOLERATED {
        Answer::No
    } else if high < TOLERATED {
        Answer::Yes
    } else {
        Answer::CannotTell
    };
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
             {}{without}",
                options.burst
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::sched::Priority;

    use super::*;

    fn answer(slow: u64, fast: u64) -> Answer {
        let mut cell = Cell::new(Transport::Unix);
        cell.alone.record(Nanos::from_micros(10));
        for _ in 0..fast {
            cell.beside_hog.record(Nanos::from_micros(10));
        }
        for _ in 0..slow {
            cell.beside_hog.record(Nanos::from_millis(9));
        }
        let options = Options {
            transports: vec![Transport::Unix],
            calls: 1,
            cpu: 0,
            client: Priority::new(80).unwrap(),
            hog: Priority::new(50).unwrap(),
            burst: Nanos::from_millis(10),
            force: false,
        };
        let mut findings = Findings::default();
        cell.note(&options, &mut findings);
        assert_eq!(findings.series.len(), 2);
        findings.verdicts[0].answer
    }

    #[test]
    fn many_slow_calls_are_an_inversion_and_few_are_not() {
        assert_eq!(answer(150, 50), Answer::No);
        assert_eq!(answer(0, 200), Answer::Yes);
        assert_eq!(answer(2, 200), Answer::Yes);
        assert_eq!(answer(1, 9), Answer::CannotTell);
    }
}
