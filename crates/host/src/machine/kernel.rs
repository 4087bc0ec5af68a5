//! The running kernel.

use serde::{Deserialize, Serialize};

use super::cpuinfo::CpuInfo;
use super::reader::{Reader, line, one_line};
use crate::error::Result;
use crate::root::Root;

/// The running kernel: `/proc/sys/kernel`, `/proc/cmdline`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`: `/proc/sys/kernel/osrelease`.
    pub release: String,
    /// `uname -v`: `/proc/sys/kernel/version`.
    pub version: String,
    /// `uname -m`: `/proc/sys/kernel/arch`; before Linux 6.1, derived from
    /// `/proc/cpuinfo`.
    pub architecture: String,
    /// `none`, `voluntary`, `full`, `lazy` or `rt`, if it is known.
    pub preemption: Option<String>,
    /// The kernel's boot parameters that affect latency (`isolcpus`,
    /// `nohz_full`, `mitigations` …), as on its command line.
    pub latency_parameters: Vec<String>,
}

/// Boot parameters that affect latency, from
/// `Documentation/admin-guide/kernel-parameters.txt`, with `_` for `-`. A name
/// that ends in a dot stands for every parameter of that module.
const LATENCY_PARAMETERS: &[&str] = &[
    "amd_prefcore",
    "amd_pstate",
    "audit",
    "cgroup_disable",
    "cgroup_no_v1",
    "clocksource",
    "cpufreq.",
    "cpuidle.",
    "cpuidle_haltpoll.",
    "cpuidle_sysfs_switch",
    "default_hugepagesz",
    "haltpoll.",
    "highres",
    "hlt",
    "hpet",
    "hugepages",
    "idle",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "kvm.",
    "lpj",
    "maxcpus",
    "mce",
    "mem",
    "mitigations",
    "nmi_watchdog",
    "no_turbo",
    "nohalt",
    "nohlt",
    "nohz",
    "nohz_full",
    "nopti",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "nr_cpus",
    "numa_balancing",
    "pcie_aspm",
    "preempt",
    "processor.",
    "psi",
    "pti",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate.",
    "rcutree.",
    "relax_domain_level",
    "schedstats",
    "skew_tick",
    "spec_store_bypass_disable",
    "spectre_v2",
    "swapaccount",
    "swiotlb",
    "threadirqs",
    "timer_migration",
    "transparent_hugepage",
    "tsc",
    "watchdog_thresh",
    "workqueue.",
    "zram.",
    "zswap.",
];

/// The file that shows and sets the preemption model, if the kernel can change
/// it.
const PREEMPT_KNOB: &str = "/sys/kernel/debug/sched/preempt";

pub(super) fn read(reader: &mut Reader, cpuinfo: &CpuInfo) -> Kernel {
    let release = line(reader.root(), "/proc/sys/kernel/osrelease");
    let version = line(reader.root(), "/proc/sys/kernel/version");
    let architecture = match line(reader.root(), "/proc/sys/kernel/arch") {
        Ok(None) => Ok(cpuinfo.architecture().map(str::to_owned)),
        found => found,
    };
    let no_proc = "no /proc/sys/kernel: is procfs mounted?";
    let version = reader.wanted("kernel.version", version, no_proc).unwrap_or_default();
    let latency_parameters = latency_parameters(reader.root());
    let latency_parameters = reader
        .wanted("kernel.latency_parameters", latency_parameters, "no /proc/cmdline")
        .unwrap_or_default();
    let preemption = preemption(reader.root(), &version, &latency_parameters);
    Kernel {
        release: reader.wanted("kernel.release", release, no_proc).unwrap_or_default(),
        architecture: reader
            .wanted(
                "kernel.architecture",
                architecture,
                "no /proc/sys/kernel/arch (Linux 6.1), and /proc/cpuinfo lacks it",
            )
            .unwrap_or_default(),
        preemption: reader.wanted(
            "kernel.preemption",
            Ok(preemption),
            "the kernel's version lacks it, and /sys/kernel/debug/sched/preempt \
             needs debugfs and root",
        ),
        version,
        latency_parameters,
    }
}

/// The preemption model: that of the kernel's build according to its version
/// string (`init/Makefile`), else the one chosen at boot or since.
fn preemption(root: &Root, version: &str, parameters: &[String]) -> Option<String> {
    let built_for = |flag: &str| version.split_whitespace().any(|word| word == flag);
    if built_for("PREEMPT_RT") || version.contains("PREEMPT RT") {
        return Some("rt".to_owned());
    }
    // Without root the knob cannot be read, so it counts as absent.
    let knob = root.read_if_there(PREEMPT_KNOB).ok().flatten();
    if let Some(chosen) = knob.as_deref().and_then(in_parentheses) {
        return Some(chosen);
    }
    let at_boot = parameters.iter().rev().find_map(|parameter| parameter.strip_prefix("preempt="));
    match at_boot {
        Some(chosen) if built_for("PREEMPT_DYNAMIC") => Some(chosen.to_owned()),
        _ if built_for("PREEMPT") => Some("full".to_owned()),
        _ => None,
    }
}

/// The word in parentheses: `none voluntary (full)`.
fn in_parentheses(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('(')?;
    let (chosen, _) = rest.split_once(')')?;
    Some(one_line(chosen))
}

fn latency_parameters(root: &Root) -> Result<Option<Vec<String>>> {
    let text = root.read_if_there("/proc/cmdline")?;
    Ok(text.map(|text| keep_latency_parameters(&text)))
}

/// The parameters of a kernel command line that affect latency. Words after `
/// -- ` are for the first process, not for the kernel.
pub(super) fn keep_latency_parameters(text: &str) -> Vec<String> {
    text.split_whitespace()
        .take_while(|&word| word != "--")
        .filter(|word| bears_on_latency(word))
        .map(one_line)
        .collect()
}

fn bears_on_latency(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().replace('-', "_");
    LATENCY_PARAMETERS.iter().any(|known| match known.strip_suffix('.') {
        Some(_) => name.starts_with(known),
        None => name == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parameters_that_bear_on_latency_are_kept() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=7b0c isolcpus=2,3 nohz-full=2,3 quiet \
                    androidboot.serialno=0123 zswap.enabled=1 threadirqs -- --token isolcpus=1";
        assert_eq!(
            keep_latency_parameters(line),
            ["isolcpus=2,3", "nohz-full=2,3", "zswap.enabled=1", "threadirqs"]
        );
    }

    #[test]
    fn the_preemption_model_comes_from_version_knob_or_boot() {
        let root = Root::at("/nowhere");
        let model = |version: &str, parameters: &[&str]| {
            let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
            preemption(&root, version, &parameters)
        };
        assert_eq!(model("#1 SMP PREEMPT_RT Debian 6.12.9", &[]).as_deref(), Some("rt"));
        assert_eq!(model("#1 SMP PREEMPT RT Mon Apr 1", &[]).as_deref(), Some("rt"));
        assert_eq!(model("#1 SMP PREEMPT Mon Apr 1", &["preempt=none"]).as_deref(), Some("full"));
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Mon Apr 1";
        assert_eq!(model(dynamic, &["preempt=lazy"]).as_deref(), Some("lazy"));
        assert_eq!(model(dynamic, &[]), None);
        assert_eq!(model("#1 SMP Mon Apr 1", &[]), None);
        assert_eq!(in_parentheses("none voluntary (full) lazy").as_deref(), Some("full"));
        assert_eq!(in_parentheses("full)("), None);
    }
}
