//! binderfs: private binder devices.
//!
//! Each mount of this file system has its own devices. Root may mount it, and so
//! may root of a user namespace with its own mount namespace (`unshare -Urm`).

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, openat};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::availability::{Availability, availability as of_device};
use crate::error::{Error, Result};

/// The longest name of a device, in bytes.
pub const LONGEST_NAME: usize = 255;

/// The file that makes devices.
const CONTROL: &str = "binder-control";
/// The directory that lists the driver's features.
const FEATURES: &str = "features";
/// The name in errors of a mount that is in no directory.
const DETACHED: &str = "binderfs";

/// `struct binderfs_device`: a name that ends with a 0, and two numbers.
#[repr(C)]
struct Device {
    name: [u8; LONGEST_NAME + 1],
    major: u32,
    minor: u32,
}

const CTL_ADD: Opcode = opcode::read_write::<Device>(b'b', 1);

/// A mount of binderfs. One made by [`mount`](Self::mount) ends, with its devices,
/// when this value is dropped and no process has a device open.
#[derive(Debug)]
pub struct Binderfs {
    root: OwnedFd,
    /// Its name in errors.
    place: PathBuf,
}

impl Binderfs {
    /// Mounts binderfs in no directory, so no other process sees it.
    ///
    /// # Errors
    /// [`Error::NoBinderfs`] if the kernel does not have it,
    /// [`Error::Permission`] if this user may not mount it.
    pub fn mount() -> Result<Self> {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mounted = fsopen("binder", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|context| {
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        });
        match mounted {
            Ok(root) => Ok(Self { root, place: PathBuf::from(DETACHED) }),
            Err(error) => Err(refused(error)),
        }
    }

    /// The binderfs that is mounted in a directory, e.g. `/dev/binderfs`.
    ///
    /// # Errors
    /// [`Error::NoBinderfs`] if the directory is not a binderfs.
    pub fn at(directory: impl Into<PathBuf>) -> Result<Self> {
        let place = directory.into();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = match rustix::fs::open(&place, flags, Mode::empty()) {
            Ok(root) => root,
            Err(error) => {
                let reason = format!("{}: {}", place.display(), io::Error::from(error));
                return Err(Error::NoBinderfs { reason });
            }
        };
        Self::on(root, place)
    }

    /// The binderfs whose root is open as `root`, e.g. inherited from the
    /// process that mounted it.
    ///
    /// # Errors
    /// [`Error::NoBinderfs`] if it is not a binderfs.
    pub fn from_root(root: OwnedFd) -> Result<Self> {
        Self::on(root, PathBuf::from(DETACHED))
    }

    fn on(root: OwnedFd, place: PathBuf) -> Result<Self> {
        let there = accessat(&root, CONTROL, Access::EXISTS, AtFlags::empty());
        if there.is_ok() {
            return Ok(Self { root, place });
        }
        let reason = format!("{} has no {CONTROL}", place.display());
        Err(Error::NoBinderfs { reason })
    }

    /// Makes a device.
    ///
    /// # Errors
    /// `EEXIST` if the name exists, `ENAMETOOLONG` if it is longer than
    /// [`LONGEST_NAME`], `EINVAL` if it is empty or not a file name.
    pub fn add(&self, name: &str) -> Result<()> {
        self.try_add(name).map_err(|source| {
            let device = self.place.join(name);
            match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    Error::Permission { device, request: "BINDER_CTL_ADD" }
                }
                _ => Error::Request { device, request: "BINDER_CTL_ADD", source },
            }
        })
    }

    fn try_add(&self, name: &str) -> io::Result<()> {
        let mut device = device_named(name)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let control = openat(&self.root, CONTROL, flags, Mode::empty())?;
        // SAFETY: BINDER_CTL_ADD reads and writes a `struct binderfs_device`,
        // which `Device` is laid out as
        // (include/uapi/linux/android/binderfs.h).
        Ok(unsafe { ioctl(&control, Updater::<CTL_ADD, _>::new(&mut device)) }?)
    }

    /// The path by which this process opens a device, with
    /// [`KernelDriver::open`](crate::KernelDriver::open).
    pub fn device(&self, name: &str) -> PathBuf {
        device_below(self.root.as_raw_fd(), name)
    }

    /// The driver's features, as binderfs's directory `features` names them, in
    /// alphabetical order; empty before Linux 5.14.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn features(&self) -> Result<Vec<String>> {
        let directory = self.device(FEATURES);
        match features_in(&directory) {
            Ok(features) => Ok(features),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => {
                let device = self.place.join(FEATURES);
                Err(Error::Request { device, request: "read", source })
            }
        }
    }
}

