//! The file tree that stands for the machine.
//!
//! `/proc`, `/sys`, `/etc` and `/dev` are reached only through a [`Root`], so
//! the same code reads the running machine, a recorded tree, or a directory
//! made by a test.
//!
//! Such a directory may belong to another user, and root may be asked to use
//! it. It is opened once, and its files are opened relative to it: links are
//! followed inside it, and never lead outside (`opening`).

mod opening;

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use rustix::fs::{Dir, OFlags};

use crate::error::{Error, Result};
use crate::recording::Recording;

/// The size limit of a file. A larger one is an error, so that it does not
/// exhaust the memory.
const LARGEST_FILE: u64 = 16 << 20;
/// The usual size of a file, so that one read suffices.
const USUAL_FILE: usize = 4096;

/// The directory of a machine's files: `/` for the running one.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
    /// The open directory, from its first use on.
    opened: Arc<OnceLock<OwnedFd>>,
    recording: Option<Recording>,
}

/// Two roots are the same if they stand for the same machine.
impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        self.dir == other.dir
    }
}

impl Eq for Root {}

impl Root {
    /// The running machine, whose directory is `/`.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A recorded or made-up machine below `dir`.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), opened: Arc::default(), recording: None }
    }

    /// The same machine, with a copy of every later read in `recording`.
    #[must_use]
    pub fn recorded_by(&self, recording: &Recording) -> Self {
        Self { recording: Some(recording.clone()), ..self.clone() }
    }

    /// Whether this is the running machine.
    pub fn is_system(&self) -> bool {
        self.dir == Path::new("/")
    }

    /// The directory of the machine's files; `/` for the running machine.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The real location of the absolute `path` of the machine. Components that
    /// would leave the root (`..`) are dropped.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let mut resolved = self.dir.clone();
        resolved.extend(path.as_ref().components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        }));
        resolved
    }

    /// Whether `path` exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.open_with(path.as_ref(), OFlags::PATH).is_ok()
    }

    /// The whole text of `path`, without trailing white space. Bytes that are
    /// not UTF-8 (a hostile process name) are replaced.
    ///
    /// # Errors
    /// `File` with the path; a file over 16 MiB is refused.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String> {
        let bytes = self.read_bytes(path)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    /// The bytes of `path`, for the few files that are not text.
    ///
    /// # Errors
    /// `File` with the path; a file over 16 MiB is refused, and, if the root is
    /// not the running machine, anything but a regular file.
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let error = |source| Error::file("read", path, source);
        // Some files (`events/header_page` of tracefs) answer only the first
        // read, however short.
        let mut bytes = Vec::with_capacity(USUAL_FILE);
        self.open(path)
            .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
            .map_err(error)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(error(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("larger than {LARGEST_FILE} bytes"),
            )));
        }
        if let Some(recording) = &self.recording {
            recording.note(path, &bytes);
        }
        Ok(bytes)
    }

    /// As [`read`](Self::read), with `None` for a file that does not exist or
    /// whose feature is disabled in the kernel.
    ///
    /// # Errors
    /// As [`read`](Self::read), for anything else.
    pub fn read_if_there(&self, path: impl AsRef<Path>) -> Result<Option<String>> {
        match self.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(Error::File { source, .. }) if says_absent(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number in `path`, which must be its whole content.
    ///
    /// # Errors
    /// `Parse` with the content.
    pub fn read_number<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<T> {
        let path = path.as_ref();
        let text = self.read(path)?;
        text.trim().parse().map_err(|_| {
            Error::parse(path, 1, format!("expected a number, found {:?}", shortened(&text)))
        })
    }

    /// As [`read_number`](Self::read_number), with `None` for a file that does
    /// not exist.
    ///
    /// # Errors
    /// As [`read_number`](Self::read_number), for anything else.
    pub fn read_number_if_there<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<Option<T>> {
        match self.read_number(path) {
            Ok(number) => Ok(Some(number)),
            Err(Error::File { source, .. }) if says_absent(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes `value` to the existing file `path` in one `write` call, as the
    /// files of sysfs, procfs and cgroups expect. Creates nothing.
    ///
    /// # Errors
    /// `File` with the path.
    pub fn write(&self, path: impl AsRef<Path>, value: &str) -> Result<()> {
        let path = path.as_ref();
        self.open_for_writing(path)
            .and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(|source| Error::file("write", path, source))
    }

    /// The names in the directory `path`, sorted with numbers in numeric order
    /// (`cpu2` before `cpu10`). Empty if the directory does not exist.
    ///
    /// # Errors
    /// `File` if the directory may not be read.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<String>> {
        let path = path.as_ref();
        let entries = match self.open_with(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(directory) => Dir::new(directory).map_err(io::Error::from),
            Err(error) if says_absent(&error) => return Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let entries = entries.map_err(|error| Error::file("list", path, error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned()))
            .filter(|name| name != "." && name != "..")
            .collect();
        names.sort_by_cached_key(|name| numeric_order(name));
        Ok(names)
    }
}

fn says_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(
            error.raw_os_error(),
            Some(libc::ENODEV | libc::ENXIO | libc::EOPNOTSUPP | libc::ENOTDIR)
        )
}

fn numeric_order(name: &str) -> (String, u64, String) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (head, tail) = name.split_at(digits);
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    let number = tail[..end].parse().unwrap_or(u64::MAX);
    (head.to_owned(), number, tail[end..].to_owned())
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn machine() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        (dir, root)
    }

    #[test]
    fn paths_stay_below_the_root() {
        let root = Root::at("/tmp/phone");
        assert_eq!(root.resolve("/proc/stat"), Path::new("/tmp/phone/proc/stat"));
        assert_eq!(root.resolve("/../../etc/passwd"), Path::new("/tmp/phone/etc/passwd"));
        assert_eq!(Root::system().resolve("/proc/stat"), Path::new("/proc/stat"));
    }

    #[test]
    fn errors_name_the_machine_path() {
        let (_dir, root) = machine();
        let error = root.read("/proc/nothing").unwrap_err().to_string();
        assert!(error.starts_with("cannot read /proc/nothing: "), "{error}");
        assert_eq!(root.read_if_there("/proc/nothing").unwrap(), None);
    }

    #[test]
    fn a_number_must_be_a_number() {
        let (dir, root) = machine();
        fs::write(dir.path().join("rate"), "50000\n").unwrap();
        fs::write(dir.path().join("governor"), "ondemand\n").unwrap();
        assert_eq!(root.read_number::<u64>("/rate").unwrap(), 50_000);
        let error = root.read_number::<u64>("/governor").unwrap_err().to_string();
        assert_eq!(error, "cannot parse /governor, line 1: expected a number, found \"ondemand\"");
    }

    #[test]
    fn a_number_that_is_not_there_is_none() {
        let (dir, root) = machine();
        assert_eq!(root.read_number_if_there::<u64>("/rate").unwrap(), None);
        fs::write(dir.path().join("rate"), "x\n").unwrap();
        assert!(root.read_number_if_there::<u64>("/rate").is_err());
    }

    #[test]
    fn an_endless_file_is_refused() {
        let (dir, root) = machine();
        let file = File::create(dir.path().join("stat")).unwrap();
        file.set_len(LARGEST_FILE + 1).unwrap();
        let error = root.read("/stat").unwrap_err().to_string();
        assert_eq!(error, "cannot read /stat: larger than 16777216 bytes");
    }

    #[test]
    fn writing_never_creates_a_file() {
        let (dir, root) = machine();
        assert!(root.write("/knob", "1").is_err());
        fs::write(dir.path().join("knob"), "0\n").unwrap();
        root.write("/knob", "1").unwrap();
        assert_eq!(root.read("/knob").unwrap(), "1");
    }

    #[test]
    fn names_are_listed_in_numeric_order() {
        let (dir, root) = machine();
        for name in ["cpu10", "cpu2", "cpufreq", "cpu0"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(root.list("/").unwrap(), ["cpu0", "cpu2", "cpu10", "cpufreq"]);
        assert!(root.list("/nothing").unwrap().is_empty());
    }
}
