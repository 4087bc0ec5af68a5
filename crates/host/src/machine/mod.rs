//! The description of the machine: all properties that affect times, read once
//! at the start of a run and stored in its record.
//!
//! Absent features are `None`, with the reason in [`Machine::unsupported`].
//! Reading never fails as a whole: an unreadable file affects one field.
//!
//! | module | subject, its type and its reader |
//! |---|---|
//! | `kernel` | release, preemption, boot parameters |
//! | `topology` | CPUs, cores, caches; with `cpuinfo` and `arm_core` |
//! | `cpufreq` | frequency policies, governors and their tunables |
//! | `idle` | idle states |
//! | `realtime`, `capabilities` | permissions of this process |
//! | `cgroup` | quotas and limits, version 1, 2 and both |
//! | `memory` | memory and swap settings; with `meminfo` and `auxv` |
//! | [`swap`], [`zram`], `zswap` | swap devices and compressed swap |
//! | [`pressure`] | pressure stall information |
//! | `virtualisation`, `device` | hypervisor and container, and the machine's name |
//! | `clock_source` | the clock behind `CLOCK_MONOTONIC` |
//! | [`VmStat`], [`CpuTime`], [`MemInfo`] | counters for probes |
//! | `residency` | times of frequencies and of idle CPUs, for energy |
//! | `private` | removes private content from recordings |

mod arm_core;
mod auxv;
pub(crate) mod capabilities;
pub(crate) mod cgroup;
mod clock_source;
mod cpu_time;
mod cpufreq;
mod cpuinfo;
mod device;
#[cfg(fuzzing)]
pub mod fuzzing;
mod idle;
mod kernel;
mod meminfo;
mod memory;
pub mod pressure;
mod private;
mod reader;
mod realtime;
mod residency;
mod status;
mod summary;
pub mod swap;
mod topology;
mod virtualisation;
mod vmstat;
pub mod zram;
mod zswap;

use serde::{Deserialize, Serialize};

pub use cgroup::{Cgroup, ThrottledGroup, ThrottledTimes, Throttling, throttling};
pub use clock_source::ClockSource;
pub use cpu_time::CpuTime;
pub use cpufreq::FrequencyPolicy;
pub use idle::{Idle, IdleState};
pub use kernel::Kernel;
pub use meminfo::MemInfo;
pub use memory::{Memory, available as available_memory};
pub use pressure::{Pressure, Stall};
pub use realtime::RealtimeLimits;
pub use residency::{IdleUse, frequency_policies, idle_times, idle_uses, time_in_state};
pub use swap::{SwapDevice, SwapKind};
pub use topology::{Cpu, CpuTopology};
pub use virtualisation::Virtualisation;
pub use vmstat::VmStat;
pub use zram::Zram;
pub use zswap::Zswap;

use crate::recording::Recording;
use crate::root::Root;
use crate::support::{Support, Unsupported};
use cpuinfo::CpuInfo;
use device::Dmi;
use reader::Reader;

/// A description of one machine, as a run record holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The maker's name of the machine: `sys_vendor` and `product_name` of
    /// `/sys/class/dmi/id`, `model` of the device tree, or the board that an
    /// old ARM kernel names.
    pub device: Option<String>,
    /// The kernel: release, architecture, preemption, boot parameters.
    pub kernel: Kernel,
    /// The processor and its CPUs.
    pub cpu: Cpu,
    /// One entry per cpufreq policy; empty if the kernel has no cpufreq driver.
    pub frequency: Vec<FrequencyPolicy>,
    /// Idle states, if the kernel has a cpuidle driver.
    pub idle: Option<Idle>,
    /// Limits on real-time threads.
    pub realtime: RealtimeLimits,
    /// Effective capabilities by name (`CAP_SYS_NICE` …); root has all of them.
    pub capabilities: Vec<String>,
    /// The cgroup of this process.
    pub cgroup: Option<Cgroup>,
    /// Memory, swap devices and compressed swap.
    pub memory: Memory,
    /// Pressure stall information at the start of the run.
    pub pressure: Option<Pressure>,
    /// The hypervisor and the container, if any.
    pub virtualisation: Virtualisation,
    /// The clock source behind `CLOCK_MONOTONIC`.
    pub clock: ClockSource,
    /// The fields that could not be read, with reasons.
    pub unsupported: Vec<Unsupported>,
}

impl Machine {
    /// Reads the machine that `root` stands for. Takes some milliseconds, as
    /// every CPU has a few dozen small files.
    pub fn read(root: &Root) -> Self {
        let mut reader = Reader::new(root);
        let info = CpuInfo::read(root).map(Some);
        let info = reader.optional("cpu", info).unwrap_or_default();
        let dmi = Dmi::read(root).map(Some);
        let dmi = reader.optional("device", dmi).unwrap_or_default();
        let device = device::name(root, &dmi, &info);
        let device = reader.wanted("device", device, "neither DMI nor a device tree names it");

        let kernel = kernel::read(&mut reader, &info);
        let cpu = topology::read(&mut reader, &info);
        let online: Vec<usize> = cpu.cpus.iter().map(|cpu| cpu.cpu).collect();
        let pressure = pressure::read(root).unwrap_or_else(|error| Support::no(error.to_string()));
        Self {
            device,
            kernel,
            frequency: cpufreq::read(&mut reader, &online),
            idle: idle::read(&mut reader, &online),
            cpu,
            realtime: realtime::read(&mut reader),
            capabilities: capabilities::read(&mut reader),
            cgroup: cgroup::read(&mut reader),
            memory: memory::read(&mut reader),
            pressure: reader.supported("pressure", pressure),
            virtualisation: virtualisation::read(&mut reader, &info, &dmi),
            clock: clock_source::read(&mut reader),
            unsupported: reader.finish(),
        }
    }

    /// Whether the machine itself was read. If not, only its kernel is known,
    /// from another tool, and everything else is unknown rather than absent.
    pub fn is_read(&self) -> bool {
        self.cpu.online > 0
    }

    /// Reads only the frequency policies of the machine that `root` stands for,
    /// which takes a fraction of the time.
    pub fn clocks(root: &Root) -> Vec<FrequencyPolicy> {
        let mut reader = Reader::new(root);
        let info = reader.optional("cpu", CpuInfo::read(root).map(Some)).unwrap_or_default();
        let cpu = topology::read(&mut reader, &info);
        let online: Vec<usize> = cpu.cpus.iter().map(|cpu| cpu.cpu).collect();
        cpufreq::read(&mut reader, &online)
    }

    /// Reads the machine, and keeps a copy of the files, which [`Root::at`]
    /// reads after they are written. The copy omits content that is not needed
    /// to read it the same way: serial numbers, other boot parameters, other
    /// environment variables, other mounts.
    pub fn record(root: &Root) -> (Self, Recording) {
        let recording = Recording::new();
        let machine = Self::read(&root.recorded_by(&recording));
        recording.filter(private::keep);
        (machine, recording)
    }
}
