//! Models of the kernel's cpufreq governors: their inputs, the times of their
//! evaluations, and their requests to the clock, in the kernel's own integers.
//!
//! | module | subject |
//! |---|---|
//! | [`cpu_activity`] | busy and idle time as governors see it |
//! | `sampler` | the load that ondemand and conservative compute |
//! | [`ondemand`] | ondemand in its four eras |
//! | [`conservative`] | conservative since 4.6 |
//! | [`interactive`] | interactive of Android's 3.4 kernels |
//! | [`schedutil`], [`pelt`] | schedutil, and the utilization it follows |
//!
//! A governor is driven from outside: from the time [`Governor::due`] on, it is
//! called at ticks ([`Governor::on_tick`]). [`Governor::on_task_change`] is called
//! whenever a task comes to a CPU or leaves it.

pub mod conservative;
pub mod cpu_activity;
pub mod interactive;
pub mod ondemand;
pub mod pelt;
mod sampler;
pub mod schedutil;

use unjank_host::Nanos;

use crate::model::clock::{Clock, Relation};
use crate::model::tunable::{Refused, Tunable, Write};

pub use conservative::Conservative;
pub use cpu_activity::{CpuActivity, TaskChange};
pub use interactive::Interactive;
pub use ondemand::{Era, Ondemand};
pub use schedutil::Schedutil;

/// A time that never comes.
pub const NEVER: Nanos = Nanos(u64::MAX);

/// A governor with its tunables and its state.
#[derive(Debug, Clone)]
pub enum Governor {
    /// Full speed above a threshold of load, proportional below.
    Ondemand(Ondemand),
    /// One step at a time, up or down.
    Conservative(Conservative),
    /// Android's governor, with a jump to a high speed.
    Interactive(Interactive),
    /// In proportion to the scheduler's utilization.
    Schedutil(Schedutil),
    /// Always at the upper limit.
    Performance,
    /// Always at the lower limit.
    Powersave,
}

/// The names of the governors, as typed.
pub const NAMES: [&str; 9] = [
    "ondemand",
    "ondemand:3.0",
    "ondemand:3.4",
    "ondemand:3.13",
    "conservative",
    "interactive",
    "schedutil",
    "performance",
    "powersave",
];

impl Governor {
    /// The governor called `name` with its defaults, for `cpus` CPUs that share a
    /// clock, in a kernel with ticks of length `tick`.
    pub fn named(name: &str, cpus: usize, tick: Nanos) -> Option<Self> {
        let ondemand = |era| Some(Self::Ondemand(Ondemand::new(era, cpus, tick)));
        match name {
            "ondemand" | "ondemand:4.6" => ondemand(Era::V4_6),
            "ondemand:3.0" => ondemand(Era::V3_0),
            "ondemand:3.4" => ondemand(Era::V3_4),
            "ondemand:3.13" => ondemand(Era::V3_13),
            "conservative" => Some(Self::Conservative(Conservative::new(cpus, tick))),
            "interactive" => Some(Self::Interactive(Interactive::new(cpus, tick))),
            "schedutil" => Some(Self::Schedutil(Schedutil::new(cpus))),
            "performance" => Some(Self::Performance),
            "powersave" => Some(Self::Powersave),
            _ => None,
        }
    }

