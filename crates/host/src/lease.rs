//! Leases of files, for tests: `F_SETLEASE` of fcntl(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// `F_SETSIG` of `include/uapi/asm-generic/fcntl.h`.
const F_SETSIG: i32 = 10;

/// Takes a lease of the whole file, which a reader must break.
pub(crate) fn take(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    // SAFETY: fcntl(2) reads only its arguments for these commands. The kernel
    // notifies the holder by a signal, which is ignored unless it is handled.
    let taken = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK)
    };
    assert_eq!(taken, 0, "{}", io::Error::last_os_error());
    file
}
