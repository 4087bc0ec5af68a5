//! The load of a policy as ondemand and conservative compute it.

use unjank_host::Nanos;

use super::cpu_activity::CpuActivity;

/// One CPU since the last sample (`struct cpu_dbs_info`).
#[derive(Debug, Clone, Copy, Default)]
struct CpuSample {
    wall: u64,
    idle: u64,
    load: u32,
}

/// Samples of all CPUs of a policy.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    cpus: Box<[CpuSample]>,
    /// At the last sample, the fewest whole periods that a CPU had been idle;
    /// `u32::MAX` if none was idle for more than two.
    pub(super) idle_periods: u32,
    pub(super) samples: u64,
}

/// When a long gap counts as sleep. The load from before a sleep is used once
/// more, since the gap would hide the load of a task that wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Never: kernels before 3.16.
    Never,
    /// By the length of the window (`drivers/cpufreq/cpufreq_governor.c`, 4.0).
    Window,
    /// By the idle time in it (the same file, 6.12).
    Idle,
}

impl Sampler {
    pub(super) fn new(cpus: usize) -> Self {
        Self { cpus: vec![CpuSample::default(); cpus].into(), idle_periods: u32::MAX, samples: 0 }
    }

    /// Starts a new window.
    pub(super) fn start(&mut self, activity: &CpuActivity<'_>) {
        for (index, cpu) in self.cpus.iter_mut().enumerate() {
            *cpu = CpuSample { wall: activity.wall(), idle: activity.idle(index), load: 0 };
        }
    }

    /// The load in percent of the busiest CPU since the last sample. Starts a new
    /// window. `rate` is the period in microseconds, multiplied by the current
    /// factor. After `dbs_update` (`drivers/cpufreq/cpufreq_governor.c`).
    pub(super) fn load(&mut self, activity: &CpuActivity<'_>, rate: u64, reuse: Reuse) -> u32 {
        let (mut highest, mut idle_periods) = (0, u32::MAX);
        let now = activity.wall();
        for (index, cpu) in self.cpus.iter_mut().enumerate() {
            let window = now - cpu.wall;
            cpu.wall = now;
            let total = activity.idle(index);
            let idle = total.saturating_sub(cpu.idle);
            cpu.idle = total;
            let asleep = match reuse {
                Reuse::Never => false,
                Reuse::Window => window > 2 * rate,
                Reuse::Idle => idle > 2 * rate,
            };
            let load = if window == 0 {
                cpu.load
            } else if asleep && cpu.load != 0 {
                std::mem::take(&mut cpu.load)
            } else {
                cpu.load = (100 * window.saturating_sub(idle) / window) as u32;
                cpu.load
            };
            if idle > 2 * rate {
                idle_periods = idle_periods.min((idle / rate) as u32);
            }
            highest = highest.max(load);
        }
        self.idle_periods = idle_periods;
        self.samples += 1;
        highest
    }
}

/// `micros` rounded up to whole ticks (`usecs_to_jiffies`).
pub(super) fn whole_ticks(micros: u64, tick: Nanos) -> Nanos {
    tick.times(Nanos::from_micros(micros).0.div_ceil(tick.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// Loads of one CPU, given moments and the busy time until each, in
    /// milliseconds, at a period of 10 ms.
    fn loads(reuse: Reuse, moments: &[(u64, u64)]) -> Vec<u32> {
        let mut sampler = Sampler::new(1);
        moments
            .iter()
            .map(|&(now, busy)| {
                let activity = CpuActivity { now: millis(now), busy: &[millis(busy)], running: 0 };
                sampler.load(&activity, 10_000, reuse)
            })
            .collect()
    }

    #[test]
    fn a_load_is_the_share_that_was_busy() {
        assert_eq!(loads(Reuse::Idle, &[(10, 5), (20, 15), (30, 15)]), [50, 100, 0]);
        // 100 × (3,000 − 2,000) / 3,000, cut off.
        assert_eq!(loads(Reuse::Never, &[(3, 1)]), [33]);
    }

    #[test]
    fn the_load_before_a_sleep_counts_once_more() {
        let moments = [(10, 10), (31, 11), (52, 12), (60, 20)];
        assert_eq!(loads(Reuse::Idle, &moments), [100, 4, 4, 100]);
        let longer = [(10, 10), (32, 11), (54, 12), (62, 20)];
        assert_eq!(loads(Reuse::Idle, &longer), [100, 100, 4, 100]);
        assert_eq!(loads(Reuse::Window, &moments), [100, 100, 4, 100]);
        assert_eq!(loads(Reuse::Never, &longer), [100, 4, 4, 100]);
    }

    #[test]
    fn a_second_sample_at_the_same_moment_repeats_the_first() {
        assert_eq!(loads(Reuse::Idle, &[(10, 5), (10, 5)]), [50, 50]);
    }

    #[test]
    fn times_become_whole_ticks() {
        assert_eq!(whole_ticks(10_000, millis(4)), millis(12));
        assert_eq!(whole_ticks(100_000, millis(5)), millis(100));
    }
}
