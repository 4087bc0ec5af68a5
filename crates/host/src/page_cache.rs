//! What the kernel keeps of files: `Documentation/admin-guide/sysctl/vm.rst`,
//! `drop_caches`.

use crate::error::Result;
use crate::root::Root;

/// Writes everything to storage, and has the kernel forget what it keeps of
/// files, names and inodes, so that the next program is read from storage
/// again. Nothing is lost, and there is nothing to put back.
///
/// # Errors
/// Only root may.
pub fn drop_clean(root: &Root) -> Result<()> {
    if root.is_system() {
        rustix::fs::sync();
    }
    root.write("/proc/sys/vm/drop_caches", "3")
}
