//! Detects a knob that another mount covers: its path then shows another file
//! than the kernel's.
//!
//! A bind mount can show one file of the kernel in the place of another, or an
//! empty directory in the place of a full one. So the place of a file within its
//! file system (from `/proc/self/mountinfo`) must be the one that its path says.

use std::fs::read_to_string;
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};

use procfs_core::process::MountInfo;

use super::kernel_fs::{KernelFs, PLACES, kernel_fs};

/// Why `opened`, which is at `path` on the running machine, is not the kernel's
/// file of that name; `None` if it is, or if that cannot be determined.
pub(super) fn why_covered(opened: impl AsFd, path: &Path) -> Option<String> {
    let kind = kernel_fs(opened.as_fd())?;
    let number = mount_number(opened.as_fd())?;
    let mounts = parse(&read_to_string("/proc/self/mountinfo").ok()?);
    let own = mounts.iter().find(|mount| mount.number == number)?;
    let covers = !is_in_its_place(own, &mounts, kind, path);
    covers.then(|| {
        let (root, point) = (own.root.display(), own.point.display());
        format!("a mount at {point} shows {root} of another place there, and may hide it")
    })
}

/// One line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    number: i32,
    device: String,
    /// The directory or file of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    /// The place of `path` within the mounted file system.
    fn place_of(&self, path: &Path) -> Option<PathBuf> {
        // Not `join` for the mount point itself: that would add a slash.
        let below = path.strip_prefix(&self.point).ok()?;
        Some(self.root.components().chain(below.components()).collect())
    }
}

fn parse(mountinfo: &str) -> Vec<Mount> {
    let lines = mountinfo.lines().filter_map(|line| MountInfo::from_line(line).ok());
    lines
        .map(|mount| Mount {
            number: mount.mnt_id,
            device: mount.majmin,
            root: mount.root.into(),
            point: mount.mount_point,
        })
        .collect()
}

/// Whether the mount `own` shows at `path` the file of that name.
fn is_in_its_place(own: &Mount, mounts: &[Mount], kind: KernelFs, path: &Path) -> bool {
    let fits = |(place, of): &(&str, KernelFs)| *of == kind && path.starts_with(place);
    let Some((place, _)) = PLACES.iter().find(|place| fits(place)) else { return false };
    let Some(found) = own.place_of(path) else { return true };
    if kind != KernelFs::Cgroup {
        let below = path.strip_prefix(place).unwrap_or(path);
        return found == Path::new("/").join(below).components().collect::<PathBuf>();
    }
    // A hierarchy is mounted anywhere below its place, and containers mount a part of
    // it. So its outermost mount decides.
    let of_hierarchy = mounts.iter().filter(|mount| mount.device == own.device);
    let on_the_way = of_hierarchy.filter(|mount| path.starts_with(&mount.point));
    let outermost = on_the_way.min_by_key(|mount| mount.point.components().count());
    outermost.and_then(|mount| mount.place_of(path)).is_none_or(|whole| whole == found)
}

/// The number of the mount through which `opened` was opened: `proc_pid_fdinfo(5)`.
fn mount_number(opened: impl AsFd) -> Option<i32> {
    let number = opened.as_fd().as_raw_fd();
    let text = read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
23 27 0:22 / /sys rw - sysfs sysfs rw
24 22 0:21 /sys/vm/overcommit_ratio /proc/sys/vm/swappiness rw - proc proc rw
25 22 0:21 /sys/net /proc/sys/net rw - proc proc rw
26 23 0:22 /class /sys/devices rw - sysfs sysfs rw
27 1 8:1 / / rw - ext4 /dev/root rw
28 23 0:23 / /sys/fs/cgroup ro - tmpfs tmpfs rw
29 28 0:24 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
30 29 0:24 /docker/a/x /sys/fs/cgroup/memory/x rw - cgroup cgroup rw,memory
31 29 0:24 /docker/a/x /sys/fs/cgroup/memory/y rw - cgroup cgroup rw,memory
32 23 0:21 /sys/vm /sys/module rw - proc proc rw
";

    fn is_right(number: i32, kind: KernelFs, path: &str) -> bool {
        let mounts = parse(MOUNTS);
        let own = mounts.iter().find(|mount| mount.number == number).unwrap();
        is_in_its_place(own, &mounts, kind, Path::new(path))
    }

    #[test]
    fn a_file_is_where_its_path_says() {
        for (number, kind, path, right) in [
            (22, KernelFs::Procfs, "/proc/sys/vm/dirty_ratio", true),
            (24, KernelFs::Procfs, "/proc/sys/vm/swappiness", false),
            // Containers mount a part over itself, to make it writable.
            (25, KernelFs::Procfs, "/proc/sys/net/ipv4/tcp_ecn", true),
            (23, KernelFs::Sysfs, "/sys/block/sda/queue/scheduler", true),
            (26, KernelFs::Sysfs, "/sys/devices/system", false),
            (32, KernelFs::Procfs, "/sys/module/swappiness", false),
        ] {
            assert_eq!(is_right(number, kind, path), right, "{path}");
        }
    }

    #[test]
    fn the_outermost_mount_of_a_hierarchy_decides() {
        for (number, path, right) in [
            (29, "/sys/fs/cgroup/memory/z/memory.limit_in_bytes", true),
            (30, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", true),
            (31, "/sys/fs/cgroup/memory/y/memory.limit_in_bytes", false),
        ] {
            assert_eq!(is_right(number, KernelFs::Cgroup, path), right, "{path}");
        }
    }

    #[test]
    fn this_machines_files_are_not_covered() {
        for path in ["/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online"] {
            let Ok(file) = File::open(path) else { continue };
            assert!(mount_number(&file).is_some());
            assert_eq!(why_covered(&file, Path::new(path)), None);
        }
        assert_eq!(why_covered(File::open("/").unwrap(), Path::new("/")), None);
    }
}
