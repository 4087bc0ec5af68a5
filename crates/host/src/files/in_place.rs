//! File systems that overwrite a file in its place.

use std::path::Path;

use rustix::fs::statfs;

use crate::error::{Error, Result};
use crate::support::Support;

/// The numbers of file systems in `include/uapi/linux/magic.h`: ext2, ext3 and ext4; XFS.
const IN_PLACE: [u32; 2] = [0xef53, 0x5846_5342];

/// Whether the file system of `path`, a file or a directory, overwrites the blocks of a file where
/// they are. `No` for all that are not known to: those that copy on write, keep a log, are in
/// memory or need other processes may have to allocate memory when a page is written, which may be
/// the memory that is to become free.
///
/// # Errors
/// The kernel's error.
pub fn overwrites_in_place(path: &Path) -> Result<Support<()>> {
    let kind = statfs(path).map_err(|e| Error::file("look at", path, e.into()))?.f_type as u32;
    if IN_PLACE.contains(&kind) {
        return Ok(Support::Yes(()));
    }
    Ok(Support::no(format!(
        "{} is on a file system that may not overwrite files in their place (type {kind:#x}): use \
         ext4, XFS or a partition",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_in_memory_is_none() {
        let Support::No(reason) = overwrites_in_place(Path::new("/proc")).unwrap() else {
            panic!("/proc is a disk");
        };
        assert!(reason.contains("(type 0x9fa0): use ext4"), "{reason}");
        assert!(overwrites_in_place(Path::new("/does/not/exist")).is_err());
    }
}
