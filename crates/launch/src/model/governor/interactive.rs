//! interactive: Android's governor before schedutil, with a jump to a high
//! speed when a CPU is busy.

use unjank_host::Nanos;

use super::NEVER;
use super::cpu_activity::{CpuActivity, TaskChange};
use super::sampler::whole_ticks;
use crate::model::clock::{Clock, Khz, Relation};
use crate::model::tunable::{Refused, Tunable, Write, within};

/// interactive as in Android's kernels 3.4
/// (`drivers/cpufreq/cpufreq_interactive.c`), with one target load and one
/// delay for all frequencies. Boosts (`boost`, `boostpulse`) are not modelled.
#[derive(Debug, Clone)]
pub struct Interactive {
    tick: Nanos,
    timer_rate: u32,
    timer_slack: u32,
    go_hispeed_load: u32,
    /// Zero means the policy's upper limit at its start.
    hispeed_freq: u32,
    above_hispeed_delay: u32,
    min_sample_time: u32,
    target_load: u32,
    cpus: Box<[Cpu]>,
    samples: u64,
}

/// `struct cpufreq_interactive_cpuinfo`; times in microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    idle: u64,
    idle_at: u64,
    /// Busy microseconds times kilohertz.
    work: u64,
    work_from: u64,
    target: Khz,
    floor: Khz,
    floor_at: u64,
    hispeed_at: u64,
    /// Expiry of the timer, and the time at which it also wakes an idle CPU.
    timer: Option<(Nanos, Nanos)>,
}

impl Interactive {
    /// With the defaults of Android's common kernel.
    pub fn new(cpus: usize, tick: Nanos) -> Self {
        Self {
            tick,
            timer_rate: 20_000,
            timer_slack: 80_000,
            go_hispeed_load: 99,
            hispeed_freq: 0,
            above_hispeed_delay: 20_000,
            min_sample_time: 80_000,
            target_load: 90,
            cpus: vec![Cpu::default(); cpus].into(),
            samples: 0,
        }
    }

    pub(super) fn start(&mut self, activity: &CpuActivity<'_>, clock: &Clock) {
        if self.hispeed_freq == 0 {
            self.hispeed_freq = clock.max().0;
        }
        for index in 0..self.cpus.len() {
            let cpu = &mut self.cpus[index];
            (cpu.target, cpu.floor) = (clock.current(), clock.current());
            (cpu.floor_at, cpu.hispeed_at) = (activity.wall(), activity.wall());
            self.rearm(index, activity, clock);
        }
    }

    pub(super) fn due(&self, busy: u64) -> Nanos {
        let timers = self.cpus.iter().enumerate().filter_map(|(index, cpu)| {
            let (at, wakes_at) = cpu.timer?;
            Some(if busy >> index & 1 == 1 { at } else { wakes_at })
        });
        timers.min().unwrap_or(NEVER)
    }

    pub(super) fn on_tick(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        for index in 0..self.cpus.len() {
            let Some((at, wakes_at)) = self.cpus[index].timer else { continue };
            let running = activity.running >> index & 1 == 1;
            if activity.now >= if running { at } else { wakes_at } {
                self.evaluate(index, activity, clock);
            }
        }
    }

    /// The idle notifier: a CPU that leaves idle evaluates its load at once if its
    /// timer is overdue. A CPU that goes idle above the lowest speed arms it.
    pub(super) fn on_task_change(
        &mut self,
        activity: &CpuActivity<'_>,
        cpu: usize,
        switch: TaskChange,
        clock: &mut Clock,
    ) {
        let timer = self.cpus[cpu].timer;
        match (switch, timer) {
            (TaskChange::Came(1), None) => self.rearm(cpu, activity, clock),
            (TaskChange::Came(1), Some((at, _))) if activity.now >= at => {
                self.evaluate(cpu, activity, clock);
            }
            (TaskChange::Left(0), None) if self.cpus[cpu].target != clock.min() => {
                self.rearm(cpu, activity, clock);
            }
            _ => {}
        }
    }

    pub(super) fn write(&mut self, write: Write) -> Result<(), Refused> {
        let value = write.value;
        match write.tunable {
            Tunable::TimerRate => self.timer_rate = within(write, 1_000, u32::MAX)?,
            Tunable::TimerSlack => self.timer_slack = value,
            Tunable::GoHispeedLoad => self.go_hispeed_load = value,
            Tunable::HispeedFreq => self.hispeed_freq = value,
            Tunable::AboveHispeedDelay => self.above_hispeed_delay = value,
            Tunable::MinSampleTime => self.min_sample_time = value,
            Tunable::TargetLoads => self.target_load = within(write, 1, 100)?,
            other => return Err(Refused::Unknown(other)),
        }
        Ok(())
    }

    pub(super) fn value(&self, tunable: Tunable) -> Option<u32> {
        match tunable {
            Tunable::TimerRate => Some(self.timer_rate),
            Tunable::TimerSlack => Some(self.timer_slack),
            Tunable::GoHispeedLoad => Some(self.go_hispeed_load),
            Tunable::HispeedFreq => Some(self.hispeed_freq),
            Tunable::AboveHispeedDelay => Some(self.above_hispeed_delay),
            Tunable::MinSampleTime => Some(self.min_sample_time),
            Tunable::TargetLoads => Some(self.target_load),
            _ => None,
        }
    }

