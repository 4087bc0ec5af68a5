//! The paths of files that are known by their inodes, as trace events name them.
//!
//! The kernel finds the file of an inode by its handle (`open_by_handle_at(2)`),
//! and its path if the file was opened by that not long ago. It takes a number for
//! a handle where handles are a number and a generation, of which 0 means any:
//! ext2 to ext4, f2fs, squashfs, erofs. On other file systems (btrfs, XFS), files
//! have the paths of their mappings in running processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use procfs_core::process::MountInfo;
use serde::{Deserialize, Serialize};

use crate::address_space::AddressSpace;
use crate::block_device::DeviceNumber;
use crate::root::Root;

/// A file by its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// The device of its file system.
    pub device: DeviceNumber,
    /// Its inode number on that device.
    pub inode: u64,
}

/// `inode 1234 on 254,0`.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inode {} on {}", self.inode, self.device)
    }
}

/// `FILEID_INO32_GEN` of `include/linux/exportfs.h`: the inode in 32 bits, and its
/// generation.
const INODE_AND_GENERATION: libc::c_int = 1;

/// File systems whose file handles have this form. Mounts of others are not opened: a
/// file system in user space may never answer.
const FILE_SYSTEMS: [&str; 6] = ["ext2", "ext3", "ext4", "f2fs", "squashfs", "erofs"];

/// `struct file_handle` with such a handle.
#[repr(C)]
struct Handle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    inode: u32,
    generation: u32,
}

/// The current paths of files, as far as they can be found: those that one of
/// `processes` has mapped, and those that the kernel finds, for which it takes the
/// capability `CAP_DAC_READ_SEARCH`.
pub fn paths_of(
    root: &Root,
    files: &BTreeSet<FileId>,
    processes: impl IntoIterator<Item = u32>,
) -> BTreeMap<FileId, PathBuf> {
    let mut paths = mapped(root, files, processes);
    let rest: Vec<&FileId> = files.iter().filter(|file| !paths.contains_key(file)).collect();
    if rest.is_empty() || !root.is_system() {
        return paths;
    }
    let mounts = root.read("/proc/self/mountinfo").unwrap_or_default();
    for device in rest.iter().map(|file| file.device).collect::<BTreeSet<_>>() {
        let mounts = mount_points(&mounts, device);
        let Some(mount) = mounts.iter().find_map(|it| open_mount(it, device)) else { continue };
        let of_device = rest.iter().filter(|file| file.device == device);
        paths.extend(of_device.filter_map(|file| Some((**file, path_of(&mount, file)?))));
    }
    paths
}

/// The paths of files that one of these processes has mapped.
fn mapped(
    root: &Root,
    files: &BTreeSet<FileId>,
    processes: impl IntoIterator<Item = u32>,
) -> BTreeMap<FileId, PathBuf> {
    let mut paths = BTreeMap::new();
    for process in processes {
        if paths.len() == files.len() {
            break;
        }
        let Ok(space) = AddressSpace::of(root, process) else { continue };
        for region in space.regions() {
            let (major, minor) = region.device;
            let file = FileId { device: DeviceNumber::new(major, minor), inode: region.inode };
            if let Some(path) = region.file().filter(|_| files.contains(&file)) {
                paths.entry(file).or_insert_with(|| path.into());
            }
        }
    }
    paths
}

/// Mount points of a device with one of [`FILE_SYSTEMS`], whole file systems first.
fn mount_points(mountinfo: &str, device: DeviceNumber) -> Vec<PathBuf> {
    let number = format!("{}:{}", device.major(), device.minor());
    let lines = mountinfo.lines().filter_map(|line| MountInfo::from_line(line).ok());
    let mut mounts: Vec<MountInfo> = lines
        .filter(|mount| mount.majmin == number)
        .filter(|mount| FILE_SYSTEMS.contains(&mount.fs_type.as_str()))
        .collect();
    mounts.sort_by_key(|mount| mount.root != "/");
    mounts.into_iter().map(|mount| mount.mount_point).collect()
}

/// Opens a mount point, unless another file system is mounted over it. Only a
/// directory: single files are mount points, too, and opening a pipe would wait.
fn open_mount(point: &Path, device: DeviceNumber) -> Option<File> {
    let mut options = File::options();
    let mount = options.read(true).custom_flags(libc::O_DIRECTORY).open(point).ok()?;
    let on = DeviceNumber::from_stat(mount.metadata().ok()?.dev());
    (on == device).then_some(mount)
}

/// The path of a file on the file system of `mount`, if it has one there.
fn path_of(mount: &File, file: &FileId) -> Option<PathBuf> {
    let handle = Handle {
        bytes: 8,
        kind: INODE_AND_GENERATION,
        inode: u32::try_from(file.inode).ok()?,
        generation: 0,
    };
    // SAFETY: open_by_handle_at(2): the kernel reads the two fields of the head and
    // the `bytes` after it. `Handle` is `repr(C)`: its two last fields are these
    // eight bytes. It lives until the call returns, and the kernel writes nothing.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            &raw const handle,
            libc::O_PATH | libc::O_CLOEXEC,
        )
    };
    let descriptor = libc::c_int::try_from(opened).ok().filter(|it| *it >= 0)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    let opened = unsafe { File::from_raw_fd(descriptor) };
    let path = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    is_file(&path, file).then_some(path)
}

/// Whether a path leads to a file: it may have been removed or replaced, or the
/// kernel may not have known it any more.
fn is_file(path: &Path, file: &FileId) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        metadata.ino() == file.inode && DeviceNumber::from_stat(metadata.dev()) == file.device
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceNumber = DeviceNumber::new(254, 1);

    #[test]
    fn whole_file_systems_are_looked_at_first() {
        let mountinfo = "30 1 254:1 /boot /boot rw - ext4 /dev/vda1 rw\n\
                         31 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
                         32 1 254:1 / /mnt rw - fuseblk /dev/vda1 rw\nnot a line\n";
        assert_eq!(mount_points(mountinfo, DISK), ["/", "/boot"].map(PathBuf::from));
        assert!(mount_points(mountinfo, DeviceNumber::new(8, 1)).is_empty());
    }

    #[test]
    fn a_mapped_file_has_the_path_of_its_mapping() {
        let top = tempfile::tempdir().unwrap();
        let process = top.path().join("proc/77");
        std::fs::create_dir_all(&process).unwrap();
        let maps =
            "10-20 r-xp 0 fe:01 12 /usr/lib/libc.so.6\n20-30 r--p 0 fe:01 13 /old (deleted)\n";
        std::fs::write(process.join("maps"), maps).unwrap();
        let file = |inode| FileId { device: DISK, inode };
        let files = BTreeSet::from([file(12), file(13), file(14)]);
        let paths = paths_of(&Root::at(top.path()), &files, [76, 77]);
        assert_eq!(paths, BTreeMap::from([(file(12), PathBuf::from("/usr/lib/libc.so.6"))]));
        assert_eq!(file(12).to_string(), "inode 12 on 254,1");
    }

    #[test]
    fn a_path_that_leads_to_another_file_is_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let metadata = file.path().metadata().unwrap();
        let device = DeviceNumber::from_stat(metadata.dev());
        let id = FileId { device, inode: metadata.ino() };
        assert!(is_file(file.path(), &id));
        assert!(!is_file(file.path(), &FileId { inode: id.inode + 1, ..id }));
        assert!(!is_file(Path::new("/no/such/file"), &id));
    }
}
