//! What this machine is: everything about it that changes how long things
//! take, read once at the start of a run and kept in its record.
//!
//! Absent features are `None`, and [`Machine::unsupported`] says why. Reading
//! never fails as a whole: one unreadable file costs one field.

use serde::{Deserialize, Serialize};

use crate::support::Unsupported;
use crate::units::{Bytes, Hertz, Nanos};

/// A description of one machine, as a run record carries it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The kernel that runs.
    pub kernel: Kernel,
    /// The processor and its CPUs.
    pub cpu: Cpu,
    /// One entry per cpufreq policy; empty where the kernel has no cpufreq driver.
    pub frequency: Vec<FrequencyPolicy>,
    /// Idle states, if the kernel has a cpuidle driver.
    pub idle: Option<Idle>,
    /// What real-time threads may do.
    pub realtime: RealtimeLimits,
    /// Effective capabilities by name (`CAP_SYS_NICE` …), all of them for root.
    pub capabilities: Vec<String>,
    /// The cgroup this process runs in.
    pub cgroup: Option<Cgroup>,
    /// Memory, swap devices and compressed swap.
    pub memory: Memory,
    /// Pressure stall information at the start of the run.
    pub pressure: Option<Pressure>,
    /// Under what this machine runs, if it is not the hardware itself.
    pub virtualisation: Virtualisation,
    /// The clock source behind `CLOCK_MONOTONIC`.
    pub clock: ClockSource,
    /// What could not be read, and why.
    pub unsupported: Vec<Unsupported>,
}

/// The running kernel: `/proc/sys/kernel`, `/proc/version`, `/proc/cmdline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `uname -m`.
    pub architecture: String,
    /// `none`, `voluntary`, `full`, `lazy` or `rt`, where it can be told.
    pub preemption: Option<String>,
    /// The kernel's boot parameters that bear on latency (`isolcpus`,
    /// `nohz_full`, `mitigations` …), as they stand on its command line.
    pub latency_parameters: Vec<String>,
}

/// The processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// The name that the processor or the device tree gives.
    pub model: String,
    /// CPUs that are online.
    pub online: usize,
    /// CPUs that this process may use, as a list (`0-3,8`).
    pub allowed: String,
    /// The online CPUs, in ascending order.
    pub cpus: Vec<CpuTopology>,
}

/// One online CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTopology {
    /// Its number.
    pub cpu: usize,
    /// Package (socket).
    pub package: i64,
    /// Cluster within the package, where the architecture has them.
    pub cluster: Option<i64>,
    /// Core within the package.
    pub core: i64,
    /// Relative capacity, 1024 for the biggest CPU of the machine
    /// (`cpu_capacity`), where the kernel knows it.
    pub capacity: Option<u32>,
    /// CPUs of the same core, as a list, itself included.
    pub siblings: String,
    /// CPUs that share the last-level cache, as a list.
    pub last_level_cache: Option<String>,
    /// NUMA node.
    pub node: Option<usize>,
}

/// One cpufreq policy: CPUs that share a clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequencyPolicy {
    /// The directory below `/sys/devices/system/cpu/cpufreq`: `policy0`.
    pub name: String,
    /// The CPUs, as a list.
    pub cpus: String,
    /// `scaling_driver`: `acpi-cpufreq`, `intel_pstate`, `amd-pstate-epp` …
    pub driver: String,
    /// `scaling_governor`: `schedutil`, `ondemand`, `walt` …
    pub governor: String,
    /// Governors that could be chosen.
    pub available_governors: Vec<String>,
    /// The hardware's lowest frequency.
    pub hardware_min: Hertz,
    /// The hardware's highest frequency.
    pub hardware_max: Hertz,
    /// The lowest frequency allowed now (`scaling_min_freq`).
    pub min: Hertz,
    /// The highest frequency allowed now (`scaling_max_freq`).
    pub max: Hertz,
    /// Energy/performance preference, where the driver has it.
    pub epp: Option<String>,
    /// The governor's tunables as name and value, e.g. `sampling_rate`.
    pub tunables: std::collections::BTreeMap<String, String>,
}

/// The cpuidle driver, governor and states of the first CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// `current_driver`.
    pub driver: String,
    /// `current_governor_ro`.
    pub governor: String,
    /// The states, shallowest first.
    pub states: Vec<IdleState>,
}

/// One idle state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// Its name: `POLL`, `C1`, `WFI` …
    pub name: String,
    /// Time to leave it.
    pub exit_latency: Nanos,
    /// Shortest stay that saves energy.
    pub residency: Nanos,
    /// Switched off on at least one CPU.
    pub disabled: bool,
}

