//! The phone's file systems, modules, CPUs and end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use unjank_host::Root;
use unjank_host::process::init::{load_module, mount, mount_device, power_off};
use unjank_host::sched::CpuSet;

use crate::error::Result;
use crate::order::Module;

/// Required file systems.
const REQUIRED: [(&str, &str); 4] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")];
/// File systems that a kernel may lack.
const OPTIONAL: [(&str, &str); 5] = [
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
];

/// The longest time until there is a disk.
const TIME_TO_FIND: Duration = Duration::from_secs(60);

/// The longest time that the host takes to end a finished phone.
const TIME_TO_END: Duration = Duration::from_secs(600);

/// Mounts all of them.
pub(super) fn mount_all() -> Result<()> {
    for (kind, target) in REQUIRED {
        mount(kind, target)?;
    }
    for (kind, target) in OPTIONAL {
        let _a_kernel_may_be_without = mount(kind, target);
    }
    Ok(())
}

/// Mounts the disk, once the kernel has found it.
pub(super) fn mount_disk() -> Result<()> {
    const DISK: &str = "/dev/vda";
    let began = Instant::now();
    while !Path::new(DISK).exists() && began.elapsed() < TIME_TO_FIND {
        thread::sleep(Duration::from_millis(10));
    }
    Ok(mount_device(DISK, "ext4", "/data")?)
}

/// Lets control groups limit memory, as systemd and Android's init do. A kernel
/// may lack it.
pub(super) fn enable_memory_control(root: &Root) {
    let _a_kernel_may_be_without = root.write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
}

/// Loads the modules; returns the errors.
pub(super) fn load(modules: &[Module]) -> Vec<String> {
    modules
        .iter()
        .filter_map(|module| load_module(Path::new(&module.file), &module.parameters).err())
        .map(|error| error.to_string())
        .collect()
}

/// Brings up the CPUs on which the kernel has not booted; returns the errors.
pub(super) fn bring_up_cpus(root: &Root) -> Result<Vec<String>> {
    let present: CpuSet = root.read("/sys/devices/system/cpu/present")?.parse()?;
    let online: CpuSet = root.read("/sys/devices/system/cpu/online")?.parse()?;
    let missing = present.iter().filter(|&cpu| !online.contains(cpu));
    let bring_up = |cpu| root.write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1").err();
    Ok(missing.filter_map(bring_up).map(|error| error.to_string()).collect())
}

/// Sets the device's tunables of the governor, for all policies that have them;
/// returns the errors.
pub(super) fn tune(root: &Root, tunables: &BTreeMap<String, i64>) -> Vec<String> {
    const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
    let policies = root.list(CPUFREQ).unwrap_or_default();
    let own = policies.iter().filter(|name| name.starts_with("policy"));
    let places: Vec<PathBuf> =
        own.map(|name| Path::new(CPUFREQ).join(name)).chain([CPUFREQ.into()]).collect();
    let mut complaints = Vec::new();
    for (file, value) in tunables {
        let existing: Vec<PathBuf> =
            places.iter().map(|place| place.join(file)).filter(|path| root.exists(path)).collect();
        if existing.is_empty() {
            complaints.push(format!("the governor has no {file}"));
        }
        let wrong = existing.iter().filter_map(|path| root.write(path, &value.to_string()).err());
        complaints.extend(wrong.map(|error| error.to_string()));
    }
    complaints
}

/// Waits for the host to end the phone; powers off if the host does not.
pub(super) fn wait_for_the_end() {
    thread::sleep(TIME_TO_END);
    let _init_returns_then = power_off();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tunables_are_set_in_every_policy_that_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let cpufreq = dir.path().join("sys/devices/system/cpu/cpufreq");
        for place in ["policy0/ondemand", "policy4/schedutil"] {
            fs::create_dir_all(cpufreq.join(place)).unwrap();
        }
        let rate = cpufreq.join("policy0/ondemand/sampling_rate");
        fs::write(&rate, "8000\n").unwrap();
        let tunables = BTreeMap::from([
            ("ondemand/sampling_rate".to_owned(), 100_000),
            ("ondemand/nothing".to_owned(), 1),
        ]);
        let complaints = tune(&Root::at(dir.path()), &tunables);
        assert_eq!(complaints, ["the governor has no ondemand/nothing"]);
        assert_eq!(fs::read_to_string(rate).unwrap(), "100000");
    }
}