    /// Starts at `activity.now`, as when the governor is selected.
    pub fn start(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.start(activity),
            Self::Conservative(it) => it.start(activity, clock),
            Self::Interactive(it) => it.start(activity, clock),
            Self::Schedutil(it) => it.start(activity, clock),
            Self::Performance | Self::Powersave => self.hold(clock),
        }
    }

    /// The time from which it must be called at a tick while the CPUs of the mask
    /// `busy` are busy; [`NEVER`] if none of them matters to it.
    pub fn due(&self, busy: u64) -> Nanos {
        match self {
            Self::Ondemand(it) => it.due(busy),
            Self::Conservative(it) => it.due(busy),
            Self::Interactive(it) => it.due(busy),
            Self::Schedutil(it) => it.due(busy),
            Self::Performance | Self::Powersave => NEVER,
        }
    }

    /// Handles a tick at or after [`due`](Self::due).
    pub fn on_tick(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.on_tick(activity, clock),
            Self::Conservative(it) => it.on_tick(activity, clock),
            Self::Interactive(it) => it.on_tick(activity, clock),
            Self::Schedutil(it) => it.on_tick(activity, clock),
            Self::Performance | Self::Powersave => {}
        }
    }

    /// Handles a task that came to `cpu` or left it.
    pub fn on_task_change(
        &mut self,
        activity: &CpuActivity<'_>,
        cpu: usize,
        switch: TaskChange,
        clock: &mut Clock,
    ) {
        match self {
            Self::Ondemand(it) => it.on_task_change(activity, clock),
            Self::Conservative(it) => it.on_task_change(activity, clock),
            Self::Interactive(it) => it.on_task_change(activity, cpu, switch, clock),
            Self::Schedutil(it) => it.on_task_change(activity, cpu, switch, clock),
            Self::Performance | Self::Powersave => {}
        }
    }

    /// Whether it evaluates the load in a work item of the kernel, some time
    /// after the scheduler's call that requests it (`dbs_update_util_handler`
    /// and `dbs_work_handler` in `drivers/cpufreq/cpufreq_governor.c`).
    /// [`on_tick`](Self::on_tick) and [`on_task_change`](Self::on_task_change) do both
    /// at once.
    pub fn defers_evaluation(&self) -> bool {
        match self {
            Self::Ondemand(it) => it.defers_evaluation(),
            Self::Conservative(_) => true,
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {
                false
            }
        }
    }

    /// A call of the scheduler requests an evaluation. No effect on a governor
    /// that does not [defer](Self::defers_evaluation) it.
    pub fn request_evaluation(&mut self, now: Nanos) {
        match self {
            Self::Ondemand(it) => it.request_evaluation(now),
            Self::Conservative(it) => it.request_evaluation(now),
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {}
        }
    }

    /// Evaluates the load, as requested before.
    pub fn evaluate(&mut self, activity: &CpuActivity<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.evaluate(activity, clock),
            Self::Conservative(it) => it.evaluate(activity, clock),
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {}
        }
    }

    /// Handles a write to one of its files, or its policy's.
    ///
    /// # Errors
    /// `Unknown` if this governor has no such file, `Range` where the kernel
    /// returns an error.
    pub fn write(
        &mut self,
        write: Write,
        activity: &CpuActivity<'_>,
        clock: &mut Clock,
    ) -> Result<(), Refused> {
        match (write.tunable, &mut *self) {
            (Tunable::MinFreq | Tunable::MaxFreq, _) => {
                if let Self::Schedutil(it) = self {
                    it.catch_up(activity, clock);
                }
                limit(write, clock);
                match self {
                    Self::Ondemand(it) => it.limits_changed(activity, clock),
                    Self::Conservative(it) => it.limits_changed(),
                    Self::Schedutil(it) => it.limits_changed(),
                    Self::Performance | Self::Powersave => self.hold(clock),
                    Self::Interactive(_) => {}
                }
                Ok(())
            }
            (_, Self::Ondemand(it)) => it.write(write, activity),
            (_, Self::Conservative(it)) => it.write(write),
            (_, Self::Interactive(it)) => it.write(write),
            (_, Self::Schedutil(it)) => it.write(write),
            (tunable, Self::Performance | Self::Powersave) => Err(Refused::Unknown(tunable)),
        }
    }

    /// Its period of evaluation while CPUs are busy.
    pub fn period(&self) -> Nanos {
        match self {
            Self::Ondemand(it) => it.period(),
            Self::Conservative(it) => it.period(),
            Self::Interactive(it) => it.period(),
            Self::Schedutil(it) => it.period(),
            Self::Performance | Self::Powersave => Nanos::from_millis(10),
        }
    }

    /// The value of its file `tunable`.
    pub fn value(&self, tunable: Tunable) -> Option<u32> {
        match self {
            Self::Ondemand(it) => it.value(tunable),
            Self::Conservative(it) => it.value(tunable),
            Self::Interactive(it) => it.value(tunable),
            Self::Schedutil(it) => it.value(tunable),
            Self::Performance | Self::Powersave => None,
        }
    }

    /// Number of evaluations so far.
    pub fn samples(&self) -> u64 {
        match self {
            Self::Ondemand(it) => it.samples(),
            Self::Conservative(it) => it.samples(),
            Self::Interactive(it) => it.samples(),
            Self::Schedutil(it) => it.samples(),
            Self::Performance | Self::Powersave => 0,
        }
    }

    fn hold(&self, clock: &mut Clock) {
        match self {
            Self::Performance => clock.target(clock.max(), Relation::AtMost),
            _ => clock.target(clock.min(), Relation::AtLeast),
        }
    }
}

fn limit(write: Write, clock: &mut Clock) {
    let khz = crate::model::clock::Khz(write.value);
    match write.tunable {
        Tunable::MaxFreq => clock.limit(clock.min().min(khz), khz),
        _ => clock.limit(khz, clock.max()),
    }
}
