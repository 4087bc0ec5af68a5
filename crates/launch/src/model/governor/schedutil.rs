//! schedutil: the frequency for the scheduler's utilization plus a quarter of
//! headroom.

use unjank_host::Nanos;

use super::NEVER;
use super::cpu_activity::{CpuActivity, TaskChange};
use super::pelt::{FULL, Pelt};
use crate::model::clock::{Clock, Khz, Relation};
use crate::model::tunable::{Refused, Tunable, Write, within};

/// schedutil as in 6.12 (`kernel/sched/cpufreq_schedutil.c`), for tasks of the
/// fair class. Waiting for I/O, real-time and deadline tasks are not modelled.
#[derive(Debug, Clone)]
pub struct Schedutil {
    rate_limit: u32,
    uclamp_min: u32,
    invariant: bool,
    cpus: Box<[Cpu]>,
    at: Option<Nanos>,
    limits_changed: bool,
    last_requested: Khz,
    raw: Option<u32>,
    samples: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    pelt: Pelt,
    tasks: u32,
    /// How often it went idle, until now and until the last evaluation.
    sleeps: u32,
    sleeps_seen: u32,
}

impl Schedutil {
    /// With the kernel's limit for drivers without a latency (1 ms), and with
    /// utilization relative to full speed.
    pub fn new(cpus: usize) -> Self {
        Self {
            rate_limit: 1_000,
            uclamp_min: 0,
            invariant: true,
            cpus: vec![Cpu::default(); cpus].into(),
            at: None,
            limits_changed: false,
            last_requested: Khz(0),
            raw: None,
            samples: 0,
        }
    }

    /// For machines that do not know their real speed, such as virtual ones:
    /// utilization is relative to the current speed.
    #[must_use]
    pub fn without_invariance(mut self) -> Self {
        self.invariant = false;
        self
    }

    pub(super) fn start(&mut self, activity: &CpuActivity<'_>, clock: &Clock) {
        for (index, cpu) in self.cpus.iter_mut().enumerate() {
            let tasks = (activity.running >> index & 1) as u32;
            *cpu = Cpu { pelt: Pelt::new(activity.now), tasks, ..Cpu::default() };
        }
        (self.at, self.raw, self.last_requested) = (None, None, clock.current());
    }

    pub(super) fn due(&self, busy: u64) -> Nanos {
        if busy == 0 { NEVER } else { self.allowed_from() }
    }

    pub(super) fn on_tick(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        let ended = self.catch_up(activity, clock);
        if ended && activity.now >= self.allowed_from() {
            self.decide(activity, clock);
        }
    }

    pub(super) fn on_task_change(
        &mut self,
        activity: &CpuActivity<'_>,
        cpu: usize,
        switch: TaskChange,
        clock: &mut Clock,
    ) {
        let ended = self.catch_up(activity, clock);
        let (TaskChange::Came(tasks) | TaskChange::Left(tasks)) = switch;
        self.cpus[cpu].tasks = tasks;
        if ended && activity.now >= self.allowed_from() {
            self.decide(activity, clock);
        }
        self.cpus[cpu].sleeps += u32::from(switch == TaskChange::Left(0));
    }

    pub(super) fn limits_changed(&mut self) {
        self.limits_changed = true;
    }

    pub(super) fn write(&mut self, write: Write) -> Result<(), Refused> {
        match write.tunable {
            Tunable::RateLimit => self.rate_limit = write.value,
            Tunable::UclampMin => self.uclamp_min = within(write, 0, FULL)?,
            other => return Err(Refused::Unknown(other)),
        }
        Ok(())
    }

    pub(super) fn value(&self, tunable: Tunable) -> Option<u32> {
        match tunable {
            Tunable::RateLimit => Some(self.rate_limit),
            Tunable::UclampMin => Some(self.uclamp_min),
            _ => None,
        }
    }

