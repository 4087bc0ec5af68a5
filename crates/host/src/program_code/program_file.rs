//! The file of a program or library.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The largest file whose symbols are read.
pub(super) const LARGEST: u64 = 1 << 30;

/// Opens a regular file that is not too large.
pub(super) fn open_file(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.len() <= LARGEST).then_some(file)
}
