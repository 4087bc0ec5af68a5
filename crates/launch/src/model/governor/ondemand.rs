//! ondemand: full speed when the load is above a threshold, less otherwise.

use unjank_host::Nanos;

use super::NEVER;
use super::cpu_activity::CpuActivity;
use super::sampler::{Reuse, Sampler, whole_ticks};
use crate::model::clock::{Clock, Khz, Relation};
use crate::model::tunable::{Refused, Tunable, Write, within};

/// The forms that `drivers/cpufreq/cpufreq_ondemand.c` has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2.6.3x to 3.3: the load is weighted by the current frequency; a new period
    /// takes effect from the next sample on.
    V3_0,
    /// 3.4 to 3.12, and Samsung's 3.0 for the Exynos 4: as before, but a shorter
    /// period takes effect at once.
    V3_4,
    /// 3.13 to 4.5: frequencies in proportion to the load.
    V3_13,
    /// Since 4.6: the scheduler calls the governor, and a write of the period
    /// makes it evaluate the load at once.
    V4_6,
}

/// ondemand with its tunables.
#[derive(Debug, Clone)]
pub struct Ondemand {
    era: Era,
    tick: Nanos,
    several: bool,
    sampling_rate: u32,
    up_threshold: u32,
    down_differential: u32,
    sampling_down_factor: u32,
    rate_mult: u32,
    /// Up to 4.5 the moment of the next sample; since 4.6 that of the last.
    at: Nanos,
    delay: Nanos,
    sampler: Sampler,
}

impl Ondemand {
    /// Defaults for a kernel that accounts idle time in microseconds, and a period
    /// of 100 ms, as Android sets it.
    pub fn new(era: Era, cpus: usize, tick: Nanos) -> Self {
        Self {
            era,
            tick,
            several: cpus > 1,
            sampling_rate: 100_000,
            up_threshold: 95,
            down_differential: 3,
            sampling_down_factor: 1,
            rate_mult: 1,
            at: Nanos::ZERO,
            delay: Nanos::ZERO,
            sampler: Sampler::new(cpus),
        }
    }

    pub(super) fn start(&mut self, activity: &CpuActivity<'_>) {
        self.sampler.start(activity);
        self.rate_mult = 1;
        if self.era == Era::V4_6 {
            (self.at, self.delay) = (activity.now, self.period());
        } else {
            self.rearm(activity.now);
        }
    }

    pub(super) fn due(&self, busy: u64) -> Nanos {
        // Until 4.5 a deferrable timer of the first CPU evaluates the load: not
        // while that CPU sleeps. Since then each CPU's scheduler calls.
        let matters = if self.era == Era::V4_6 { u64::MAX } else { 1 };
        if busy & matters == 0 { NEVER } else { self.at + self.delay }
    }

    pub(super) fn on_tick(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.sample(activity, clock);
    }

    pub(super) fn on_task_change(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        if self.era == Era::V4_6 && activity.now >= self.at + self.delay {
            self.sample(activity, clock);
        }
    }

    /// Whether a work item evaluates the load, which the scheduler's call requests.
    pub(super) fn defers_evaluation(&self) -> bool {
        self.era == Era::V4_6
    }

    /// The scheduler's call requests an evaluation: periods count from here.
    pub(super) fn request_evaluation(&mut self, now: Nanos) {
        self.at = now;
    }

    pub(super) fn evaluate(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.decide(activity, clock);
        self.delay = self.period();
    }

    pub(super) fn limits_changed(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        match self.era {
            Era::V3_0 | Era::V3_4 => {}
            // `cpufreq_governor_limits` evaluates the load on the spot.
            Era::V3_13 => self.decide(activity, clock),
            Era::V4_6 => self.delay = Nanos::ZERO,
        }
    }

