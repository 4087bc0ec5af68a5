//! Computes a ramp from the pieces of launches. Pure: no clock, no machine.

use serde::{Deserialize, Serialize};
use unjank_host::Nanos;
use unjank_measure::stats::order;

/// A CPU is at full speed from this share of it on.
const FULL: f64 = 0.95;

/// Slices over which speed is smoothed (a running median) before it is compared
/// with full speed, so that a single interrupt has no effect.
const SMOOTH: usize = 5;

/// One launch: its speed in each slice, as steps of work per nanosecond. Pieces
/// have other lengths in another process, steps do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// `None` if no piece ended in a slice: others had the CPU.
    pub(crate) speeds: Vec<Option<f64>>,
    /// Time lost to others (interrupts, preemption, the hypervisor): pieces
    /// longer than a slice, and the part of other pieces beyond twice the median
    /// of their slice.
    pub(crate) lost_to_others: Nanos,
}

impl Launch {
    /// Cuts the pieces, each of `steps`, into slices. The speed of a slice is that of its median
    /// piece: the clock changes all pieces, an interrupt only some. A piece
    /// longer than a slice, dozens of times slower than full speed, is not due to
    /// the clock: others had the CPU.
    pub(crate) fn from_chunks(durations: &[u32], steps: u32, slice: Nanos, run: Nanos) -> Self {
        let slice = slice.get().max(1);
        let mut speeds = vec![None; (run.get() / slice) as usize];
        let mut lost = 0_u64;
        let mut elapsed = 0_u64;
        let mut rest = durations;
        while !rest.is_empty() {
            let index = elapsed / slice;
            let begin = elapsed;
            let length = rest
                .iter()
                .position(|&piece| {
                    elapsed += u64::from(piece);
                    elapsed >= (index + 1) * slice
                })
                .map_or(rest.len(), |last| last + 1);
            let (pieces, later) = rest.split_at(length);
            rest = later;
            let mut own: Vec<u32> =
                pieces.iter().copied().filter(|&piece| u64::from(piece) <= slice).collect();
            lost += (elapsed - begin) - own.iter().copied().map(u64::from).sum::<u64>();
            if own.is_empty() {
                continue;
            }
            let middle = own.len() / 2;
            let median = *own.select_nth_unstable(middle).1;
            let beyond = |&piece: &u32| u64::from(piece.saturating_sub(median.saturating_mul(2)));
            lost += own.iter().map(beyond).sum::<u64>();
            if let Some(speed) = speeds.get_mut(index as usize) {
                *speed = (median > 0).then(|| f64::from(steps) / f64::from(median));
            }
        }
        Self { speeds, lost_to_others: Nanos(lost) }
    }

    /// The time until full speed: the end of the first fast slice of those over which the smoothed
    /// speed is first fast enough. `None` if it never is.
    pub(crate) fn time_to_full(&self, full: f64, slice: Nanos) -> Option<Nanos> {
        let is_fast = |speed: Option<f64>| speed.is_some_and(|speed| speed >= FULL * full);
        let window = smoothed(&self.speeds).position(is_fast)?;
        let within = self.speeds[window..].iter().position(|speed| is_fast(*speed))?;
        Some(slice.times((window + within) as u64 + 1))
    }

    /// The full-speed time lost before the slice that ends at `full_at`.
    pub(crate) fn work_lost(&self, full: f64, slice: Nanos, full_at: Nanos) -> Nanos {
        let slices = (full_at.get() / slice.get().max(1)).saturating_sub(1) as usize;
        let lost: f64 =
            self.speeds.iter().take(slices).flatten().map(|speed| 1.0 - speed / full).sum();
        Nanos((lost.max(0.0) * slice.get() as f64) as u64)
    }
}

/// Full speed: the highest smoothed speed that half of the launches reached at
/// the same time since wake.
pub(crate) fn full_speed(launches: &[&Launch]) -> Option<f64> {
    let curve = median_curve(launches);
    smoothed(&curve.iter().map(|point| Some(point.as_ref()?.0)).collect::<Vec<_>>())
        .flatten()
        .max_by(f64::total_cmp)
}

/// The median speed over launches in each slice, with its 95 % interval.
pub(crate) fn median_curve(launches: &[&Launch]) -> Vec<Option<(f64, Option<[f64; 2]>)>> {
    let slices = launches.first().map_or(0, |launch| launch.speeds.len());
    (0..slices)
        .map(|index| {
            let mut speeds: Vec<f64> =
                launches.iter().filter_map(|launch| *launch.speeds.get(index)?).collect();
            order::median(&mut speeds)
        })
        .collect()
}

