//! Where unjank keeps its files: the XDG base directories.
//!
//! sudo(8) can leave the caller's HOME to root. Files of root's there would be
//! in the caller's way, and could be steered by links, so root uses such
//! directories only where they are its own, and else those of the machine.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use unjank_host::process::is_root;
use unjank_host::storage::ScratchFile;
use unjank_host::{Error, Result};

/// A directory for scratch files that lie on storage, not in memory: the
/// user's cache if it does and can be written to, else `/var/tmp`.
pub(crate) fn scratch() -> PathBuf {
    let holds_files =
        |dir: &PathBuf| ScratchFile::create(dir).is_ok_and(|file| file.yes().is_some());
    cache().filter(holds_files).unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// The run store, if there is a place for it: the user's data directory.
pub(crate) fn store() -> Option<PathBuf> {
    let data = of_user("XDG_DATA_HOME", ".local/share", "/var/lib");
    Some(data?.join("unjank/runs.sqlite"))
}

/// The directory of the virtual phone's kernels, and of the files of a boot.
pub(crate) fn lab() -> Result<PathBuf> {
    cache().map(|cache| cache.join("unjank/lab")).ok_or_else(|| {
        Error::Invalid(
            "neither HOME nor XDG_CACHE_HOME is set, so there is no place for a kernel".to_owned(),
        )
    })
}

/// The directory of the journals of changed knobs: one for the machine where
/// root changes them, which is the rule, else one for the user.
pub(crate) fn journal() -> Result<PathBuf> {
    let base = if !is_root() {
        let home = || Some(absolute("HOME")?.join(".local/state"));
        absolute("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
            Error::Invalid(
                "neither HOME nor XDG_STATE_HOME is set; --state-dir says where journals belong"
                    .to_owned(),
            )
        })?
    } else if Path::new("/var/lib").is_dir() {
        PathBuf::from("/var/lib")
    } else {
        // Android has no /var, and nothing else that root may write to and
        // that is there after a boot.
        PathBuf::from("/data/local")
    };
    Ok(base.join("unjank/journal"))
}

/// The directory for what can be made again.
fn cache() -> Option<PathBuf> {
    of_user("XDG_CACHE_HOME", ".cache", "/var/cache")
}

/// The directory that `variable` names, or `below` in HOME; for root in
/// somebody else's, `machine`.
fn of_user(variable: &str, below: &str, machine: &str) -> Option<PathBuf> {
    let named = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below)))?;
    let foreign = is_root() && owner(&named).is_some_and(|owner| owner != 0);
    Some(if foreign { PathBuf::from(machine) } else { named })
}

/// Who owns `path`, or the nearest directory above that is there.
fn owner(path: &Path) -> Option<u32> {
    path.ancestors().find_map(|above| Some(fs::metadata(above).ok()?.uid()))
}

/// The directory that an environment variable names. The specification has
/// relative ones ignored.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
