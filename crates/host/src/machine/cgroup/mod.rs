//! The cgroup of this process, and its limits.

mod hierarchy;
mod limits;
mod throttled_times;
mod throttling;

use serde::{Deserialize, Serialize};

pub(crate) use hierarchy::{Hierarchies, Location, unescape};
pub(super) use limits::memory_left;
#[cfg(fuzzing)]
pub(crate) use limits::parse_cpu_max;
pub use throttled_times::{ThrottledGroup, ThrottledTimes};
pub use throttling::{Throttling, throttling};

use super::reader::{Reader, one_line};
use unjank_units::{Bytes, Nanos};

/// The cgroup of this process, and its limits:
/// `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/` and
/// `Documentation/scheduler/sched-bwc.rst`. A limit is the tightest one of the
/// cgroup and its ancestors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// 1 or 2: the hierarchy that holds the CPU controller.
    pub version: u8,
    /// The path within that hierarchy.
    pub path: String,
    /// The path within the hierarchy that holds the memory controller.
    pub memory_path: String,
    /// The path within the hierarchy that holds the CPU sets: `/top-app` for
    /// the application in the foreground on Android.
    pub cpuset_path: String,
    /// CPU time per wall time (2.5 = two and a half CPUs); `None` is unlimited.
    pub cpu_quota: Option<f64>,
    /// The period over which the quota is counted.
    pub cpu_period: Option<Nanos>,
    /// Periods in which the cgroup with the tightest quota was throttled, since
    /// its creation.
    pub throttled_periods: Option<u64>,
    /// CPU time that real-time threads of this cgroup may use in each period
    /// (`cpu.rt_runtime_us`); only version 1 on a kernel with
    /// `CONFIG_RT_GROUP_SCHED` has it. Zero: no thread may become real-time.
    pub realtime_runtime: Option<Nanos>,
    /// The lower clamp on the utilisation of this cgroup's threads, in percent
    /// of the biggest CPU (`cpu.uclamp.min`), on a kernel with utilisation
    /// clamping.
    pub uclamp_min: Option<f64>,
    /// The upper clamp, in percent (`cpu.uclamp.max`).
    pub uclamp_max: Option<f64>,
    /// Memory limit; `None` is unlimited.
    pub memory_limit: Option<Bytes>,
    /// Memory above which the cgroup is throttled and reclaimed
    /// (`memory.high`); `None` is unlimited.
    pub memory_high: Option<Bytes>,
    /// Memory used by the cgroup that has the limit; without one, by this
    /// process's cgroup.
    pub memory_used: Option<Bytes>,
    /// Limit of swapped-out memory (`memory.swap.max`); `None` is unlimited.
    pub swap_limit: Option<Bytes>,
}

pub(super) fn read(reader: &mut Reader) -> Option<Cgroup> {
    let hierarchies = Hierarchies::read(reader.root());
    let hierarchies =
        reader.wanted("cgroup", hierarchies, "no /proc/self/cgroup: a kernel without cgroups")?;
    let cpu = reader.wanted("cgroup", Ok(hierarchies.of("cpu")), "no CPU controller is in use")?;
    let mut cgroup = Cgroup { version: cpu.version, ..Cgroup::default() };
    let quota = limits::cpu(reader.root(), &cpu);
    if let Some(quota) = reader.optional("cgroup.cpu_quota", quota) {
        cgroup.cpu_quota = Some(quota.cpus);
        cgroup.cpu_period = Some(quota.period);
        cgroup.throttled_periods = quota.throttled;
    }
    let realtime = limits::realtime_runtime(reader.root(), &cpu);
    cgroup.realtime_runtime = reader.optional("cgroup.realtime_runtime", realtime);
    let clamps = limits::clamps(reader.root(), &cpu).map(Some);
    (cgroup.uclamp_min, cgroup.uclamp_max) =
        reader.optional("cgroup.uclamp_min", clamps).unwrap_or_default();
    cgroup.path = one_line(&cpu.path);
    if let Some(location) = hierarchies.of("memory") {
        let memory = limits::memory(reader.root(), &location).map(Some);
        let memory = reader.optional("cgroup.memory_limit", memory).unwrap_or_default();
        cgroup.memory_limit = memory.limit;
        cgroup.memory_high = memory.high;
        cgroup.memory_used = memory.used;
        cgroup.swap_limit = memory.swap;
        cgroup.memory_path = one_line(&location.path);
    }
    if let Some(location) = hierarchies.of("cpuset") {
        cgroup.cpuset_path = one_line(&location.path);
    }
    Some(cgroup)
}