/// The running median over [`SMOOTH`] slices from each slice on.
fn smoothed(speeds: &[Option<f64>]) -> impl Iterator<Item = Option<f64>> + '_ {
    speeds.windows(SMOOTH.min(speeds.len()).max(1)).map(|window| {
        let mut there: Vec<f64> = window.iter().flatten().copied().collect();
        Some(order::median(&mut there)?.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Nanos = Nanos::from_micros(100);
    const RUN: Nanos = Nanos::from_millis(10);
    const STEPS: u32 = 1;

    /// 10 ms of pieces: 4 µs each for the first `slow`, then 2 µs.
    fn ramp(slow: Nanos) -> Vec<u32> {
        let mut durations = Vec::new();
        let mut elapsed = 0;
        while elapsed < RUN.get() {
            let piece = if elapsed < slow.get() { 4_000 } else { 2_000 };
            durations.push(piece);
            elapsed += u64::from(piece);
        }
        durations
    }

    fn launch(durations: &[u32]) -> Launch {
        Launch::from_chunks(durations, STEPS, SLICE, RUN)
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let launch = launch(&ramp(Nanos::from_millis(5)));
        let full = full_speed(&[&launch]).unwrap();
        assert!((full - 1.0 / 2_000.0).abs() < 1e-12);
        // The first fast slice begins after 5 ms.
        let time = launch.time_to_full(full, SLICE).unwrap();
        assert_eq!(time, Nanos::from_millis(5) + SLICE);
        // Half speed for 5 ms loses 2.5 ms of work.
        assert_eq!(launch.work_lost(full, SLICE, time), Nanos::from_micros(2_500));
    }

    #[test]
    fn the_first_fast_slice_ends_the_ramp_and_a_lone_one_does_not() {
        let time = |slow: &[usize]| {
            let speed = |slice| Some(if slow.contains(&slice) { 0.5 } else { 1.0 });
            let launch =
                Launch { speeds: (0..20).map(speed).collect(), lost_to_others: Nanos::ZERO };
            let time = launch.time_to_full(1.0, SLICE).unwrap();
            (time.get() / SLICE.get(), launch.work_lost(1.0, SLICE, time))
        };
        assert_eq!(time(&[]), (1, Nanos::ZERO));
        assert_eq!(time(&[0]), (2, Nanos::from_micros(50)));
        assert_eq!(time(&[0, 1]), (3, Nanos::from_micros(100)));
        assert_eq!(time(&[2]), (1, Nanos::ZERO), "an interrupt");
        assert_eq!(time(&[0, 1, 2, 4, 5, 6]), (8, Nanos::from_micros(300)), "3 is alone");
    }

    #[test]
    fn a_clock_that_is_up_loses_nothing() {
        let launch = launch(&ramp(Nanos::ZERO));
        let full = full_speed(&[&launch]).unwrap();
        assert_eq!(launch.time_to_full(full, SLICE), Some(SLICE));
        assert_eq!(launch.work_lost(full, SLICE, SLICE), Nanos::ZERO);
    }

    #[test]
    fn processes_with_pieces_of_other_lengths_have_the_same_speed() {
        let short = Launch::from_chunks(&ramp(Nanos::ZERO), 500, SLICE, RUN);
        let twice: Vec<u32> = vec![4_000; RUN.get() as usize / 4_000];
        let long = Launch::from_chunks(&twice, 1_000, SLICE, RUN);
        assert_eq!(full_speed(&[&short]), full_speed(&[&long]));
    }

    #[test]
    fn an_interruption_is_not_a_slow_clock() {
        let mut durations = ramp(Nanos::ZERO);
        durations[100] = 1_000_000;
        let launch = launch(&durations);
        let full = full_speed(&[&launch]).unwrap();
        assert_eq!(launch.time_to_full(full, SLICE), Some(SLICE));
        assert_eq!(launch.lost_to_others, Nanos(1_000_000));
    }

    #[test]
    fn a_ramp_that_never_ends_is_not_full() {
        let slow = launch(&ramp(RUN));
        assert_eq!(slow.time_to_full(1.0 / 2_000.0, SLICE), None);
    }

    #[test]
    fn no_pieces_make_no_speed() {
        assert_eq!(full_speed(&[&launch(&[])]), None);
        assert_eq!(full_speed(&[]), None);
    }

    proptest::proptest! {
        #[test]
        fn any_pieces_make_a_ramp(durations in proptest::collection::vec(0_u32.., 0..200)) {
            let launch = launch(&durations);
            if let Some(full) = full_speed(&[&launch]) {
                let _ = launch.time_to_full(full, SLICE);
                proptest::prop_assert!(launch.work_lost(full, SLICE, RUN) <= RUN);
            }
        }
    }
}
