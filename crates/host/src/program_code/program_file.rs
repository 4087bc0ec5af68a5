//! The file of a program or library.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The largest file whose symbols are read.
pub(super) const LARGEST: u64 = 1 << 30;

/// Opens a regular file that is not too large. It is looked at before it is opened,
/// because another user may have put a device in its place. A file with a lease
/// (`F_SETLEASE` of fcntl(2)) is not opened: the holder could delay that.
pub(crate) fn open_file(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    let place = options.read(true).custom_flags(libc::O_PATH).open(path).ok()?;
    let about = place.metadata().ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK);
    file.open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lease_is_not_waited_for() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("library.so");
        std::fs::write(&path, "it").unwrap();
        let leased = crate::lease::take(&path);
        assert!(open_file(&path).is_none());
        drop(leased);
        assert!(open_file(&path).is_some());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        std::fs::write(&path, "it").unwrap();
        assert_eq!(std::io::read_to_string(open_file(&path).unwrap()).unwrap(), "it");
        let large = File::options().write(true).open(&path).unwrap();
        large.set_len(LARGEST + 1).unwrap();
        assert!(open_file(&path).is_none(), "too large");
        for other in [Path::new("/dev/zero"), top.path(), Path::new("/nonexistent")] {
            assert!(open_file(other).is_none(), "{}", other.display());
        }
    }
}
