//! Several files below a new directory.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Dir, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::trusted_place::{Missing, open_untrusted_directory};

/// Writes `files` at their paths below the directory `dir`, which is created if
/// missing. The owner of the directory above cannot redirect them.
///
/// # Errors
/// `Invalid` if `dir` is not empty, `File` if something cannot be written.
pub(crate) fn write_tree<'a>(
    dir: &Path,
    files: impl Iterator<Item = (&'a Path, &'a [u8])>,
) -> Result<()> {
    let (top, _) = open_untrusted_directory(dir, Missing::Make)?;
    let listed = |errno: Errno| Error::file("list", dir, errno.into());
    for entry in Dir::read_from(&top).map_err(listed)? {
        if !matches!(entry.map_err(listed)?.file_name().to_bytes(), b"." | b"..") {
            return Err(Error::Invalid(format!(
                "{} is not empty; name a new or empty directory for the recording",
                dir.display()
            )));
        }
    }
    for (path, bytes) in files {
        write(&top, path, bytes).map_err(|source| {
            Error::file("write", dir.join(path.strip_prefix("/").unwrap_or(path)), source)
        })?;
    }
    Ok(())
}

fn write(top: &OwnedFd, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let Some((name, above)) = names.split_last() else { return Err(Errno::ISDIR.into()) };
    let into = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(top, ".", into, Mode::empty())?;
    for directory in above {
        match mkdirat(&here, *directory, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        here = openat(&here, *directory, into, Mode::empty())?;
    }
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&here, *name, new, Mode::from_raw_mode(0o666))?;
    File::from(file).write_all(bytes)
}
