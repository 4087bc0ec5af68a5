//! The processor: its CPUs, and the resources that they share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cpuinfo::CpuInfo;
use super::reader::Reader;
use super::status;
use crate::error::{Error, Result};
use crate::root::Root;
use crate::sched::CpuSet;

const CPU: &str = "/sys/devices/system/cpu";

/// The processor: `/proc/cpuinfo`, `/sys/devices/system/cpu`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// The processor's own name; on ARM the names of its core designs, joined
    /// by ` + `.
    pub model: String,
    /// The number of online CPUs.
    pub online: usize,
    /// Offline CPUs, as a list.
    pub offline: Option<String>,
    /// CPUs that this process may use, as a list (`0-3,8`):
    /// `Cpus_allowed_list` of `/proc/self/status`.
    pub allowed: String,
    /// CPUs without load balancing by the scheduler (`isolcpus`), as a list.
    pub isolated: Option<String>,
    /// The online CPUs, in ascending order.
    pub cpus: Vec<CpuTopology>,
}

/// One online CPU: `/sys/devices/system/cpu/cpu*/topology`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTopology {
    /// The kernel's number of the CPU, from 0.
    pub cpu: usize,
    /// Package (socket); −1 if the firmware does not report it.
    pub package: i64,
    /// Cluster within the package, if the machine has clusters.
    pub cluster: Option<i64>,
    /// Core within the package. If the firmware does not report it, several
    /// cores may have the same number: use [`siblings`](Self::siblings).
    pub core: i64,
    /// The core's design, if the architecture reports it (ARM): `Cortex-A55`.
    pub design: Option<String>,
    /// Relative capacity, 1024 for the biggest CPU of the machine
    /// (`cpu_capacity`), if the kernel knows it.
    pub capacity: Option<u32>,
    /// CPUs of the same core, as a list that includes itself.
    pub siblings: String,
    /// CPUs that share the last-level cache, as a list.
    pub last_level_cache: Option<String>,
    /// NUMA node.
    pub node: Option<usize>,
}

impl Cpu {
    /// The number of cores of the online CPUs.
    pub fn cores(&self) -> usize {
        self.cpus.iter().map(|cpu| cpu.siblings.as_str()).collect::<BTreeSet<_>>().len()
    }
}

pub(super) fn read(reader: &mut Reader, info: &CpuInfo) -> Cpu {
    let list = |name: &str| cpu_list(reader.root(), &Path::new(CPU).join(name));
    let (online, offline, isolated) = (list("online"), list("offline"), list("isolated"));
    let online = reader
        .wanted("cpu.online", online, "no /sys/devices/system/cpu/online: is sysfs mounted?")
        .unwrap_or_default();
    let offline = reader.optional("cpu.offline", offline);
    let isolated = reader.optional("cpu.isolated", isolated);
    let allowed = reader.wanted(
        "cpu.allowed",
        allowed(reader.root()),
        "no Cpus_allowed_list in /proc/self/status",
    );
    let nodes = numa_nodes(reader.root());
    let nodes = reader.optional("cpu.cpus.node", nodes).unwrap_or_default();
    let cpus: Vec<CpuTopology> = online
        .iter()
        .map(|cpu| CpuTopology { node: nodes.get(&cpu).copied(), ..one_cpu(reader, info, cpu) })
        .collect();
    let model = reader.wanted("cpu.model", Ok(model(info, &cpus)), "/proc/cpuinfo has no name");
    Cpu {
        model: model.unwrap_or_default(),
        online: online.len(),
        offline: as_list(offline),
        allowed: allowed.map(|cpus| cpus.to_string()).unwrap_or_default(),
        isolated: as_list(isolated),
        cpus,
    }
}

/// The core designs if they are known: an ARM processor's own name (`ARMv7
/// Processor rev 1`) is less specific.
fn model(info: &CpuInfo, cpus: &[CpuTopology]) -> Option<String> {
    let mut designs: Vec<&str> = Vec::new();
    for design in cpus.iter().filter_map(|cpu| cpu.design.as_deref()) {
        if !designs.contains(&design) {
            designs.push(design);
        }
    }
    if designs.is_empty() { info.name().map(str::to_owned) } else { Some(designs.join(" + ")) }
}

