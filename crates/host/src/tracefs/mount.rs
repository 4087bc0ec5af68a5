//! Finds tracefs, or mounts it privately for this process.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs_core::process::MountInfo;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, open, statfs};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::root::Root;
use crate::support::Support;

/// The mount point of most machines, and of synthetic ones.
const MOUNT_POINT: &str = "/sys/kernel/tracing";
/// `TRACEFS_MAGIC` of `include/uapi/linux/magic.h`.
const MAGIC: u32 = 0x7472_6163;

const NEEDS_ROOT: &str = "tracing needs root (CAP_SYS_ADMIN)";

/// The kernel's trace file system.
///
/// Opening it has no effect on other processes. If it is not mounted, a
/// detached mount is made: it belongs to a file descriptor of this process and
/// to no directory. So the mount table does not change, and the mount ends with
/// the last descriptor.
#[derive(Debug, Clone)]
pub struct Tracefs {
    root: Root,
    base: PathBuf,
    /// The directory of the mount, which stays usable after somebody has unmounted it (`umount -l`).
    /// It keeps a private mount alive. `None` in a synthetic root.
    mount: Option<Arc<OwnedFd>>,
}

impl Tracefs {
    /// Finds tracefs, or returns the reason why tracing is not possible.
    pub fn open(root: &Root) -> Support<Self> {
        if cfg!(target_endian = "big") {
            return Support::no("the trace pages of big-endian kernels are not decoded");
        }
        if !root.is_system() {
            return Self::in_directory(root);
        }
        if is_locked_down(root) {
            return Support::no("kernel lockdown (confidentiality) forbids tracing");
        }
        let mounts = root.read("/proc/self/mountinfo").unwrap_or_default();
        for base in mount_points(&mounts) {
            if is_tracefs(&base) && may_make_instances(&base) {
                let mount = open(&base, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
                let mount = mount.ok().map(Arc::new);
                return Support::Yes(Self { root: root.clone(), base, mount });
            }
        }
        Self::mount_privately(root)
    }

    /// In a synthetic root a plain directory replaces the mount.
    fn in_directory(root: &Root) -> Support<Self> {
        let base = PathBuf::from(MOUNT_POINT);
        if root.exists(base.join("instances")) {
            Support::Yes(Self { root: root.clone(), base, mount: None })
        } else {
            Support::no(format!("{MOUNT_POINT} does not exist"))
        }
    }

    /// Makes a detached mount with `fsopen(2)` and `fsmount(2)`.
    fn mount_privately(root: &Root) -> Support<Self> {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mounted = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|context| {
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        });
        let mount = match mounted {
            Ok(mount) => mount,
            Err(error) => return Support::no(reason(error)),
        };
        let base = path_of(&mount);
        if !may_make_instances(&base) {
            return Support::no(NEEDS_ROOT);
        }
        Support::Yes(Self { root: root.clone(), base, mount: Some(Arc::new(mount)) })
    }

    /// The tree in which the results of [`path`](Self::path) are resolved.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// The path of a file of tracefs, for the methods of [`Root`].
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        match &self.mount {
            Some(mount) if !is_tracefs(&self.base) => path_of(mount).join(name),
            _ => self.base.join(name),
        }
    }
}

/// The path of an open directory for this process.
fn path_of(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// The writable mount points that show tracefs from its root, from the text of
/// `/proc/self/mountinfo`; the usual one comes first.
///
/// Access to `/sys/kernel/debug/tracing` would mount tracefs there, so mount
/// points are taken from this list and no path is tried.
fn mount_points(mountinfo: &str) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = mountinfo
        .lines()
        .filter_map(|line| MountInfo::from_line(line).ok())
        .filter(|mount| mount.fs_type == "tracefs" && mount.root == "/")
        .filter(|mount| !mount.mount_options.contains_key("ro"))
        .map(|mount| mount.mount_point)
        .collect();
    places.sort_by_key(|place| place != Path::new(MOUNT_POINT));
    places
}

/// Whether `place` is tracefs, and not another file system mounted over it.
fn is_tracefs(place: &Path) -> bool {
    statfs(place).is_ok_and(|answer| answer.f_type as u32 == MAGIC)
}

fn may_make_instances(base: &Path) -> bool {
    let needed = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, base.join("instances"), needed, AtFlags::EACCESS).is_ok()
}

/// Whether the kernel forbids opening tracefs: lockdown mode `confidentiality`
/// does (`LOCKDOWN_TRACEFS` of `include/linux/security.h`).
fn is_locked_down(root: &Root) -> bool {
    let mode = root.read_if_there("/sys/kernel/security/lockdown").ok().flatten();
    mode.is_some_and(|modes| modes.contains("[confidentiality]"))
}

fn reason(error: Errno) -> String {
    match error {
        Errno::PERM | Errno::ACCESS => NEEDS_ROOT.to_owned(),
        Errno::NODEV => "this kernel has no tracefs (CONFIG_TRACING)".to_owned(),
        Errno::NOSYS => format!(
            "tracefs is not mounted, and mounting it privately needs Linux 5.2: \
             mount -t tracefs tracefs {MOUNT_POINT}"
        ),
        error => format!("tracefs is not mounted, and cannot be mounted: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
40 23 0:12 / /mnt/trace rw,nosuid shared:20 - tracefs tracefs rw
41 23 0:12 /instances/other /mnt/other rw - tracefs tracefs rw
42 23 0:12 / /mnt/read-only ro,nosuid - tracefs tracefs rw
43 23 0:12 / /sys/kernel/tracing rw,nosuid shared:21 - tracefs tracefs rw
44 23 0:13 / /sys/kernel/debug rw - debugfs debugfs rw
not a line of mountinfo
";

    #[test]
    fn whole_mounts_are_found_the_usual_one_first() {
        assert_eq!(mount_points(MOUNTS), ["/sys/kernel/tracing", "/mnt/trace"].map(PathBuf::from));
        assert!(mount_points("").is_empty());
    }

    #[test]
    fn a_synthetic_machine_has_tracefs_in_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let reason = Tracefs::open(&root);
        assert_eq!(reason.reason(), Some("/sys/kernel/tracing does not exist"));
        std::fs::create_dir_all(dir.path().join("sys/kernel/tracing/instances")).unwrap();
        assert!(Tracefs::open(&root).yes().is_some());
    }

    #[test]
    fn the_reason_names_what_is_missing() {
        assert_eq!(reason(Errno::PERM), "tracing needs root (CAP_SYS_ADMIN)");
        assert_eq!(reason(Errno::NODEV), "this kernel has no tracefs (CONFIG_TRACING)");
        assert!(reason(Errno::NOSYS).contains("Linux 5.2"));
    }

    #[test]
    fn only_the_strict_lockdown_mode_forbids_tracing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert!(!is_locked_down(&root));
        std::fs::create_dir_all(dir.path().join("sys/kernel/security")).unwrap();
        let mode = dir.path().join("sys/kernel/security/lockdown");
        std::fs::write(&mode, "none [integrity] confidentiality\n").unwrap();
        assert!(!is_locked_down(&root));
        std::fs::write(&mode, "none integrity [confidentiality]\n").unwrap();
        assert!(is_locked_down(&root));
    }
}
