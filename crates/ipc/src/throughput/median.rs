//! Medians over the turns of a cell, and rates that follow from them.

use unjank_measure::stats::order;

use super::{Cell, Round};

/// A median over the turns of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The median, in the unit of the method that returns it.
    pub value: f64,
    /// Its 95 % interval; `None` for fewer than six turns.
    pub interval: Option<[f64; 2]>,
}

impl Median {
    fn over(rounds: &[Round], value: fn(&Round) -> f64) -> Option<Self> {
        let (value, interval) = order::median(&mut rounds.iter().map(value).collect::<Vec<f64>>())?;
        Some(Self { value, interval })
    }

    /// The rate at which `amount` is done in each of these times.
    fn per_second(self, amount: f64) -> Self {
        let rate = |nanos: f64| amount * 1e9 / nanos;
        let turned = self.interval.map(|[low, high]| [rate(high), rate(low)]);
        Self { value: rate(self.value), interval: turned }
    }
}

impl Cell {
    /// Calls of all turns.
    pub fn calls(&self) -> u64 {
        self.rounds.iter().map(|round| round.calls).sum()
    }

    /// The time of a call, in nanoseconds: the median of the turns' means.
    pub fn time(&self) -> Option<Median> {
        Median::over(&self.rounds, |round| round.time)
    }

    /// The CPU time of the client's thread for a call, in nanoseconds.
    pub fn cpu(&self) -> Option<Median> {
        Median::over(&self.rounds, |round| round.cpu)
    }

    /// Calls in a second, one after the other.
    pub fn calls_per_second(&self) -> Option<Median> {
        self.time().map(|time| time.per_second(1.0))
    }

    /// Bytes of payload in a second, in each of the two directions.
    pub fn bytes_per_second(&self) -> Option<Median> {
        self.time().map(|time| time.per_second(self.payload as f64))
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::*;
    use crate::transport::Transport;

    fn cell(times: &[f64]) -> Cell {
        let round = |&time: &f64| Round { calls: 10, time, cpu: time / 2.0 };
        Cell {
            transport: Transport::Unix,
            payload: 8,
            series: Series::new("ipc/unix/round_trip").finish(),
            rounds: times.iter().map(round).collect(),
        }
    }

    #[test]
    fn rates_follow_from_the_time_of_one_call() {
        // The figures of AOSP's documentation: 8 bytes in 69,974 ns. Its formula
        // also multiplies by the number of iterations.
        let cell = cell(&[69_974.0]);
        let bytes = cell.bytes_per_second().unwrap();
        assert!((bytes.value - 114_328.2).abs() < 0.1, "{bytes:?}");
        assert_eq!(bytes.interval, None);
        assert!((cell.calls_per_second().unwrap().value - 14_291.0).abs() < 0.1);
    }

    #[test]
    fn the_interval_turns_with_the_rate() {
        let cell = cell(&[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let time = cell.time().unwrap();
        assert_eq!((time.value, time.interval), (35.0, Some([10.0, 60.0])));
        let [low, high] = cell.calls_per_second().unwrap().interval.unwrap();
        assert!(low < high);
    }

    #[test]
    fn a_cell_without_turns_has_no_time() {
        assert_eq!(cell(&[]).time(), None);
    }
}