    pub(super) fn write(
        &mut self,
        write: Write,
        activity: &CpuActivity<'_>,
    ) -> Result<(), Refused> {
        match write.tunable {
            Tunable::SamplingRate if self.era == Era::V4_6 => {
                let least = u32::try_from(2 * self.tick.0 / 1_000).unwrap_or(u32::MAX);
                self.sampling_rate = within(write, least, u32::MAX)?;
                self.delay = Nanos::ZERO;
            }
            Tunable::SamplingRate => {
                self.sampling_rate = write.value.max(10_000);
                let delay = whole_ticks(u64::from(self.sampling_rate), self.tick);
                let sooner = self.jiffy(activity.now) + delay;
                if self.era != Era::V3_0 && sooner < self.at {
                    self.at = sooner;
                }
            }
            Tunable::UpThreshold => {
                let least = if matches!(self.era, Era::V3_0 | Era::V3_4) { 11 } else { 1 };
                self.up_threshold = within(write, least, 100)?;
            }
            Tunable::SamplingDownFactor => {
                self.sampling_down_factor = within(write, 1, 100_000)?;
                self.rate_mult = 1;
            }
            // Only Samsung's kernel has a file for it.
            Tunable::DownDifferential if self.era == Era::V3_4 => {
                self.down_differential = within(write, 0, self.up_threshold - 1)?;
            }
            other => return Err(Refused::Unknown(other)),
        }
        Ok(())
    }

    pub(super) fn value(&self, tunable: Tunable) -> Option<u32> {
        match tunable {
            Tunable::SamplingRate => Some(self.sampling_rate),
            Tunable::UpThreshold => Some(self.up_threshold),
            Tunable::SamplingDownFactor => Some(self.sampling_down_factor),
            Tunable::DownDifferential if self.era == Era::V3_4 => Some(self.down_differential),
            _ => None,
        }
    }

