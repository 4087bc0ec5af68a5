//! A file system in memory whose pages are never swapped out: `noswap` of tmpfs(5), Linux 6.4 and
//! newer.

use std::ffi::CString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::error::{Error, Result};
use crate::support::Support;
use unjank_units::Bytes;

/// Mounts one for at most `size` at the new directory `path`, which only this user can enter; `No`
/// if the kernel is too old.
///
/// # Errors
/// The directory exists; the kernel's error, as for a user who may not mount.
pub fn make(path: &Path, size: Bytes) -> Result<Support<()>> {
    DirBuilder::new().mode(0o700).create(path).map_err(|e| Error::file("make", path, e))?;
    let options = format!("noswap,mode=0700,size={}", size.get());
    let options = CString::new(options).expect("no NUL byte is in it");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let made = match mount("tmpfs", path, "tmpfs", flags, Some(options.as_c_str())) {
        Ok(()) => return Ok(Support::Yes(())),
        Err(Errno::INVAL) => Ok(Support::no("tmpfs with noswap needs Linux 6.4")),
        Err(error) => Err(Error::file("mount a file system at", path, error.into())),
    };
    remove(path)?;
    made
}

/// Makes the file `path` with `bytes` zeros, for this user alone. All its memory is allocated.
///
/// # Errors
/// It exists; there is too little memory.
pub fn make_file(path: &Path, bytes: u64) -> Result<()> {
    let mut made = OpenOptions::new();
    let made = made.write(true).create_new(true).mode(0o600).open(path);
    let file = made.map_err(|error| Error::file("make", path, error))?;
    if bytes == 0 {
        return Ok(());
    }
    fallocate(&file, FallocateFlags::empty(), 0, bytes)
        .map_err(|error| Error::file("allocate memory for", path, error.into()))
}

/// Removes the file system and its directory, as far as they exist. Its memory is free when nobody
/// has its files open any more.
///
/// # Errors
/// The kernel's error.
pub fn remove(path: &Path) -> Result<()> {
    match unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        // EINVAL: nothing is mounted there.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(Error::file("unmount", path, error.into())),
    }
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", path, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_is_there_until_it_is_removed_and_holds_no_more_than_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        match make(&path, Bytes::from_mib(1)) {
            Ok(Support::Yes(())) => {}
            Ok(Support::No(reason)) => return unjank_needs::skip(reason),
            Err(error) => return unjank_needs::skip(error.to_string()),
        }
        assert!(make(&path, Bytes::from_mib(1)).is_err(), "it exists");
        make_file(&path.join("file"), 1 << 19).unwrap();
        make_file(&path.join("empty"), 0).unwrap();
        let full = make_file(&path.join("other"), 1 << 20).unwrap_err().to_string();
        assert!(full.contains("No space left"), "{full}");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let line = mounts.lines().find(|line| line.contains(path.to_str().unwrap())).unwrap();
        assert!(line.contains("noswap"), "{line}");
        remove(&path).unwrap();
        assert!(!path.exists());
        remove(&path).unwrap();
    }
}
