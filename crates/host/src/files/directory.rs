//! Directories that a user names.

use std::path::Path;

use crate::error::Result;
use crate::trusted_place::{Missing, open_untrusted_directory};

/// Makes the directory `path` and those above it, as far as they are missing. Root follows no link
/// of another user.
///
/// # Errors
/// `File` with the kernel's error, `Permission` for such a link.
pub fn make_directory(path: &Path) -> Result<()> {
    open_untrusted_directory(path, Missing::Make).map(drop)
}
