//! Files in directories that other users can write to.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Missing, OTHERS_WRITE, Requirement, Walk, check, open_untrusted_directory};
use crate::error::{Error, Result};
use unjank_units::Bytes;

/// `path` with all links resolved: for a library that opens files by name
/// without following links. Missing parts are kept. Root follows only its own
/// links.
///
/// # Errors
/// `File` if the path cannot be walked, `Permission` for a link that belongs to
/// another user.
pub fn resolve_links(path: &Path) -> Result<PathBuf> {
    let mut walk = Walk::begin(path, Missing::Refuse, Requirement::NoLinksOfOthers, "find")?;
    while let Some(name) = walk.left.pop_front() {
        match walk.step(&name) {
            Err(Error::File { source, .. })
                if source.kind() == io::ErrorKind::NotFound
                    || (source.kind() == io::ErrorKind::NotADirectory && walk.left.is_empty()) =>
            {
                walk.shown.push(name);
                walk.shown.extend(walk.left);
                break;
            }
            stepped => stepped?,
        }
    }
    Ok(walk.shown)
}

/// Whether root must not trust the file `path`, a path without links: other
/// users can replace it, or put a file beside it. Always false for other users.
pub fn is_untrusted(path: &Path) -> bool {
    geteuid().is_root() && ours_alone(path).is_err()
}

/// Whether root must not create directories in the directory `path`, a path
/// without links: other users could replace them. In a sticky directory of root,
/// such as `/tmp`, they cannot. Always false for other users.
pub fn is_untrusted_directory(path: &Path) -> bool {
    geteuid().is_root() && enter_ours(path).is_err()
}

fn enter_ours(directory: &Path) -> Result<Walk<'_>> {
    let mut walk = Walk::begin(directory, Missing::Refuse, Requirement::OnlyOurs, "open")?;
    while let Some(name) = walk.left.pop_front() {
        walk.step(&name)?;
    }
    Ok(walk)
}

fn ours_alone(path: &Path) -> Result<()> {
    let there = path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(Path::new("/"));
    let walk = enter_ours(there)?;
    // For the last directory, the sticky bit is not enough.
    check(&walk.stat(&walk.dir)?, &walk.shown, OTHERS_WRITE)?;
    let name = path.file_name().filter(|_| path.parent() == Some(there));
    match name.map(|name| walk.open(name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)) {
        None => Ok(()),
        Some(Err(error)) if error.is_not_found() => Ok(()),
        Some(opened) => check(&walk.stat(&opened?)?, path, OTHERS_WRITE),
    }
}

/// Opens the file `path` of another user for reading. It opens only a regular file, without
/// blocking. Root follows no link of another user to its directory. A link in its place is refused.
///
/// # Errors
/// `File` if it cannot be opened, `Invalid` if it is not a regular file, `Permission` for a link
/// that belongs to another user.
pub fn open_untrusted(path: &Path) -> Result<File> {
    let error = |errno: Errno| Error::file("read", path, errno.into());
    let not_regular = || Error::Invalid(format!("{} is not a regular file", path.display()));
    let name = path.file_name().ok_or_else(|| error(Errno::ISDIR))?;
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let (directory, _) =
        open_untrusted_directory(parent.unwrap_or(Path::new(".")), Missing::Refuse)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = match openat(&directory, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::LOOP) => return Err(not_regular()),
        opened => opened.map_err(error)?,
    };
    let stat = fstat(&opened).map_err(error)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    Ok(opened.into())
}

/// The bytes of another user's file `path`, at most `most`, opened as by [`open_untrusted`].
///
/// # Errors
/// As `open_untrusted`; `File` if it cannot be read or is larger.
pub fn read_untrusted(path: &Path, most: Bytes) -> Result<Vec<u8>> {
    let error = |source: io::Error| Error::file("read", path, source);
    let mut bytes = Vec::new();
    let limit = most.get().saturating_add(1);
    open_untrusted(path)?.take(limit).read_to_end(&mut bytes).map_err(error)?;
    if bytes.len() as u64 > most.get() {
        return Err(error(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn links_are_resolved_even_if_the_path_does_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let at = |name: &str| top.join(name);
        fs::create_dir_all(at("real/state")).unwrap();
        fs::write(at("real/file"), "").unwrap();
        symlink("real", at("link")).unwrap();
        symlink("real/file", at("to-file")).unwrap();
        symlink("real/new/file", at("to-nothing")).unwrap();
        for (path, leads_to) in [
            ("link/state", "real/state"),
            ("link/file", "real/file"),
            ("to-file", "real/file"),
            ("to-nothing", "real/new/file"),
            ("link/a/b/c", "real/a/b/c"),
        ] {
            assert_eq!(resolve_links(&at(path)).unwrap(), at(leads_to), "{path}");
        }
        assert!(resolve_links(&at("link/file/below")).is_err(), "a file is not a directory");
        if std::os::unix::fs::lchown(at("to-file"), Some(65534), None).is_ok() {
            let why = resolve_links(&at("to-file")).unwrap_err();
            assert_eq!(why.class(), crate::ErrorClass::Permission);
        }
    }

    #[test]
    fn directories_in_which_others_can_replace_ours_are_untrusted() {
        if !geteuid().is_root() {
            return println!("concerns only root");
        }
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let at = |name: &str, mode: u32, owner: u32| {
            let path = top.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(owner), None).unwrap();
            path
        };
        assert!(!is_untrusted_directory(&at("ours", 0o755, 0)));
        assert!(!is_untrusted_directory(&at("sticky", 0o1777, 0)));
        assert!(is_untrusted_directory(&at("open", 0o777, 0)));
        assert!(is_untrusted_directory(&at("theirs", 0o700, 65534)));
        assert!(is_untrusted_directory(&at("theirs/sticky", 0o1777, 0)));
        assert!(is_untrusted_directory(&top.join("missing")));
    }

    #[test]
    fn files_that_others_can_replace_are_untrusted() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let at = |name: &str| top.join(name);
        fs::write(at("file"), "x").unwrap();
        for ours in ["file", "new", "no/such/directory"] {
            assert!(!is_untrusted(&at(ours)), "{ours}");
        }
        if !geteuid().is_root() {
            return println!("concerns only root");
        }
        for theirs in ["/tmp/new", "/dev/shm/new"] {
            assert!(is_untrusted(Path::new(theirs)), "{theirs}");
        }
        fs::create_dir(at("theirs")).unwrap();
        chown(at("theirs"), Some(65534), None).unwrap();
        assert!(is_untrusted(&at("theirs/new")) && is_untrusted(&at("theirs/no/such")));
        chown(at("file"), Some(65534), None).unwrap();
        assert!(is_untrusted(&at("file")) && !is_untrusted(&at("other")));
        assert_eq!(read_untrusted(&at("file"), Bytes(1)).unwrap(), b"x");
        assert!(read_untrusted(&at("file"), Bytes(0)).is_err(), "it is larger");
        let fifo = FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, Mode::RUSR, 0).unwrap();
        symlink("file", at("link")).unwrap();
        for wrong in ["pipe", "link", "theirs"] {
            assert!(read_untrusted(&at(wrong), Bytes(9)).is_err(), "{wrong}");
        }
    }
}