impl AsFd for Binderfs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

/// The path by which a process that has inherited the root of a binderfs as
/// the descriptor `root` opens a device.
pub fn device_below(root: RawFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{root}/{name}"))
}

/// Whether private devices can be made: mounts a binderfs, makes a device, and
/// asks for its protocol version.
///
/// # Errors
/// It could not be examined, e.g. without a free file descriptor.
pub fn availability() -> Result<Availability> {
    const PROBE: &str = "unjank-probe";
    let probed = Binderfs::mount().and_then(|mounted| {
        mounted.add(PROBE)?;
        of_device(mounted.device(PROBE))
    });
    match probed {
        Err(error @ Error::NoBinderfs { .. }) => Ok(Availability::Absent(error.to_string())),
        Err(error @ Error::Permission { .. }) => Ok(Availability::Denied(error.to_string())),
        other => other,
    }
}

fn refused(error: Errno) -> Error {
    let device = PathBuf::from(DETACHED);
    match error {
        Errno::NODEV => Error::NoBinderfs { reason: "the kernel has no binderfs".to_owned() },
        Errno::NOSYS => Error::NoBinderfs { reason: "the kernel has no fsopen(2)".to_owned() },
        Errno::PERM | Errno::ACCESS => Error::Permission { device, request: "mount" },
        other => Error::Request { device, request: "mount", source: other.into() },
    }
}

fn device_named(name: &str) -> io::Result<Device> {
    let mut device = Device { name: [0; LONGEST_NAME + 1], major: 0, minor: 0 };
    let is_name = !name.is_empty() && name != "." && name != "..";
    if !is_name || name.bytes().any(|byte| byte == 0 || byte == b'/') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    match device.name.get_mut(..name.len()) {
        Some(place) if name.len() <= LONGEST_NAME => place.copy_from_slice(name.as_bytes()),
        _ => return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
    }
    Ok(device)
}

/// The features whose file contains 1.
fn features_in(directory: &Path) -> io::Result<Vec<String>> {
    let mut features = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if fs::read(entry.path())?.trim_ascii() == b"1" {
            features.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    features.sort_unstable();
    Ok(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_request_is_that_of_the_header() {
        assert_eq!((CTL_ADD, size_of::<Device>()), (0xC108_6201, 264));
    }

    #[test]
    fn a_name_is_one_of_a_file_and_ends_with_a_0() {
        let device = device_named("binder").unwrap();
        assert_eq!(device.name[..8], *b"binder\0\0");
        assert_eq!(device_named(&"n".repeat(255)).unwrap().name[254..], *b"n\0");
        for (name, errno) in [
            ("", libc::EINVAL),
            (".", libc::EINVAL),
            ("..", libc::EINVAL),
            ("a/b", libc::EINVAL),
            ("a\0b", libc::EINVAL),
            (&"n".repeat(256), libc::ENAMETOOLONG),
        ] {
            let error = device_named(name).map(|_| ()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(errno), "{name:?}");
        }
    }

    #[test]
    fn features_are_those_that_are_on() {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in [("b", "1\n"), ("a", "1"), ("c", "0\n"), ("d", "")] {
            fs::write(directory.path().join(name), content).unwrap();
        }
        assert_eq!(features_in(directory.path()).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_directory_that_is_not_binderfs_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let error = Binderfs::at(&path).unwrap_err().to_string();
        assert_eq!(error, format!("no binderfs: {} has no binder-control", path.display()));
        let error = Binderfs::at(path.join("missing")).unwrap_err().to_string();
        assert!(error.ends_with("missing: No such file or directory (os error 2)"), "{error}");
        // A plain file in the control's place takes no request.
        fs::write(path.join(CONTROL), "").unwrap();
        let fake = Binderfs::at(&path).unwrap();
        let error = fake.add("binder").unwrap_err().to_string();
        assert!(error.starts_with("BINDER_CTL_ADD on "), "{error}");
        assert_eq!(fake.features().unwrap(), [""; 0]);
    }

    #[test]
    fn a_failed_mount_has_a_reason() {
        let reasons = [Errno::NODEV, Errno::NOSYS, Errno::PERM, Errno::MFILE]
            .map(|errno| refused(errno).to_string());
        assert_eq!(
            reasons,
            [
                "no binderfs: the kernel has no binderfs",
                "no binderfs: the kernel has no fsopen(2)",
                "no permission for mount on binderfs",
                "mount on binderfs: Too many open files (os error 24)",
            ]
        );
    }
}
