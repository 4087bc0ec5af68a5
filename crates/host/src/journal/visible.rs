//! Whether something is gone, or only hidden from this process.
//!
//! In a mount namespace or a chroot, `/proc` and `/sys` can be other
//! directories than the kernel's, or empty ones, beside the same state
//! directory. What is not there counts as gone only where the kernel's own
//! file system would show it.

use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::kernel_fs::{KernelFs, kernel_fs};
use crate::root::Root;

/// Where file systems of the kernel belong, the innermost first, and what they
/// are. Knobs lie in no others.
const PLACES: [(&str, KernelFs); 9] = [
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

/// Why `path` may be there and not be seen; `None` if it would be seen. In a
/// tree that stands for a machine, `/proc`, `/sys` or `/dev` must be there.
pub(super) fn why_hidden(root: &Root, path: &Path) -> Option<String> {
    let (place, kind) = PLACES.into_iter().find(|(place, _)| path.starts_with(place))?;
    if !root.is_system() {
        let top: std::path::PathBuf = path.components().take(2).collect();
        let hidden = || format!("there is no {} in {}", top.display(), root.dir().display());
        return (!root.exists(&top)).then(hidden);
    }
    let nearest = path.ancestors().skip(1).find_map(|above| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        openat(CWD, root.resolve(above), flags, Mode::empty()).ok()
    });
    let is_shown = nearest.is_some_and(|nearest| kernel_fs(nearest) == Some(kind));
    (!is_shown).then(|| format!("the kernel's {place} is not mounted here, so it may be hidden"))
}

/// Whether `path` is where control groups are.
pub(super) fn is_control_group(path: &Path) -> bool {
    let place = PLACES.into_iter().find(|(place, _)| path.starts_with(place));
    place.is_some_and(|(_, kind)| kind == KernelFs::Cgroup)
}

/// The namespace of this process of one `kind`: namespaces(7).
pub(crate) fn namespace(root: &Root, kind: &str) -> Option<String> {
    let name = std::fs::read_link(root.resolve(format!("/proc/self/ns/{kind}"))).ok()?;
    name.into_os_string().into_string().ok()
}

/// Why `/proc` is not that of the running kernel; `None` if it is.
pub(crate) fn why_no_proc(root: &Root, file: &str) -> Option<String> {
    if !root.is_system() {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let is_there = openat(CWD, root.resolve(file), flags, Mode::empty())
        .is_ok_and(|file| kernel_fs(file) == Some(KernelFs::Procfs));
    (!is_there).then(|| format!("{file} is not the kernel's here, so nothing is known"))
}
