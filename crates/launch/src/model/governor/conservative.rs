//! conservative: one step up above a threshold, one step down below another.

use unjank_host::Nanos;

use super::NEVER;
use super::cpu_activity::CpuActivity;
use super::sampler::{Reuse, Sampler};
use crate::model::clock::{Clock, Khz, Relation};
use crate::model::tunable::{Refused, Tunable, Write, within};

/// conservative as in kernels since 4.10
/// (`drivers/cpufreq/cpufreq_conservative.c`, 6.12).
#[derive(Debug, Clone)]
pub struct Conservative {
    tick: Nanos,
    sampling_rate: u32,
    up_threshold: u32,
    down_threshold: u32,
    sampling_down_factor: u32,
    freq_step: u32,
    requested: Khz,
    down_skip: u32,
    at: Nanos,
    delay: Nanos,
    sampler: Sampler,
}

impl Conservative {
    /// With its defaults, and a period of 100 ms.
    pub fn new(cpus: usize, tick: Nanos) -> Self {
        Self {
            tick,
            sampling_rate: 100_000,
            up_threshold: 80,
            down_threshold: 20,
            sampling_down_factor: 1,
            freq_step: 5,
            requested: Khz(0),
            down_skip: 0,
            at: Nanos::ZERO,
            delay: Nanos::ZERO,
            sampler: Sampler::new(cpus),
        }
    }

    pub(super) fn start(&mut self, activity: &CpuActivity<'_>, clock: &Clock) {
        self.sampler.start(activity);
        (self.requested, self.down_skip) = (clock.current(), 0);
        (self.at, self.delay) = (activity.now, self.period());
    }

    pub(super) fn due(&self, busy: u64) -> Nanos {
        if busy == 0 { NEVER } else { self.at + self.delay }
    }

    pub(super) fn on_tick(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.request_evaluation(activity.now);
        self.evaluate(activity, clock);
    }

    /// The scheduler's call requests an evaluation: periods count from here.
    pub(super) fn request_evaluation(&mut self, now: Nanos) {
        self.at = now;
    }

    pub(super) fn evaluate(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.decide(activity, clock);
        self.delay = self.period();
    }

    pub(super) fn on_task_change(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        if activity.now >= self.at + self.delay {
            self.on_tick(activity, clock);
        }
    }

    pub(super) fn limits_changed(&mut self) {
        self.delay = Nanos::ZERO;
    }

    pub(super) fn write(&mut self, write: Write) -> Result<(), Refused> {
        match write.tunable {
            Tunable::SamplingRate => {
                let least = u32::try_from(2 * self.tick.0 / 1_000).unwrap_or(u32::MAX);
                self.sampling_rate = within(write, least, u32::MAX)?;
                self.delay = Nanos::ZERO;
            }
            Tunable::UpThreshold => {
                self.up_threshold = within(write, self.down_threshold + 1, 100)?;
            }
            Tunable::DownThreshold => {
                self.down_threshold = within(write, 1, self.up_threshold - 1)?;
            }
            Tunable::SamplingDownFactor => self.sampling_down_factor = within(write, 1, 10)?,
            Tunable::FreqStep => self.freq_step = write.value.min(100),
            other => return Err(Refused::Unknown(other)),
        }
        Ok(())
    }

    pub(super) fn value(&self, tunable: Tunable) -> Option<u32> {
        match tunable {
            Tunable::SamplingRate => Some(self.sampling_rate),
            Tunable::UpThreshold => Some(self.up_threshold),
            Tunable::DownThreshold => Some(self.down_threshold),
            Tunable::SamplingDownFactor => Some(self.sampling_down_factor),
            Tunable::FreqStep => Some(self.freq_step),
            _ => None,
        }
    }

