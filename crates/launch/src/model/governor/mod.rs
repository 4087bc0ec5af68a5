//! Models of the kernel's cpufreq governors: what they see, when they look,
//! and what they ask of the clock, in the kernel's own integers.
//!
//! | module | subject |
//! |---|---|
//! | [`seen`] | busy and idle time as governors see it |
//! | `sampler` | the load that ondemand and conservative compute |
//! | [`ondemand`] | ondemand in its four eras |
//! | [`conservative`] | conservative since 4.6 |
//! | [`interactive`] | interactive of Android's 3.4 kernels |
//! | [`schedutil`], [`pelt`] | schedutil, and the utilization it follows |
//!
//! A governor is driven from outside: [`Governor::due`] says from when on it
//! wants to be called at a tick, and [`Governor::on_switch`] is for the moments
//! at which a CPU got work or has none any more.

pub mod conservative;
pub mod interactive;
pub mod ondemand;
pub mod pelt;
mod sampler;
pub mod schedutil;
pub mod seen;

use unjank_host::Nanos;

use crate::model::clock::{Clock, Relation};
use crate::model::tunable::{Refused, Tunable, Write};

pub use conservative::Conservative;
pub use interactive::Interactive;
pub use ondemand::{Era, Ondemand};
pub use schedutil::Schedutil;
pub use seen::{Seen, Switch};

/// No moment at all.
pub const NEVER: Nanos = Nanos(u64::MAX);

/// A governor with its tunables and what it remembers.
#[derive(Debug, Clone)]
pub enum Governor {
    /// Full speed when busy, in proportion otherwise.
    Ondemand(Ondemand),
    /// Step by step.
    Conservative(Conservative),
    /// Android's, with a jump.
    Interactive(Interactive),
    /// By utilization.
    Schedutil(Schedutil),
    /// Always at the upper limit.
    Performance,
    /// Always at the lower limit.
    Powersave,
}

/// The governors by the names that can be typed.
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
    /// The governor called `name`, with its defaults, for `cpus` CPUs that
    /// share a clock, in a kernel with ticks of length `tick`.
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

    /// Begins at `seen.now`, as when the governor is chosen.
    pub fn start(&mut self, seen: &Seen<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.start(seen),
            Self::Conservative(it) => it.start(seen, clock),
            Self::Interactive(it) => it.start(seen, clock),
            Self::Schedutil(it) => it.start(seen, clock),
            Self::Performance | Self::Powersave => self.hold(clock),
        }
    }

    /// From when on it wants to be called at a tick, while the CPUs of the
    /// mask `busy` run something; [`NEVER`] while none of them matters.
    pub fn due(&self, busy: u64) -> Nanos {
        match self {
            Self::Ondemand(it) => it.due(busy),
            Self::Conservative(it) => it.due(busy),
            Self::Interactive(it) => it.due(busy),
            Self::Schedutil(it) => it.due(busy),
            Self::Performance | Self::Powersave => NEVER,
        }
    }

    /// A tick at or after the moment that [`due`](Self::due) named.
    pub fn on_tick(&mut self, seen: &Seen<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.on_tick(seen, clock),
            Self::Conservative(it) => it.on_tick(seen, clock),
            Self::Interactive(it) => it.on_tick(seen, clock),
            Self::Schedutil(it) => it.on_tick(seen, clock),
            Self::Performance | Self::Powersave => {}
        }
    }

    /// A task came to `cpu` or left it.
    pub fn on_switch(&mut self, seen: &Seen<'_>, cpu: usize, switch: Switch, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.on_switch(seen, clock),
            Self::Conservative(it) => it.on_switch(seen, clock),
            Self::Interactive(it) => it.on_switch(seen, cpu, switch, clock),
            Self::Schedutil(it) => it.on_switch(seen, cpu, switch, clock),
            Self::Performance | Self::Powersave => {}
        }
    }

    /// Whether it looks at its CPUs in a work item of the kernel, some time
    /// after the scheduler's call that asks for it (`dbs_update_util_handler`
    /// and `dbs_work_handler` in `drivers/cpufreq/cpufreq_governor.c`).
    /// [`on_tick`](Self::on_tick) and [`on_switch`](Self::on_switch) do both
    /// at once.
    pub fn looks_later(&self) -> bool {
        match self {
            Self::Ondemand(it) => it.looks_later(),
            Self::Conservative(_) => true,
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {
                false
            }
        }
    }

    /// A call of the scheduler has asked for a look. Nothing for a governor
    /// that does not look later.
    pub fn ask(&mut self, now: Nanos) {
        match self {
            Self::Ondemand(it) => it.ask(now),
            Self::Conservative(it) => it.ask(now),
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {}
        }
    }

    /// It looks, having been asked to.
    pub fn look(&mut self, seen: &Seen<'_>, clock: &mut Clock) {
        match self {
            Self::Ondemand(it) => it.look(seen, clock),
            Self::Conservative(it) => it.look(seen, clock),
            Self::Interactive(_) | Self::Schedutil(_) | Self::Performance | Self::Powersave => {}
        }
    }

    /// A write into one of its files, or one of its policy's.
    ///
    /// # Errors
    /// `Unknown` if this governor has no such file, `Range` where the kernel
    /// answers with an error too.
    pub fn write(
        &mut self,
        write: Write,
        seen: &Seen<'_>,
        clock: &mut Clock,
    ) -> Result<(), Refused> {
        match (write.tunable, &mut *self) {
            (Tunable::MinFreq | Tunable::MaxFreq, _) => {
                if let Self::Schedutil(it) = self {
                    it.catch_up(seen, clock);
                }
                limit(write, clock);
                match self {
                    Self::Ondemand(it) => it.limits_changed(seen, clock),
                    Self::Conservative(it) => it.limits_changed(),
                    Self::Schedutil(it) => it.limits_changed(),
                    Self::Performance | Self::Powersave => self.hold(clock),
                    Self::Interactive(_) => {}
                }
                Ok(())
            }
            (_, Self::Ondemand(it)) => it.write(write, seen),
            (_, Self::Conservative(it)) => it.write(write),
            (_, Self::Interactive(it)) => it.write(write),
            (_, Self::Schedutil(it)) => it.write(write),
            (tunable, Self::Performance | Self::Powersave) => Err(Refused::Unknown(tunable)),
        }
    }

    /// How often it looks while CPUs are busy, for a sweep over the moment at
    /// which a launch begins.
    pub fn period(&self) -> Nanos {
        match self {
            Self::Ondemand(it) => it.period(),
            Self::Conservative(it) => it.period(),
            Self::Interactive(it) => it.period(),
            Self::Schedutil(it) => it.period(),
            Self::Performance | Self::Powersave => Nanos::from_millis(10),
        }
    }

    /// What its file `tunable` holds.
    pub fn value(&self, tunable: Tunable) -> Option<u32> {
        match self {
            Self::Ondemand(it) => it.value(tunable),
            Self::Conservative(it) => it.value(tunable),
            Self::Interactive(it) => it.value(tunable),
            Self::Schedutil(it) => it.value(tunable),
            Self::Performance | Self::Powersave => None,
        }
    }

    /// How often it has looked so far.
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