    pub(super) fn period(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.timer_rate))
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// `cpufreq_interactive_timer`.
    fn evaluate(&mut self, index: usize, activity: &CpuActivity<'_>, clock: &mut Clock) {
        self.samples += 1;
        self.account(index, activity, clock.current());
        self.cpus[index].timer = None;
        let now = activity.wall();
        let cpu = &self.cpus[index];
        let window = now - cpu.work_from;
        if window == 0 {
            self.rearm(index, activity, clock);
            return;
        }
        let weighed = cpu.work / window * 100;
        let load = weighed / u64::from(cpu.target.0.max(1));
        let (target, hispeed) = (cpu.target, Khz(self.hispeed_freq));
        let fitting = self.fitting(weighed, clock);
        let requested = if load < u64::from(self.go_hispeed_load) {
            fitting
        } else if target < hispeed {
            hispeed
        } else {
            fitting.max(hispeed)
        };
        let too_soon_up = target >= hispeed
            && requested > target
            && now - cpu.hispeed_at < u64::from(self.above_hispeed_delay);
        if too_soon_up {
            self.rearm(index, activity, clock);
            return;
        }
        self.cpus[index].hispeed_at = now;
        let requested = clock.resolve(requested, Relation::AtLeast);
        let cpu = &mut self.cpus[index];
        if requested < cpu.floor && now - cpu.floor_at < u64::from(self.min_sample_time) {
            self.rearm(index, activity, clock);
            return;
        }
        (cpu.floor, cpu.floor_at) = (requested, now);
        if cpu.target != requested {
            cpu.target = requested;
            self.change_speed(activity, clock);
        }
        // At full speed there is no timer until the CPU goes idle.
        if requested != clock.max() {
            self.rearm(index, activity, clock);
        }
    }

    /// `choose_freq`: the slowest frequency whose load stays within the
    /// target. With one target load for all frequencies the kernel's search
    /// ends at its first step.
    fn fitting(&self, weighed: u64, clock: &Clock) -> Khz {
        let requested = weighed / u64::from(self.target_load);
        clock.resolve(Khz(u32::try_from(requested).unwrap_or(u32::MAX)), Relation::AtLeast)
    }

    /// The policy runs at the highest target of its CPUs
    /// (`cpufreq_interactive_speedchange_task`). Before a change, each CPU's work
    /// until then is weighted by the old frequency.
    fn change_speed(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        for index in 0..self.cpus.len() {
            self.account(index, activity, clock.current());
        }
        let highest = self.cpus.iter().map(|cpu| cpu.target).max().unwrap_or(clock.min());
        clock.target(highest, Relation::AtMost);
    }

    /// `update_load`.
    fn account(&mut self, index: usize, activity: &CpuActivity<'_>, frequency: Khz) {
        let cpu = &mut self.cpus[index];
        let (now, idle) = (activity.wall(), activity.idle(index));
        let active = (now - cpu.idle_at).saturating_sub(idle.saturating_sub(cpu.idle));
        cpu.work += active * u64::from(frequency.0);
        (cpu.idle, cpu.idle_at) = (idle, now);
    }

    /// `cpufreq_interactive_timer_resched`.
    fn rearm(&mut self, index: usize, activity: &CpuActivity<'_>, clock: &Clock) {
        let now = self.tick.times(activity.now.0 / self.tick.0);
        let at = now + whole_ticks(u64::from(self.timer_rate), self.tick);
        let slack = whole_ticks(u64::from(self.timer_slack), self.tick);
        let cpu = &mut self.cpus[index];
        (cpu.idle, cpu.idle_at) = (activity.idle(index), activity.wall());
        (cpu.work, cpu.work_from) = (0, cpu.idle_at);
        let wakes_at = if cpu.target > clock.min() { at + slack } else { NEVER };
        cpu.timer = Some((at, wakes_at));
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

    #[test]
    fn full_load_jumps_to_hispeed_and_then_waits() {
        let mut governor = Interactive::new(1, TICK);
        governor.write(Write { tunable: Tunable::HispeedFreq, value: 800_000 }).unwrap();
        governor.write(Write { tunable: Tunable::AboveHispeedDelay, value: 40_000 }).unwrap();
        let mut clock = exynos(Ties::Faster);
        governor.start(&activity(0, &[Nanos::ZERO]), &clock);
        let mut course = Vec::new();
        for now in [20, 40, 60, 80] {
            assert_eq!(governor.due(1), millis(now));
            governor.on_tick(&activity(now, &[millis(now)]), &mut clock);
            course.push(clock.current().0 / 1_000);
        }
        // At 40 ms only 20 of the 40 have passed; at 60 ms all of them, and
        // 800 MHz fully used are 888 at a target of 90 %.
        assert_eq!(course, [800, 800, 1000, 1000]);
    }

    #[test]
    fn a_partial_load_gets_the_slowest_fitting_speed() {
        let mut governor = Interactive::new(1, TICK);
        let mut clock = exynos(Ties::Faster);
        clock.begin_at(Khz(1_200_000));
        governor.start(&activity(0, &[Nanos::ZERO]), &clock);
        // Half of 1200 MHz at a target of 90 %: 666 → 800, after 80 ms at the
        // floor.
        for (now, expected) in [(20, 1200), (40, 1200), (60, 1200), (80, 800)] {
            governor.on_tick(&activity(now, &[millis(now / 2)]), &mut clock);
            assert_eq!(clock.current(), Khz(expected * 1_000), "{now}");
        }
    }

    #[test]
    fn an_idle_cpu_is_left_alone_for_the_slack() {
        let mut governor = Interactive::new(1, TICK);
        let mut clock = exynos(Ties::Faster);
        governor.start(&activity(0, &[Nanos::ZERO]), &clock);
        assert_eq!((governor.due(1), governor.due(0)), (millis(20), NEVER));
        governor.on_tick(&activity(20, &[millis(20)]), &mut clock);
        assert_eq!((clock.is_at_max(), governor.due(1)), (true, NEVER));
        governor.on_task_change(&activity(50, &[millis(50)]), 0, TaskChange::Left(0), &mut clock);
        assert_eq!((governor.due(1), governor.due(0)), (millis(70), millis(150)));
    }
}