    pub(super) fn period(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.sampling_rate) * u64::from(self.rate_mult))
    }

    pub(super) fn samples(&self) -> u64 {
        self.sampler.samples
    }

    fn sample(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        if self.era == Era::V4_6 {
            self.request_evaluation(activity.now);
            self.evaluate(activity, clock);
        } else {
            self.decide(activity, clock);
            self.rearm(activity.now);
        }
    }

    /// Schedules the next sample. With several CPUs, samples fall on multiples of
    /// the period (`do_dbs_timer`, `delay_for_sampling_rate`).
    fn rearm(&mut self, now: Nanos) {
        let rate = u64::from(self.sampling_rate) * u64::from(self.rate_mult);
        let delay = whole_ticks(rate, self.tick);
        let now = self.jiffy(now);
        let past = Nanos(now.0 % delay.0);
        self.at = now + if self.several { delay - past } else { delay };
        self.delay = Nanos::ZERO;
    }

    /// The tick before `now`, from which the kernel's timers count.
    fn jiffy(&self, now: Nanos) -> Nanos {
        self.tick.times(now.0 / self.tick.0)
    }

    fn decide(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        let reuse = match self.era {
            Era::V3_0 | Era::V3_4 => Reuse::Never,
            Era::V3_13 => Reuse::Window,
            Era::V4_6 => Reuse::Idle,
        };
        let rate = u64::from(self.sampling_rate) * u64::from(self.rate_mult);
        let load = self.sampler.load(activity, rate, reuse);
        match self.era {
            Era::V3_0 | Era::V3_4 => self.by_weighed_load(load, clock),
            Era::V3_13 | Era::V4_6 => self.in_proportion(load, clock),
        }
    }

    /// `dbs_check_cpu` up to 3.12: the slowest frequency at which the load
    /// would stay some percent below the threshold.
    ///
    /// The kernel computes with `unsigned int`, and accepts an `up_threshold` below
    /// `down_differential`. Their difference then wraps around, so the lowest frequency is
    /// requested at any load up to the threshold.
    fn by_weighed_load(&mut self, load: u32, clock: &mut Clock) {
        let weigh = |percent: u32| percent.wrapping_mul(clock.current().0);
        let weighed = weigh(load);
        if weighed > weigh(self.up_threshold) {
            self.rise(clock);
            return;
        }
        let below = self.up_threshold.wrapping_sub(self.down_differential);
        if clock.current() > clock.min() && weighed < weigh(below) {
            self.rate_mult = 1;
            let requested = Khz(weighed / below).max(clock.min());
            clock.target(requested, Relation::AtLeast);
        }
    }

    /// `od_update` since 3.13: from the slowest to the fastest frequency in
    /// proportion to the load.
    fn in_proportion(&mut self, load: u32, clock: &mut Clock) {
        if load > self.up_threshold {
            self.rise(clock);
            return;
        }
        self.rate_mult = 1;
        let (slow, fast) = (u64::from(clock.lowest().0), u64::from(clock.highest().0));
        let requested = slow + u64::from(load) * (fast - slow) / 100;
        clock.target(Khz(requested as u32), Relation::Closest);
    }

    fn rise(&mut self, clock: &mut Clock) {
        if clock.current() < clock.max() {
            self.rate_mult = self.sampling_down_factor;
        }
        clock.target(clock.max(), Relation::AtMost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Ties;
    use crate::model::clock::tests::exynos;

    const TICK: Nanos = Nanos(5_000_000);

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn activity(now: u64, busy: &[Nanos; 1]) -> CpuActivity<'_> {
        CpuActivity { now: millis(now), busy, running: 1 }
    }

    fn write(governor: &mut Ondemand, tunable: Tunable, value: u32, now: u64) {
        governor.write(Write { tunable, value }, &activity(now, &[Nanos::ZERO])).unwrap();
    }

    /// Frequencies in MHz after samples at loads in percent.
    fn course(era: Era, from: u32, loads: &[u64]) -> Vec<u32> {
        let mut governor = Ondemand::new(era, 1, TICK);
        let mut clock = exynos(Ties::Faster);
        clock.begin_at(Khz(from * 1_000));
        let mut busy = [Nanos::ZERO];
        governor.start(&activity(0, &busy));
        let mut now = 0;
        loads
            .iter()
            .map(|load| {
                now += 100;
                busy[0] = busy[0] + millis(*load);
                governor.on_tick(&activity(now, &busy), &mut clock);
                clock.current().0 / 1_000
            })
            .collect()
    }

    #[test]
    fn old_ondemand_weights_the_load_by_frequency() {
        // 95 × 200 is not above 95 × 200; 96 × 200 is.
        assert_eq!(course(Era::V3_0, 200, &[95, 96]), [200, 1200]);
        // At 1200 MHz: 92 is not below 92; 91 × 1200 / 92 = 1186 → 1200;
        // 70 × 1200 / 92 = 913 → 1000; then 40 × 1000 / 92 = 434 → 500;
        // 10 × 500 / 92 = 54 → 200.
        assert_eq!(course(Era::V3_4, 1200, &[92, 91, 70, 40, 10]), [1200, 1200, 1000, 500, 200]);
    }

    #[test]
    fn a_threshold_below_the_differential_wraps_around_as_in_the_kernel() {
        let lowered_to = |threshold| {
            let mut governor = Ondemand::new(Era::V3_4, 1, TICK);
            write(&mut governor, Tunable::DownDifferential, 90, 0);
            write(&mut governor, Tunable::UpThreshold, threshold, 0);
            let mut clock = exynos(Ties::Faster);
            clock.begin_at(Khz(1_000_000));
            governor.start(&activity(0, &[Nanos::ZERO]));
            let mut at = |now, busy| {
                governor.on_tick(&activity(now, &[millis(busy)]), &mut clock);
                clock.current().0 / 1_000
            };
            [at(100, 50), at(200, 150)]
        };
        // 50 × 1000 is not above 80 × 1000, and 80 − 90 wraps around to a very large number.
        assert_eq!(lowered_to(80), [200, 1200]);
        // Nothing is less than 0.
        assert_eq!(lowered_to(90), [1000, 1200]);
    }

    #[test]
    fn newer_ondemand_is_proportional() {
        // 200 + load × 10: 1150 at 95 is closest to 1200; 450 → 500; 340 → 200;
        // 350 lies between 200 and 500 and goes to the faster.
        assert_eq!(course(Era::V4_6, 200, &[95, 96, 25, 14, 15]), [1200, 1200, 500, 200, 500]);
        assert_eq!(course(Era::V3_13, 200, &[95, 96, 25, 14, 15]), [1200, 1200, 500, 200, 500]);
    }

    #[test]
    fn eras_differ_in_when_a_new_period_takes_effect() {
        let due = |era| {
            let mut governor = Ondemand::new(era, 1, TICK);
            governor.start(&activity(0, &[Nanos::ZERO]));
            write(&mut governor, Tunable::SamplingRate, 50_000, 20);
            governor.due(1)
        };
        assert_eq!(due(Era::V3_0), millis(100));
        assert_eq!(due(Era::V3_4), millis(70));
        assert_eq!(due(Era::V3_13), millis(70));
        // At once: the moment is past, so the next event or tick is it.
        assert_eq!(due(Era::V4_6), Nanos::ZERO);
    }

    #[test]
    fn a_longer_period_waits_for_the_next_sample() {
        for era in [Era::V3_0, Era::V3_4, Era::V3_13] {
            let mut governor = Ondemand::new(era, 1, TICK);
            governor.start(&activity(0, &[Nanos::ZERO]));
            write(&mut governor, Tunable::SamplingRate, 200_000, 20);
            assert_eq!(governor.due(1), millis(100));
        }
    }

    #[test]
    fn samples_of_several_cpus_meet_on_multiples_of_the_period() {
        let mut governor = Ondemand::new(Era::V3_4, 2, TICK);
        let busy = [Nanos::ZERO; 2];
        governor.start(&CpuActivity { now: millis(130), busy: &busy, running: 1 });
        assert_eq!(governor.due(1), millis(200));
        assert_eq!(governor.due(2), NEVER);
    }

    #[test]
    fn only_the_newest_evaluates_when_a_task_comes() {
        let mut clock = exynos(Ties::Faster);
        let busy = [millis(300)];
        for (era, samples) in [(Era::V3_4, 0), (Era::V3_13, 0), (Era::V4_6, 1)] {
            let mut governor = Ondemand::new(era, 1, TICK);
            governor.start(&activity(0, &[Nanos::ZERO]));
            governor.on_task_change(&activity(300, &busy), &mut clock);
            assert_eq!(governor.samples(), samples);
        }
    }

    #[test]
    fn full_speed_lasts_for_the_factor() {
        let mut governor = Ondemand::new(Era::V4_6, 1, TICK);
        let mut clock = exynos(Ties::Faster);
        write(&mut governor, Tunable::SamplingDownFactor, 4, 0);
        governor.start(&activity(0, &[Nanos::ZERO]));
        governor.on_tick(&activity(100, &[millis(100)]), &mut clock);
        assert_eq!(governor.due(1), millis(500));
        governor.on_tick(&activity(500, &[millis(100)]), &mut clock);
        assert_eq!((clock.current(), governor.due(1)), (Khz(200_000), millis(600)));
    }

    #[test]
    fn values_that_the_kernel_refuses_are_refused() {
        let mut governor = Ondemand::new(Era::V4_6, 1, TICK);
        let mut result = |tunable, value| {
            governor
                .write(Write { tunable, value }, &activity(0, &[Nanos::ZERO]))
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            result(Tunable::SamplingRate, 9_999).unwrap_err(),
            "sampling_rate cannot be 9999; expected 10000 to 4294967295"
        );
        assert!(result(Tunable::UpThreshold, 101).is_err());
        assert_eq!(
            result(Tunable::DownDifferential, 3).unwrap_err(),
            "this governor has no down_differential"
        );
        assert_eq!(result(Tunable::UpThreshold, 60), Ok(()));
    }
}