    pub(super) fn period(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.sampling_rate))
    }

    pub(super) fn samples(&self) -> u64 {
        self.sampler.samples
    }

    /// `cs_dbs_update`.
    fn decide(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        let load = self.sampler.load(activity, u64::from(self.sampling_rate), Reuse::Idle);
        if self.freq_step == 0 {
            return;
        }
        let mut requested = self.requested;
        if requested > clock.max() || requested < clock.min() {
            requested = clock.current();
            self.requested = requested;
        }
        let step = match (u64::from(self.freq_step) * u64::from(clock.max().0) / 100) as u32 {
            0 => 5,
            step => step,
        };
        // The steps down of the periods without a call.
        if self.sampler.idle_periods < u32::MAX {
            let steps = self.sampler.idle_periods.saturating_mul(step);
            requested = if requested.0 > clock.min().0.saturating_add(steps) {
                Khz(requested.0 - steps)
            } else {
                clock.min()
            };
        }
        if load > self.up_threshold {
            self.down_skip = 0;
            if requested != clock.max() {
                self.request(Khz(requested.0.saturating_add(step)).min(clock.max()), true, clock);
            }
            return;
        }
        self.down_skip += 1;
        if self.down_skip < self.sampling_down_factor {
            return;
        }
        self.down_skip = 0;
        if load < self.down_threshold && requested != clock.min() {
            let lower = if requested.0 > step { Khz(requested.0 - step) } else { clock.min() };
            self.request(lower, false, clock);
        }
    }

    fn request(&mut self, requested: Khz, up: bool, clock: &mut Clock) {
        clock.target(requested, if up { Relation::AtMost } else { Relation::AtLeast });
        self.requested = requested;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Ties;
    use crate::model::clock::tests::exynos;

    /// Frequencies in MHz after samples at loads in percent, from `from`.
    fn course(from: u32, loads: &[u64]) -> Vec<u32> {
        let mut governor = Conservative::new(1, Nanos::from_millis(4));
        let mut clock = exynos(Ties::Faster);
        clock.begin_at(Khz(from * 1_000));
        let mut busy = [Nanos::ZERO];
        governor.start(&CpuActivity { now: Nanos::ZERO, busy: &busy, running: 1 }, &clock);
        let mut now = Nanos::ZERO;
        loads
            .iter()
            .map(|load| {
                now = now + Nanos::from_millis(100);
                busy[0] = busy[0] + Nanos::from_millis(*load);
                governor.on_tick(&CpuActivity { now, busy: &busy, running: 1 }, &mut clock);
                clock.current().0 / 1_000
            })
            .collect()
    }

    #[test]
    fn it_goes_up_in_steps_of_a_twentieth() {
        // 200 + n × 60, the highest at or below: 500 from the fifth step on,
        // 800 from the tenth.
        let up = course(200, &[100; 10]);
        assert_eq!(up, [200, 200, 200, 200, 500, 500, 500, 500, 500, 800]);
    }

    #[test]
    fn it_goes_down_in_steps_too() {
        // 1200 − 60, − 120 …, the lowest at or above.
        assert_eq!(course(1200, &[0, 0, 0, 0]), [1200, 1200, 1200, 1000]);
        assert_eq!(course(1200, &[20, 50, 80]), [1200, 1200, 1200]);
    }

    #[test]
    fn long_sleep_counts_as_many_steps_down() {
        let mut governor = Conservative::new(1, Nanos::from_millis(4));
        let mut clock = exynos(Ties::Faster);
        clock.begin_at(Khz(1_200_000));
        let busy = [Nanos::ZERO];
        governor.start(&CpuActivity { now: Nanos::ZERO, busy: &busy, running: 1 }, &clock);
        // Ten idle periods: 1200 − 10 × 60 − 60 = 540 → 800.
        let now = Nanos::from_millis(1_000);
        governor.on_tick(&CpuActivity { now, busy: &busy, running: 1 }, &mut clock);
        assert_eq!(clock.current(), Khz(800_000));
    }

    #[test]
    fn thresholds_keep_their_order() {
        let mut governor = Conservative::new(1, Nanos::from_millis(4));
        let mut write = |tunable, value| governor.write(Write { tunable, value });
        assert!(write(Tunable::UpThreshold, 20).is_err());
        assert!(write(Tunable::DownThreshold, 80).is_err());
        assert!(write(Tunable::DownThreshold, 79).is_ok());
        assert!(write(Tunable::SamplingDownFactor, 11).is_err());
    }
}
