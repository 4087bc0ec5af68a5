//! Drops the page cache: `Documentation/admin-guide/sysctl/vm.rst`,
//! `drop_caches`.

use crate::error::Result;
use crate::root::Root;

/// Writes all dirty data to storage, then has the kernel drop its caches of
/// files, names and inodes, so that the next program is read from storage. No
/// data is lost, and nothing needs to be restored.
///
/// # Errors
/// If the caller is not root.
pub fn drop_clean(root: &Root) -> Result<()> {
    if root.is_system() {
        rustix::fs::sync();
    }
    root.write("/proc/sys/vm/drop_caches", "3")
}
