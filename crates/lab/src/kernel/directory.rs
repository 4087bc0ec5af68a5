//! Lists a directory.

use std::fs;
use std::path::Path;

use unjank_host::Error as HostError;

use crate::error::Result;

/// The names in it, sorted.
pub(super) fn names(directory: &Path) -> Result<Vec<String>> {
    let failed = |error| HostError::file("list", directory, error);
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
