//! The timed loop: pieces of integer work, each between two clock reads.

use unjank_host::{Nanos, Timestamp};

use crate::work::chain;

/// A piece of integer work, whose time is a number of clock cycles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    steps: u32,
}

impl Work {
    /// Measures how many steps the calling thread's CPU does in `chunk` at full
    /// speed, in work of the length `time`: 50 ms raise most clocks.
    pub(crate) fn calibrate(chunk: Nanos, time: Nanos) -> Self {
        const STEPS: u32 = 10_000;
        let probe = Self { steps: STEPS };
        let start = Timestamp::now();
        let mut fastest = Nanos(u64::MAX);
        let mut last = start;
        while last.since(start) < time {
            probe.once();
            let now = Timestamp::now();
            fastest = fastest.min(now.since(last));
            last = now;
        }
        let steps = u64::from(STEPS) * chunk.get() / fastest.get().max(1);
        Self { steps: u32::try_from(steps).unwrap_or(u32::MAX).max(1) }
    }

    /// Steps of one piece.
    pub(crate) fn steps(self) -> u32 {
        self.steps
    }

    #[inline]
    fn once(self) {
        chain(u64::from(self.steps));
    }
}

/// The duration of each piece of one launch, in nanoseconds, including a clock
/// read.
#[derive(Debug)]
pub(crate) struct Chunks {
    durations: Vec<u32>,
    used: usize,
}

impl Chunks {
    /// Room for twice the pieces at full speed, with all pages touched, so that
    /// recording neither allocates nor faults.
    pub(crate) fn with_room_for(run: Nanos, chunk: Nanos) -> Self {
        let room = (run.get() / chunk.get().max(1)) as usize * 2;
        Self { durations: vec![1; room], used: 0 }
    }

    /// Works for the length of `run`, starting now.
    pub(crate) fn record(&mut self, work: Work, run: Nanos) {
        let start = Timestamp::now();
        let end = start + run;
        let mut last = start;
        self.used = 0;
        for duration in &mut self.durations {
            work.once();
            let now = Timestamp::now();
            *duration = u32::try_from(now.since(last).get()).unwrap_or(u32::MAX);
            self.used += 1;
            if now >= end {
                break;
            }
            last = now;
        }
    }

    /// The pieces of the last launch, in order.
    pub(crate) fn durations(&self) -> &[u32] {
        &self.durations[..self.used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_recorded_piece_by_piece() {
        let chunk = Nanos::from_micros(2);
        let run = Nanos::from_millis(3);
        let work = Work::calibrate(chunk, Nanos::from_millis(5));
        let mut chunks = Chunks::with_room_for(run, chunk);
        chunks.record(work, run);
        let total: u64 = chunks.durations().iter().map(|&duration| u64::from(duration)).sum();
        assert!(total >= run.get() || chunks.used == chunks.durations.len(), "{total}");
        assert!(work.steps() > 10);
    }
}
