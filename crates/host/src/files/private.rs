//! Directories of this user alone.

use std::path::Path;

use rustix::fs::fstat;

use crate::error::{Error, Result};
use crate::trusted_place::{Missing, check_private, open_directory};

/// Makes the directory `path` and those above it, as far as they are missing, for this user alone.
/// No other user can change or replace it, so that paths in it can be used.
///
/// # Errors
/// `Permission` if another user could replace it; `File` with the kernel's error.
pub fn make_private_directory(path: &Path) -> Result<()> {
    let directory = open_directory(path, Missing::Make)?;
    let stat = fstat(&directory).map_err(|error| Error::file("look at", path, error.into()))?;
    check_private(&stat, path)
}
