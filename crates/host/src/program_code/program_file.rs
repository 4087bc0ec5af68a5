//! The file of a program or library.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Symbols of a larger file are not looked for.
pub(super) const LARGEST: u64 = 1 << 30;

/// A regular file of a size that is worth a look.
pub(super) fn open_file(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.len() <= LARGEST).then_some(file)
}
