//! Where unjank keeps its files: the XDG base directories.

use std::env;
use std::path::PathBuf;

/// A directory for scratch files that lie on storage, not in memory: the
/// user's cache, else `/var/tmp`.
pub(crate) fn scratch() -> PathBuf {
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.filter(|dir| dir.is_dir()).unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// The run store, if there is a place for it: the user's data directory.
pub(crate) fn store() -> Option<PathBuf> {
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    Some(data?.join("unjank/runs.sqlite"))
}

/// The directory that an environment variable names. The specification has
/// relative ones ignored.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