/// What real-time threads may do: `sched(7)`, `getrlimit(2)`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RealtimeLimits {
    /// `sched_rt_period_us`.
    pub period: Option<Nanos>,
    /// `sched_rt_runtime_us`; `None` where throttling is off (−1) or unknown.
    pub runtime: Option<Nanos>,
    /// Whether the kernel throttles real-time threads at all.
    pub throttled: bool,
    /// `RLIMIT_RTPRIO`: the highest priority an unprivileged thread may take;
    /// `None` is unlimited.
    pub rtprio: Option<u64>,
    /// `RLIMIT_NICE`, as the nice value it allows (−20 … 19).
    pub nice: Option<i64>,
    /// `RLIMIT_MEMLOCK`; `None` is unlimited.
    pub memlock: Option<Bytes>,
}

/// The cgroup that this process runs in, and what it is limited to there.
/// A limit is the tightest one on the way up to the root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// 1 or 2: the hierarchy that holds the CPU controller.
    pub version: u8,
    /// The path within that hierarchy.
    pub path: String,
    /// CPU time per wall time (2.5 = two and a half CPUs); `None` is unlimited.
    pub cpu_quota: Option<f64>,
    /// The period over which the quota is counted.
    pub cpu_period: Option<Nanos>,
    /// Periods in which this cgroup was throttled, since it was made.
    pub throttled_periods: Option<u64>,
    /// Memory limit; `None` is unlimited.
    pub memory_limit: Option<Bytes>,
    /// Memory used against that limit.
    pub memory_used: Option<Bytes>,
}

/// Memory and swap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// The size of a page.
    pub page: Bytes,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// `vm.page-cluster`: swap readahead is 2 to this power, in pages.
    pub page_cluster: Option<u32>,
    /// Whether the multi-generational LRU is on.
    pub mglru: Option<bool>,
    /// Active swap devices, highest priority first.
    pub swap: Vec<SwapDevice>,
    /// zram devices that have a size.
    pub zram: Vec<Zram>,
    /// zswap, if the kernel has it.
    pub zswap: Option<Zswap>,
}

/// One line of `/proc/swaps`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwapDevice {
    /// The device or file.
    pub path: String,
    /// What stands behind it.
    pub kind: SwapKind,
    /// Its size.
    pub size: Bytes,
    /// How much of it is in use.
    pub used: Bytes,
    /// Its priority; higher ones fill first.
    pub priority: i64,
}

/// What a swap device keeps its pages on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapKind {
    /// Compressed memory.
    Zram,
    /// A partition or whole block device without moving parts, or unknown.
    #[default]
    Disk,
    /// A block device that says it rotates.
    RotatingDisk,
    /// A file on a file system.
    File,
}

/// One zram device: `/sys/block/zram*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Zram {
    /// `zram0` …
    pub name: String,
    /// `disksize`.
    pub size: Bytes,
    /// The compression algorithm in use.
    pub algorithm: String,
    /// Bytes stored, before compression (`mm_stat`).
    pub original: Bytes,
    /// Memory it takes in all.
    pub memory: Bytes,
    /// The device it writes cold pages to, if any.
    pub backing_device: Option<String>,
}

/// zswap: `/sys/module/zswap/parameters`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Zswap {
    /// Whether it is switched on.
    pub enabled: bool,
    /// The compression algorithm.
    pub compressor: String,
    /// The largest share of memory it may take, in percent.
    pub max_pool_percent: Option<u32>,
}

/// Pressure stall information: `/proc/pressure`,
/// `Documentation/accounting/psi.rst`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu: Stall,
    /// Waiting for memory.
    pub memory: Stall,
    /// Waiting for I/O.
    pub io: Stall,
}

/// One pressure file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// Share of the last 10 s in which some task waited, in percent.
    pub some_avg10: f64,
    /// Share of the last 10 s in which all tasks waited, in percent.
    pub full_avg10: f64,
    /// Total time in which some task waited, since boot.
    pub some_total: Nanos,
    /// Total time in which all tasks waited, since boot.
    pub full_total: Nanos,
}

/// What this machine runs under.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualisation {
    /// The hypervisor (`kvm`, `xen`, `vmware` …), `None` on hardware.
    pub hypervisor: Option<String>,
    /// The container (`docker`, `lxc` …), `None` outside one.
    pub container: Option<String>,
    /// Share of all CPU time since boot that the hypervisor gave to others
    /// while this machine had work, in percent.
    pub steal_percent: Option<f64>,
}

/// `/sys/devices/system/clocksource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockSource {
    /// The source in use.
    pub current: String,
    /// The sources that could be used.
    pub available: Vec<String>,
}
