//! Distinguishes a file that is gone from one that is hidden from this process.
//!
//! In a mount namespace or a chroot with the same state directory, `/proc` and
//! `/sys` can be empty, or other directories than the kernel's. A missing file
//! counts as gone only if the kernel's own file system would show it.

use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::covered::why_covered;
use super::kernel_fs::{KernelFs, PLACES, kernel_fs};
use crate::root::Root;

/// Why `path` may exist without being visible; `None` if it would be visible.
/// In a tree that stands for a machine, `/proc`, `/sys` or `/dev` must exist.
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

/// Whether `path` lies in a file system of control groups.
pub(super) fn is_control_group(path: &Path) -> bool {
    let place = PLACES.into_iter().find(|(place, _)| path.starts_with(place));
    place.is_some_and(|(_, kind)| kind == KernelFs::Cgroup)
}

/// Whether `path`, without symbolic links, shows content of this process's network
/// namespace: its devices and its settings.
pub(super) fn is_of_network(path: &Path) -> bool {
    let is_device = path.starts_with("/sys/class/net")
        || path.starts_with("/sys/devices") && path.iter().any(|name| name == "net");
    is_device || path.starts_with("/proc/sys/net")
}

/// This process's namespace of one `kind`: namespaces(7).
pub(crate) fn namespace(root: &Root, kind: &str) -> Option<String> {
    let name = std::fs::read_link(root.resolve(format!("/proc/self/ns/{kind}"))).ok()?;
    name.into_os_string().into_string().ok()
}

/// Why `file` in `/proc` is not the running kernel's; `None` if it is.
pub(crate) fn why_no_proc(root: &Root, file: &str) -> Option<String> {
    if !root.is_system() {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = openat(CWD, root.resolve(file), flags, Mode::empty()).ok();
    let opened = opened.filter(|opened| kernel_fs(opened) == Some(KernelFs::Procfs));
    let covered = opened.as_ref().map(|opened| why_covered(opened, Path::new(file)));
    let why = match covered {
        Some(None) => return None,
        Some(Some(covered)) => format!(" ({covered})"),
        None => String::new(),
    };
    Some(format!("{file} is not the kernel's here{why}, so nothing can be determined"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_settings_of_the_network_have_a_namespace() {
        for path in [
            "/proc/sys/net/ipv4/tcp_ecn",
            "/sys/class/net/lo/mtu",
            "/sys/devices/virtual/net/lo/mtu",
            "/sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/mtu",
        ] {
            assert!(is_of_network(Path::new(path)), "{path}");
        }
        for path in ["/proc/sys/vm/swappiness", "/sys/module/net/x", "/proc/sys/netx"] {
            assert!(!is_of_network(Path::new(path)), "{path}");
        }
    }
}
