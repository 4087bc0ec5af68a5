//! Files that one process uses alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::error::{Error, Result};

/// Opens a file or a block device for this process alone, for reading and writing without the page
/// cache (`O_DIRECT`): a block device that nobody has mounted, swaps to or has opened in the same
/// way (`O_EXCL`), or a file that nobody has locked (flock(2)). Follows no link.
///
/// # Errors
/// `Busy` if another program uses it; `Invalid` for anything else than a file or a block device, and
/// for one that other users can read or write (a block device may have a group, as udev gives it
/// one); the kernel's error.
pub fn open_for_this_alone(path: &Path) -> Result<File> {
    let busy = || Error::Busy(format!("{} is in use", path.display()));
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::EBUSY) => busy(),
        _ => Error::file("open", path, error),
    };
    let metadata = path.symlink_metadata().map_err(failed)?;
    let kind = metadata.file_type();
    if !kind.is_block_device() && !kind.is_file() {
        let path = path.display();
        return Err(Error::Invalid(format!("{path} is neither a file nor a block device")));
    }
    let others = if kind.is_block_device() { 0o007 } else { 0o077 };
    let mode = metadata.mode() & 0o777;
    if mode & others != 0 {
        let path = path.display();
        return Err(Error::Invalid(format!("other users have access to {path} (mode {mode:o})")));
    }
    let exclusive = if kind.is_block_device() { libc::O_EXCL } else { 0 };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT | libc::O_NOFOLLOW | exclusive)
        .open(path)
        .map_err(failed)?;
    if kind.is_file() && file.try_lock().is_err() {
        return Err(busy());
    }
    Ok(file)
}