fn one_cpu(reader: &mut Reader, info: &CpuInfo, cpu: usize) -> CpuTopology {
    let dir = Path::new(CPU).join(format!("cpu{cpu}"));
    let topology = dir.join("topology");
    let root = reader.root();
    let id = |name: &str| root.read_number_if_there::<i64>(topology.join(name));
    let (package, core, cluster) = (id("physical_package_id"), id("core_id"), id("cluster_id"));
    let siblings = match cpu_list(root, &topology.join("core_cpus_list")) {
        // The name before Linux 5.3.
        Ok(None) => cpu_list(root, &topology.join("thread_siblings_list")),
        found => found,
    };
    let capacity = root.read_number_if_there(dir.join("cpu_capacity"));
    let cache = last_level_cache(root, &dir.join("cache"));
    CpuTopology {
        cpu,
        package: reader.optional("cpu.cpus.package", package).unwrap_or(-1),
        cluster: reader.optional("cpu.cpus.cluster", cluster).filter(|&id| names_a_cluster(id)),
        core: reader.optional("cpu.cpus.core", core).unwrap_or(-1),
        design: info.core_name(cpu),
        capacity: reader.optional("cpu.cpus.capacity", capacity),
        siblings: reader
            .wanted("cpu.cpus.siblings", siblings, "the kernel describes no CPU topology")
            .unwrap_or_else(|| CpuSet::new([cpu]))
            .to_string(),
        last_level_cache: reader
            .wanted(
                "cpu.cpus.last_level_cache",
                cache,
                "the kernel describes no caches, as is usual on older ARM",
            )
            .map(|cpus| cpus.to_string()),
        node: None,
    }
}

/// Firmware without clusters reports −1 on ARM, and the invalid APIC number
/// 65535 on x86.
fn names_a_cluster(id: i64) -> bool {
    (0..0xffff).contains(&id)
}

/// The CPUs that share the cache of the highest level, other than an
/// instruction cache.
fn last_level_cache(root: &Root, dir: &Path) -> Result<Option<CpuSet>> {
    let mut last: Option<(u32, CpuSet)> = None;
    for index in root.list(dir)?.iter().filter(|name| name.starts_with("index")) {
        let index = dir.join(index);
        let level: Option<u32> = root.read_number_if_there(index.join("level"))?;
        let kind = root.read_if_there(index.join("type"))?;
        let shared = cpu_list(root, &index.join("shared_cpu_list"))?;
        if let (Some(level), Some(kind), Some(shared)) = (level, kind, shared)
            && kind != "Instruction"
            && last.as_ref().is_none_or(|(highest, _)| level > *highest)
        {
            last = Some((level, shared));
        }
    }
    Ok(last.map(|(_, cpus)| cpus))
}

/// The NUMA node of each CPU.
fn numa_nodes(root: &Root) -> Result<Option<BTreeMap<usize, usize>>> {
    let dir = Path::new("/sys/devices/system/node");
    let mut nodes = BTreeMap::new();
    for name in root.list(dir)? {
        let number = name.strip_prefix("node").and_then(|number| number.parse::<usize>().ok());
        let Some(node) = number else { continue };
        let cpus = cpu_list(root, &dir.join(&name).join("cpulist"))?.unwrap_or_default();
        nodes.extend(cpus.iter().map(|cpu| (cpu, node)));
    }
    Ok(Some(nodes))
}

/// The CPUs that this process may use: as `sched_getaffinity(2)`, but also for
/// a recorded machine.
fn allowed(root: &Root) -> Result<Option<CpuSet>> {
    let Some(status) = status::read(root)? else { return Ok(None) };
    let list = status::field(&status, "Cpus_allowed_list");
    list.map(|list| parse_list(list, Path::new("/proc/self/status"))).transpose()
}

/// The list of CPUs in the file `path`.
fn cpu_list(root: &Root, path: &Path) -> Result<Option<CpuSet>> {
    root.read_if_there(path)?.map(|text| parse_list(&text, path)).transpose()
}

/// Parses a list of CPUs from the file `path`.
pub(super) fn parse_list(list: &str, path: &Path) -> Result<CpuSet> {
    list.parse::<CpuSet>().map_err(|error| Error::parse(path, 1, error.to_string()))
}

fn as_list(cpus: Option<CpuSet>) -> Option<String> {
    cpus.filter(|cpus| !cpus.is_empty()).map(|cpus| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_number_that_means_none_is_ignored() {
        assert!(names_a_cluster(0));
        assert!(!names_a_cluster(-1));
        assert!(!names_a_cluster(65_535));
    }

    #[test]
    fn cores_are_counted_by_their_siblings() {
        let cpu = |cpu, siblings: &str| CpuTopology {
            cpu,
            core: 0,
            siblings: siblings.to_owned(),
            ..CpuTopology::default()
        };
        let smt = Cpu {
            cpus: vec![cpu(0, "0-1"), cpu(1, "0-1"), cpu(2, "2-3"), cpu(3, "2-3")],
            ..Cpu::default()
        };
        assert_eq!(smt.cores(), 2);
    }
}
