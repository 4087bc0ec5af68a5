//! The destination of a file: its open directory, and its name there.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, accessat, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Error, Result};
use crate::trusted_place::{Missing, open_untrusted_directory};

/// The destination of a file.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    pub(super) target: Target,
}

/// The kind of destination.
#[derive(Debug)]
pub(super) enum Target {
    /// The standard output of this process.
    Stdout,
    /// Another stream of this process.
    Stream,
    /// An entry of a directory.
    Entry { directory: OwnedFd, name: OsString },
}

impl Destination {
    /// Opens the directory of `path`, and checks that a file can be written
    /// there. Nothing is created. `-` is the standard output.
    ///
    /// # Errors
    /// `Invalid` if the directory does not exist, or something other than a file
    /// has that name; `File` or `Permission` if it is not writable.
    pub fn open(path: &Path) -> Result<Self> {
        let error = |source: Errno| Error::file("write", path, source.into()).of_named_file();
        let owned = path.to_owned();
        if is_stdout(path) {
            return Ok(Self { path: owned, target: Target::Stdout });
        }
        if is_stream(path) {
            stream(path).map_err(|source| Error::file("write", path, source))?;
            return Ok(Self { path: owned, target: Target::Stream });
        }
        let name = path.file_name().ok_or_else(|| error(Errno::ISDIR))?.to_owned();
        let (directory, _) = open_untrusted_directory(directory_of(path), Missing::Refuse)
            .map_err(|e| match e {
                Error::File { source, .. } => Error::file("write", path, source).of_named_file(),
                other => other,
            })?;
        match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile | FileType::Symlink => {}
                FileType::Directory => return Err(error(Errno::ISDIR)),
                _ => return Err(no_file(path)),
            },
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(error(errno)),
        }
        accessat(&directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())
            .map_err(error)?;
        Ok(Self { path: owned, target: Target::Entry { directory, name } })
    }

    /// As [`open`](Self::open), for bytes that a terminal cannot show, or that may contain control
    /// characters.
    ///
    /// # Errors
    /// Also `Invalid` if `path` is the standard output, and that is a terminal.
    pub fn open_binary(path: &Path) -> Result<Self> {
        if is_stdout(path) && io::stdout().is_terminal() {
            return Err(Error::Invalid(
                "cannot write a trace or binary data to a terminal: redirect stdout, or name a file"
                    .to_owned(),
            ));
        }
        Self::open(path)
    }

    /// As [`open`](Self::open), for output that must be a file: it is read
    /// again, or replaced as a whole.
    ///
    /// # Errors
    /// Also `Invalid` if `path` is a stream.
    pub fn open_file(path: &Path) -> Result<Self> {
        let destination = Self::open(path)?;
        match destination.target {
            Target::Entry { .. } => Ok(destination),
            Target::Stdout | Target::Stream => Err(no_file(path)),
        }
    }

    /// Whether it is an entry of a directory, not a stream of this process.
    pub fn is_file(&self) -> bool {
        matches!(self.target, Target::Entry { .. })
    }

    /// The file, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading and writing, without truncating it, or creates
    /// it for its owner alone.
    ///
    /// # Errors
    /// `Invalid` if it is not a regular file; for root, `Permission` if it
    /// belongs to another user or has hard links.
    pub fn open_or_create(&self) -> Result<File> {
        let error = |source: Errno| Error::file("open", &self.path, source.into());
        let Target::Entry { directory, name } = &self.target else {
            return Err(no_file(&self.path));
        };
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let opened = openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map_err(error)?;
        let stat = fstat(&opened).map_err(error)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(no_file(&self.path));
        }
        if geteuid().is_root() && (stat.st_uid != 0 || stat.st_nlink != 1) {
            return Err(Error::Permission {
                what: format!("using {}", self.path.display()),
                needs: "a file that belongs to root and has no hard links".to_owned(),
            });
        }
        Ok(opened.into())
    }

    /// Removes the file, or the link with its name.
    ///
    /// # Errors
    /// `File` if it does not exist or cannot be removed; `Invalid` for a stream.
    pub fn remove(&self) -> Result<()> {
        let Target::Entry { directory, name } = &self.target else {
            return Err(no_file(&self.path));
        };
        unlinkat(directory, name, AtFlags::empty())
            .map_err(|source| Error::file("remove", &self.path, source.into()))
    }
}

/// Another descriptor of the standard output.
pub(super) fn stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Whether `path` is the standard output: `-`, or Linux's name for it.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Opens a stream of this process by its name.
pub(super) fn stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).custom_flags(libc::O_NOCTTY).open(path)
}

/// Whether `path` is one of Linux's links to streams.
fn is_stream(path: &Path) -> bool {
    let named = ["/dev/stderr", "/dev/null", "/dev/tty"];
    named.iter().any(|stream| path == Path::new(stream))
        || matches!(path.parent(), Some(above)
            if above == Path::new("/dev/fd") || above == Path::new("/proc/self/fd"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn no_file(path: &Path) -> Error {
    Error::Invalid(format!("cannot write {}: it is not a regular file", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn an_unwritable_destination_is_reported_before_anything_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let class = |path: &Path| Destination::open(path).map(drop).map_err(|error| error.class());
        assert_eq!(class(&at("new")), Ok(()));
        assert_eq!(class(&at("nothing/new")), Err(ErrorClass::Usage));
        assert_eq!(class(dir.path()), Err(ErrorClass::Usage));
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(class(&at("pipe")), Err(ErrorClass::Usage));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is created");
        if !geteuid().is_root() {
            fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o555))
                .unwrap();
            assert_eq!(class(&at("new")), Err(ErrorClass::Permission));
        }
    }

    #[test]
    fn a_stream_is_written_in_place_unless_the_output_must_be_a_file() {
        for path in ["-", "/dev/stdout", "/dev/null"].map(Path::new) {
            assert!(!Destination::open(path).unwrap().is_file());
            let error = Destination::open_file(path).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Usage);
            assert!(error.to_string().ends_with("it is not a regular file"), "{error}");
            assert!(Destination::open(path).unwrap().open_or_create().is_err());
            assert!(Destination::open(path).unwrap().remove().is_err());
        }
        assert!(!is_stdout(Path::new("./-")));
    }

    #[test]
    fn a_file_is_removed_from_the_directory_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["ours", "elsewhere"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("cells"), name).unwrap();
        }
        let destination = Destination::open(&at("ours/cells")).unwrap();
        fs::rename(at("ours"), at("moved")).unwrap();
        symlink("elsewhere", at("ours")).unwrap();
        destination.remove().unwrap();
        assert!(at("elsewhere/cells").exists() && !at("moved/cells").exists());
        assert!(destination.remove().unwrap_err().is_not_found());
    }

    #[test]
    fn a_continued_file_must_not_be_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let open_or_create = |path: &Path| Destination::open(path)?.open_or_create();
        open_or_create(&at("cells")).unwrap().write_all(b"x").unwrap();
        assert_eq!(io::read_to_string(open_or_create(&at("cells")).unwrap()).unwrap(), "x");
        symlink("cells", at("link")).unwrap();
        assert!(open_or_create(&at("link")).is_err());
    }
}
