//! Per-entity load tracking: the scheduler's utilization of a CPU.
//!
//! After `kernel/sched/pelt.c` and `kernel/sched/pelt.h` (6.12): time is cut
//! into periods of 1,024 µs of 1,024 ns each, and a period's weight halves every
//! 32 periods. A CPU's time passes more slowly at a slower clock, so utilization
//! is relative to full speed.

use unjank_host::Nanos;

use crate::model::clock::Khz;

/// Utilization of a CPU that is always busy at full speed.
pub const FULL: u32 = 1024;
const PERIOD: u64 = 1024;
const HALF_LIFE: u64 = 32;
/// The sum of an endless run (`LOAD_AVG_MAX`).
const MOST: u64 = 47_742;
/// 2³² − 1 times 2^(−n/32), rounded down (`runnable_avg_yN_inv`).
#[rustfmt::skip]
const DECAY: [u32; 32] = [
        0xffff_ffff, 0xfa83_b2da, 0xf525_7d14, 0xefe4_b99a, 0xeac0_c6e6, 0xe5b9_06e6,
        0xe0cc_deeb, 0xdbfb_b796, 0xd744_fcc9, 0xd2a8_1d91, 0xce24_8c14, 0xc9b9_bd85,
        0xc567_2a10, 0xc12c_4cc9, 0xbd08_a39e, 0xb8fb_af46, 0xb504_f333, 0xb123_f581,
        0xad58_3ee9, 0xa9a1_5ab4, 0xa5fe_d6a9, 0xa270_4302, 0x9ef5_325f, 0x9b8d_39b9,
        0x9837_f050, 0x94f4_efa8, 0x91c3_d373, 0x8ea4_398a, 0x8b95_c1e3, 0x8898_0e80,
        0x85aa_c367, 0x82cd_8698,
    ];

/// The utilization of one CPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pelt {
    /// The CPU's own time, which passes more slowly at a slower clock.
    time: u64,
    /// The moment at which `time` was last updated.
    at: Nanos,
    /// The end of the sums, in the CPU's time.
    summed: u64,
    part: u64,
    running: u64,
    runnable: u64,
    utilization: u32,
    runnable_average: u32,
}

impl Pelt {
    /// A CPU without history, from `now` on.
    pub fn new(now: Nanos) -> Self {
        Self { time: now.0, at: now, summed: now.0, ..Self::default() }
    }

    /// Accounts for the time until `now`, in which `tasks` tasks were on the CPU
    /// and its clock was at `clock` of at most `fastest`. Returns whether a period
    /// ended: then the scheduler calls cpufreq.
    pub fn advance(&mut self, now: Nanos, tasks: u32, clock: Khz, fastest: Khz) -> bool {
        let passed = (now - self.at).0;
        self.at = now;
        if tasks == 0 {
            // An idle CPU's time catches up with the wall clock.
            self.time = now.0;
        } else {
            let scale = (u64::from(clock.0) << 10) / u64::from(fastest.0.max(1));
            self.time += (passed * scale) >> 10;
        }
        let delta = self.time.saturating_sub(self.summed) >> 10;
        if delta == 0 {
            return false;
        }
        self.summed += delta << 10;
        let ended = self.accumulate(delta, tasks);
        if ended {
            let most = MOST - PERIOD + self.part;
            self.utilization = (self.running / most) as u32;
            self.runnable_average = (self.runnable / most) as u32;
        }
        ended
    }

    /// The value passed to cpufreq: the utilization, or the average of runnable
    /// tasks if larger (`cpu_util_cfs_boost`), up to [`FULL`]. The scheduler's
    /// estimate for tasks that have just come (`util_est`) is not modelled.
    pub fn utilization(&self) -> u32 {
        self.utilization.max(self.runnable_average).min(FULL)
    }

    /// `accumulate_sum`.
    fn accumulate(&mut self, delta: u64, tasks: u32) -> bool {
        let mut weight = delta;
        let whole = delta + self.part;
        let periods = whole / PERIOD;
        if periods > 0 {
            self.running = decayed(self.running, periods);
            self.runnable = decayed(self.runnable, periods);
            let rest = whole % PERIOD;
            let first = decayed(PERIOD - self.part, periods);
            let middle = MOST - decayed(MOST, periods) - PERIOD;
            weight = first + middle + rest;
            self.part = rest;
        } else {
            self.part = whole;
        }
        if tasks > 0 {
            self.running += weight << 10;
            self.runnable += (u64::from(tasks) * weight) << 10;
        }
        periods > 0
    }
}

/// `decay_load`: `value` after `periods`.
fn decayed(value: u64, periods: u64) -> u64 {
    if periods > HALF_LIFE * 63 {
        return 0;
    }
    let halved = value >> (periods / HALF_LIFE);
    let factor = u64::from(DECAY[(periods % HALF_LIFE) as usize]);
    ((u128::from(halved) * u128::from(factor)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Khz = Khz(1_000_000);

    fn after(millis: u64, clock: Khz) -> u32 {
        let mut pelt = Pelt::new(Nanos::ZERO);
        for milli in 1..=millis {
            pelt.advance(Nanos::from_millis(milli), 1, clock, FAST);
        }
        pelt.utilization()
    }

    #[test]
    fn decay_halves_in_32_periods() {
        for (n, factor) in DECAY.iter().enumerate() {
            let exact = (2_f64.powi(32) - 1.0) * 0.5_f64.powf(n as f64 / 32.0);
            assert_eq!(*factor, exact as u32, "{n}");
        }
        assert_eq!(decayed(1 << 20, 32), ((1_u64 << 19) * 0xffff_ffff) >> 32);
        assert_eq!(decayed(u64::MAX >> 11, 32 * 63 + 1), 0);
    }

    #[test]
    fn utilization_follows_its_half_life() {
        // 1024 × (1 − 2^(−t / 32.8 ms)), a little less because of truncation.
        for (millis, exact) in [(33, 514.0), (66, 770.0), (131, 960.0), (600, 1024.0)] {
            let seen = f64::from(after(millis, FAST));
            assert!((seen - exact).abs() < 12.0, "{millis} ms: {seen}");
        }
    }

    #[test]
    fn time_at_half_clock_passes_at_half_speed() {
        let (slow, fast) = (after(100, Khz(500_000)), after(50, FAST));
        assert!(slow.abs_diff(fast) < 12, "{slow} {fast}");
    }

    #[test]
    fn utilization_decays_in_sleep() {
        let mut pelt = Pelt::new(Nanos::ZERO);
        for milli in 1..=300 {
            pelt.advance(Nanos::from_millis(milli), 1, FAST, FAST);
        }
        let before = pelt.utilization();
        pelt.advance(Nanos::from_millis(333), 0, FAST, FAST);
        let after = pelt.utilization();
        assert!(after.abs_diff(before / 2) < 12, "{before} {after}");
    }
}
