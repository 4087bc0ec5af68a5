//! The kernel's file systems that contain knobs.

use std::os::fd::AsFd;

use rustix::fs::fstatfs;

/// The kernel's virtual file systems, identified by the numbers of `statfs(2)`
/// (`include/uapi/linux/magic.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelFs {
    Cgroup,
    Configfs,
    Debugfs,
    Procfs,
    Resctrl,
    Sysfs,
    Tracefs,
}

/// The mount points of the kernel's file systems that have knobs, innermost
/// first.
pub(super) const PLACES: [(&str, KernelFs); 9] = [
    ("/sys/fs/cgroup", KernelFs::Cgroup),
    ("/sys/fs/resctrl", KernelFs::Resctrl),
    ("/sys/kernel/config", KernelFs::Configfs),
    ("/sys/kernel/debug/tracing", KernelFs::Tracefs),
    ("/sys/kernel/debug", KernelFs::Debugfs),
    ("/sys/kernel/tracing", KernelFs::Tracefs),
    ("/sys", KernelFs::Sysfs),
    ("/proc", KernelFs::Procfs),
    // Android has control groups there.
    ("/dev", KernelFs::Cgroup),
];

/// The kernel's file system that contains `opened`, if it has knobs.
pub(super) fn kernel_fs(opened: impl AsFd) -> Option<KernelFs> {
    // The type of `f_type` varies; the numbers have 32 bits everywhere.
    match fstatfs(opened).ok()?.f_type as u32 {
        0x0027_e0eb | 0x6367_7270 => Some(KernelFs::Cgroup),
        0x6265_6570 => Some(KernelFs::Configfs),
        0x6462_6720 => Some(KernelFs::Debugfs),
        0x0000_9fa0 => Some(KernelFs::Procfs),
        0x0765_5821 => Some(KernelFs::Resctrl),
        0x6265_6572 => Some(KernelFs::Sysfs),
        0x7472_6163 => Some(KernelFs::Tracefs),
        _ => None,
    }
}
