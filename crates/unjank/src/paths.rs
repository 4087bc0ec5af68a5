//! The directories of unjank's files: the XDG base directories.
//!
//! sudo(8) and su(1) can leave HOME and TMPDIR set to the caller's. Root's files there would be in
//! the caller's way, and links could redirect them. So root uses such
//! directories only if no other user can change them or a directory above
//! them, and otherwise those of the machine.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use unjank_host::files::{is_untrusted, is_untrusted_directory, resolve_links};
use unjank_host::process::is_root;
use unjank_host::storage::ScratchFile;
use unjank_host::{Error, Result};

/// A directory for scratch files on storage, not in memory: the user's cache if
/// it is writable and on storage, else `/var/tmp`.
pub(crate) fn scratch() -> PathBuf {
    let holds_files =
        |dir: &PathBuf| ScratchFile::create(dir).is_ok_and(|file| file.yes().is_some());
    cache().filter(holds_files).unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// The directory for temporary directories: TMPDIR, but for root only a place in
/// which no other user can replace them.
pub(crate) fn temporary() -> PathBuf {
    // Android has no /tmp, and its /data/local/tmp belongs to the user shell.
    let places = [env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/data/local".into()];
    let usable = |place: PathBuf| {
        let place = if is_root() { resolve_links(&place).ok()? } else { place };
        (!is_untrusted_directory(&place)).then_some(place)
    };
    places.into_iter().find_map(usable).unwrap_or_else(|| PathBuf::from("/run"))
}

/// Whether a directory of PATH has a program with this name.
pub(crate) fn is_program(name: &str) -> bool {
    let is_in = |directory: PathBuf| {
        let file = directory.join(name).metadata();
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = env::var_os("PATH").unwrap_or_default();
    !name.contains('/') && env::split_paths(&path).any(is_in)
}

/// A new temporary directory that only this user can enter. It is removed when
/// it is dropped.
pub(crate) fn temporary_directory() -> anyhow::Result<TempDir> {
    let place = temporary();
    tempfile::tempdir_in(&place)
        .with_context(|| format!("while making a directory in {}", place.display()))
}

/// The run store in the user's data directory, if there is one.
pub(crate) fn store() -> Option<PathBuf> {
    let data = of_user("XDG_DATA_HOME", ".local/share", "/var/lib");
    Some(data?.join("unjank/runs.sqlite"))
}

/// The directory of the virtual phone's kernels, and of the files of a boot.
pub(crate) fn lab() -> Result<PathBuf> {
    cache().map(|cache| cache.join("unjank/lab")).ok_or_else(|| {
        Error::Invalid(
            "neither HOME nor XDG_CACHE_HOME is an absolute path; set one of them for the kernels"
                .to_owned(),
        )
    })
}

/// The directory of the journals of changed knobs: the machine's for root, else
/// the user's.
pub(crate) fn journal() -> Result<PathBuf> {
    let base = if !is_root() {
        let home = || Some(absolute("HOME")?.join(".local/state"));
        absolute("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
            Error::Invalid(
                "neither HOME nor XDG_STATE_HOME is an absolute path; name the directory of the \
                 journals with --state-dir"
                    .to_owned(),
            )
        })?
    } else if Path::new("/var/lib").is_dir() {
        PathBuf::from("/var/lib")
    } else {
        // Android has no /var. This is its only directory that root can write
        // to and that survives a boot.
        PathBuf::from("/data/local")
    };
    Ok(base.join("unjank/journal"))
}

/// The directory for files that can be created again.
fn cache() -> Option<PathBuf> {
    of_user("XDG_CACHE_HOME", ".cache", "/var/cache")
}

/// The directory that `variable` names, or `below` in HOME; `machine` if this is
/// root, and other users could redirect what it creates there.
fn of_user(variable: &str, below: &str, machine: &str) -> Option<PathBuf> {
    let named = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below)))?;
    Some(if is_foreign(&named.join("unjank")) { PathBuf::from(machine) } else { named })
}

/// Whether root must not use the directory `path`, which may not exist yet.
fn is_foreign(path: &Path) -> bool {
    is_root() && resolve_links(path).map_or(true, |path| is_untrusted(&path))
}

/// The directory that an environment variable names. Relative paths are ignored,
/// as the specification says.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