    pub(super) fn period(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.rate_limit)).max(Nanos::from_millis(1))
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Updates utilization at the frequency of the time that passed. Idle CPUs
    /// decay here at once; the kernel does that every 32 ms.
    pub(super) fn catch_up(&mut self, activity: &CpuActivity<'_>, clock: &Clock) -> bool {
        let speed = if self.invariant { clock.current() } else { clock.highest() };
        let mut ended = false;
        for cpu in &mut self.cpus {
            ended |= cpu.pelt.advance(activity.now, cpu.tasks, speed, clock.highest());
        }
        ended
    }

    fn allowed_from(&self) -> Nanos {
        match self.at {
            Some(at) if !self.limits_changed => at + Nanos::from_micros(u64::from(self.rate_limit)),
            _ => Nanos::ZERO,
        }
    }

    /// `sugov_update_single_freq` and `sugov_update_shared`.
    fn decide(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.samples += 1;
        let forced = std::mem::take(&mut self.limits_changed);
        let highest = self.cpus.iter().map(|cpu| self.wanted(cpu)).max().unwrap_or(0);
        let current = clock.current().0;
        let full = if self.invariant { clock.highest().0 } else { current + (current >> 2) };
        let raw = (u64::from(full) * u64::from(highest) / u64::from(FULL)) as u32;
        let (before, same) = (self.raw, self.raw == Some(raw) && !forced);
        let mut requested = self.last_requested;
        if !same {
            self.raw = Some(raw);
            requested = clock.resolve(Khz(raw), Relation::AtLeast);
        }
        // A CPU that has not been idle since the last evaluation is busy,
        // whatever its utilization: it does not slow down (`sugov_hold_freq`,
        // for policies of one CPU).
        if let [cpu] = &mut *self.cpus {
            let busy = cpu.sleeps == cpu.sleeps_seen;
            cpu.sleeps_seen = cpu.sleeps;
            if busy && requested < self.last_requested && !forced {
                (requested, self.raw) = (self.last_requested, before);
            }
        }
        if requested != self.last_requested || forced {
            (self.last_requested, self.at) = (requested, Some(activity.now));
            clock.target(requested, Relation::AtLeast);
        }
    }

    /// `sugov_effective_cpu_perf`: a quarter more than the utilization, and at
    /// least `uclamp` while there are tasks.
    fn wanted(&self, cpu: &Cpu) -> u32 {
        let utilization = cpu.pelt.utilization();
        let least = if cpu.tasks > 0 { self.uclamp_min } else { 0 };
        (utilization + (utilization >> 2)).min(FULL).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Ties;
    use crate::model::clock::tests::exynos;

    /// When a CPU that became busy after 100 ms has each frequency, in
    /// milliseconds, with ticks of 4 ms.
    fn ramp(uclamp_min: u32) -> Vec<(u64, u32)> {
        let mut governor = Schedutil::new(1);
        governor.write(Write { tunable: Tunable::UclampMin, value: uclamp_min }).unwrap();
        let mut clock = exynos(Ties::Faster);
        let activity =
            |millis, running| CpuActivity { now: Nanos::from_millis(millis), busy: &[], running };
        governor.start(&activity(0, 0), &clock);
        governor.on_task_change(&activity(100, 1), 0, TaskChange::Came(1), &mut clock);
        let mut course = vec![(0, clock.current().0 / 1_000)];
        for tick in 1..200 {
            governor.on_tick(&activity(100 + 4 * tick, 1), &mut clock);
            let mhz = clock.current().0 / 1_000;
            if course.last().is_none_or(|(_, last)| *last != mhz) {
                course.push((4 * tick, mhz));
            }
        }
        course
    }

    #[test]
    fn a_new_load_needs_several_half_lives() {
        let course = ramp(0);
        let speeds: Vec<u32> = course.iter().map(|(_, mhz)| *mhz).collect();
        assert_eq!(speeds, [200, 500, 800, 1000, 1200]);
        // 200 of 1200 MHz, with the headroom, are left at a utilization of 137
        // of 1024: 1024 × (1 − 2^(−t / 32.8 ms)) reaches it after 6.8 ms of
        // the CPU's time. At a sixth of the speed these take 41 ms.
        assert!((40..=48).contains(&course[1].0), "{course:?}");
    }

    #[test]
    fn uclamp_skips_the_ramp() {
        assert_eq!(ramp(1024), [(0, 1200)]);
        assert_eq!(ramp(512)[0], (0, 800));
    }

    #[test]
    fn a_busy_cpu_does_not_slow_down() {
        let mut governor = Schedutil::new(1);
        let mut clock = exynos(Ties::Faster);
        clock.begin_at(Khz(1_200_000));
        let activity =
            |millis, running| CpuActivity { now: Nanos::from_millis(millis), busy: &[], running };
        governor.start(&activity(0, 1), &clock);
        for tick in 1..5 {
            governor.on_tick(&activity(4 * tick, 1), &mut clock);
        }
        assert!(clock.is_at_max());
        governor.on_task_change(&activity(20, 1), 0, TaskChange::Left(0), &mut clock);
        governor.on_task_change(&activity(60, 1), 0, TaskChange::Came(1), &mut clock);
        assert!(!clock.is_at_max());
    }
}
