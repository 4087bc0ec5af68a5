//! The files of a process in `/proc`, opened without allocating memory.

use std::ffi::CStr;
use std::io::{Cursor, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// Opens a file of a process, by its name in `/proc`.
pub(super) fn open(
    proc: BorrowedFd<'_>,
    process: &CStr,
    file: &[u8],
) -> rustix::io::Result<OwnedFd> {
    let mut path = Cursor::new([0; 64]);
    path.write_all(process.to_bytes())
        .and_then(|()| path.write_all(file))
        .and_then(|()| path.write_all(b"\0"))
        .map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(path.get_ref()).map_err(|_| Errno::INVAL)?;
    openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
