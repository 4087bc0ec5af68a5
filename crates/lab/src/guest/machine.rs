//! The phone's file systems, modules and end.

use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::Root;
use unjank_host::first_process::{load_module, mount, power_off};
use unjank_host::sched::CpuSet;

use crate::error::Result;
use crate::order::Module;

/// File systems without which there is nothing to do.
const NEEDED: [(&str, &str); 4] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")];
/// And those that a kernel may be without.
const WELCOME: [(&str, &str); 5] = [
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
];

/// How long the host takes at most to end a phone that is done.
const PATIENCE: Duration = Duration::from_secs(10);

/// Mounts all of them.
pub(super) fn mount_all() -> Result<()> {
    for (kind, target) in NEEDED {
        mount(kind, target)?;
    }
    for (kind, target) in WELCOME {
        let _a_kernel_may_be_without = mount(kind, target);
    }
    Ok(())
}

/// Loads the modules, and says which could not be.
pub(super) fn load(modules: &[Module]) -> Vec<String> {
    modules
        .iter()
        .filter_map(|module| load_module(Path::new(&module.file), &module.parameters).err())
        .map(|error| error.to_string())
        .collect()
}

/// Brings up all CPUs: the kernel has booted on one. Says which could not be.
pub(super) fn bring_up_cpus(root: &Root) -> Result<Vec<String>> {
    let present: CpuSet = root.read("/sys/devices/system/cpu/present")?.parse()?;
    let online: CpuSet = root.read("/sys/devices/system/cpu/online")?.parse()?;
    let missing = present.iter().filter(|&cpu| !online.contains(cpu));
    let bring_up = |cpu| root.write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1").err();
    Ok(missing.filter_map(bring_up).map(|error| error.to_string()).collect())
}

/// Waits for the host, which ends the phone when all is said; ends it itself
/// if the host does not.
pub(super) fn wait_for_the_end() {
    thread::sleep(PATIENCE);
    let _init_returns_then = power_off();
}
