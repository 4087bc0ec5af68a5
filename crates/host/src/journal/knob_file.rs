//! The file of one knob.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::failpoint;
use super::kernel_fs::KernelFs;
use super::one_way::is_final;
use super::site::{Site, no_knob};
use super::value::in_force;
use crate::error::{Error, Result};

/// The number of reads, and the pause between them, until the kernel has
/// applied a write to a knob that [`lags`]: its worker needs a CPU, which a
/// real-time load can occupy.
const LAG: (u32, Duration) = (200, Duration::from_millis(1));

/// The longest value in bytes.
const LARGEST_VALUE: usize = 64 << 10;

/// A knob that was found and passed the checks of [`Site`].
#[derive(Debug)]
pub(super) struct KnobFile {
    path: String,
    /// An `O_PATH` handle of the file that was checked. It does not open the
    /// file, so a driver does not notice it and tracefs can remove the file.
    checked: OwnedFd,
    /// The kernel's file system that contains it; `None` in a tree that stands
    /// for a machine.
    kernel: Option<KernelFs>,
    permissions: u32,
    /// The file open for reading and writing, if it is written often.
    stays_open: Option<File>,
}

impl KnobFile {
    /// Finds `path` on the machine.
    ///
    /// # Errors
    /// `File` if it does not exist, `Invalid` if it is not a knob.
    pub(super) fn open(site: &Site, path: &Path) -> Result<Self> {
        let (named, checked) = site.locate(path)?;
        let stat = fstat(&checked).map_err(|source| Error::file("open", path, source.into()))?;
        // In another user's tree, a hard link may lead to one of our files.
        let has_another_name = !site.is_system() && stat.st_nlink != 1;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile || has_another_name {
            return Err(no_knob(path));
        }
        let kernel = site.check_kernel_fs(&checked, path)?;
        let permissions = stat.st_mode & 0o777;
        Ok(Self { path: named, checked, kernel, permissions, stays_open: None })
    }

    /// Its name on the machine, without symbolic links.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Checks that its mode allows reading and writing.
    ///
    /// # Errors
    /// `Unsupported` names the missing one.
    pub(super) fn check_both_ways(&self) -> Result<()> {
        let missing = match (self.permissions & 0o444, self.permissions & 0o222) {
            (_, 0) => "is read-only",
            (0, _) => "cannot be read, so its value could not be put back",
            _ => return Ok(()),
        };
        Err(Error::Unsupported(format!("{} {missing}", self.path)))
    }

    /// Checks that `value` can be written and taken back.
    ///
    /// # Errors
    /// `Invalid` if it is too long or has a null byte; `Unsupported` if the kernel
    /// keeps it until the next boot.
    pub(super) fn check_value(&self, value: &str) -> Result<()> {
        let wrong = if value.len() > LARGEST_VALUE {
            format!("is longer than {LARGEST_VALUE} bytes")
        } else if value.contains('\0') {
            "contains a null byte".to_owned()
        } else if is_final(&self.path, value) {
            return Err(Error::Unsupported(format!(
                "{} could not be put back afterwards: the kernel refuses other values after \
                 {value:?} until the next boot",
                self.path
            )));
        } else {
            return Ok(());
        };
        Err(Error::Invalid(format!("the value for {} {wrong}", self.path)))
    }

    /// Keeps it open from now on, so that an access is one system call. Not in
    /// tracefs and debugfs, where opening and closing can have side effects.
    pub(super) fn stay_open(&mut self) {
        let has_no_side_effects = matches!(
            self.kernel,
            None | Some(KernelFs::Cgroup | KernelFs::Procfs | KernelFs::Sysfs)
        );
        if self.stays_open.is_none() && has_no_side_effects {
            self.stays_open = self.reopen(OFlags::RDWR).ok();
        }
    }

    /// The value in force, without trailing white space.
    ///
    /// # Errors
    /// `File`; `Unsupported` for content that is not UTF-8 or too long.
    pub(super) fn read(&self) -> Result<String> {
        let bytes = match &self.stays_open {
            Some(file) => read_from_start(file),
            None => self.reopen(OFlags::RDONLY).and_then(|file| read_from_start(&file)),
        };
        let bytes = bytes.map_err(|source| Error::file("read", &self.path, source))?;
        let unusable = |what| Error::Unsupported(format!("{} contains {what}", self.path));
        if bytes.len() > LARGEST_VALUE {
            return Err(unusable(format!("more than {LARGEST_VALUE} bytes")));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| unusable("bytes that are not UTF-8".to_owned()))?;
        Ok(in_force(text.trim_end()).to_owned())
    }

    /// The value in force after `written` was written. If the knob lags, this
    /// waits until it reads `written`, but not longer than [`LAG`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_after(&self, written: &str) -> Result<String> {
        let mut reading = self.read()?;
        let (mut looks, pause) = LAG;
        while self.lags() && reading != written && looks > 0 {
            thread::sleep(pause);
            reading = self.read()?;
            looks -= 1;
        }
        Ok(reading)
    }

    /// Whether the kernel applies writes to this knob with a delay.
    pub(super) fn lags(&self) -> bool {
        lags(&self.path)
    }

    /// Writes `value` as a shell would (`printf %s value > knob`). An empty
    /// value is written as a line end, because zero bytes would not be a write.
    pub(super) fn write(&self, value: &str) -> io::Result<()> {
        failpoint::check()?;
        let value = if value.is_empty() { "\n" } else { value };
        if self.kernel.is_some() {
            return match &self.stays_open {
                Some(file) => file.write_all_at(value.as_bytes(), 0),
                None => self.reopen(OFlags::WRONLY | OFlags::TRUNC)?.write_all(value.as_bytes()),
            };
        }
        // A tree that stands for a machine should show either the old value
        // or the new one, as the kernel does, even if the writer is killed
        // between two calls. So the new value, padded with line ends,
        // overwrites the old one, and then the file is cut.
        let opened;
        let file = if let Some(file) = &self.stays_open {
            file
        } else {
            opened = self.reopen(OFlags::WRONLY)?;
            &opened
        };
        let length = value.trim_end_matches('\n').len() + 1;
        let padding = usize::try_from(file.metadata()?.len()).unwrap_or(0).min(LARGEST_VALUE);
        let padded = format!("{value:\n<width$}", width = length.max(padding));
        file.write_all_at(padded.as_bytes(), 0)?;
        failpoint::check()?;
        if padded.len() > length { file.set_len(length as u64) } else { Ok(()) }
    }

    /// Opens the file that was checked, through the procfs link of its
    /// descriptor: `proc_pid_fd(5)`.
    fn reopen(&self, flags: OFlags) -> io::Result<File> {
        let link = format!("/proc/self/fd/{}", self.checked.as_raw_fd());
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        // The owner of a tree may hold a lease on the file, for which open(2) would wait
        // (`F_SETLEASE` of fcntl(2)). The kernel's own files have no leases.
        if self.kernel.is_some() {
            return Ok(File::from(open(link, flags, Mode::empty())?));
        }
        match open(link, flags | OFlags::NONBLOCK, Mode::empty()) {
            Err(Errno::AGAIN) => {
                let why = "another process holds a lease on it (F_SETLEASE of fcntl(2))";
                Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
            }
            opened => Ok(File::from(opened?)),
        }
    }
}

/// Whether the kernel applies writes to `path` with a delay, and shows the
/// former value until then: `cpufreq_notifier_min` schedules work, in
/// drivers/cpufreq/cpufreq.c since Linux 5.4.
pub(super) fn lags(path: &str) -> bool {
    path.ends_with("/scaling_min_freq") || path.ends_with("/scaling_max_freq")
}

/// The content. It ends soon after [`LARGEST_VALUE`].
fn read_from_start(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut part = [0; 4_096];
    while bytes.len() <= LARGEST_VALUE {
        match file.read_at(&mut part, bytes.len() as u64) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// The error for a knob that could not be changed. Its class says what a user
/// can do about it.
pub(super) fn refusal(path: &str, value: &str, source: io::Error) -> Error {
    use io::ErrorKind as Kind;
    match source.kind() {
        Kind::NotFound => Error::Unsupported(format!("this machine has no {path}")),
        Kind::PermissionDenied => Error::Permission {
            what: format!("changing {path}"),
            needs: "root, or permission to write this file".to_owned(),
        },
        Kind::ReadOnlyFilesystem => {
            Error::Unsupported(format!("{path} cannot be changed: it is mounted read-only here"))
        }
        _ => match source.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => {
                Error::Unsupported(format!("{path} no longer exists on this machine"))
            }
            Some(libc::EINVAL | libc::ERANGE | libc::E2BIG | libc::EOVERFLOW | libc::EDOM) => {
                Error::Invalid(format!("the kernel refuses {value:?} for {path}: {source}"))
            }
            _ => Error::file("write", path, source),
        },
    }
}

/// Turns `File` errors for missing files and devices into `Unsupported`.
pub(super) fn classified(error: Error) -> Error {
    match error {
        Error::File { path, source, .. }
            if source.kind() == io::ErrorKind::NotFound
                || matches!(source.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) =>
        {
            Error::Unsupported(format!("this machine has no {}", path.display()))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::error::ErrorClass;
    use crate::lease;
    use crate::root::Root;

    #[test]
    fn a_knob_under_a_lease_is_busy_and_not_waited_for() {
        let (dir, site) = machine();
        let path = dir.path().join("sys/devices/knob");
        fs::write(&path, "1\n").unwrap();
        let knob = KnobFile::open(&site, Path::new("/sys/devices/knob")).unwrap();
        let leased = lease::take(&path);
        let read = classified(knob.read().unwrap_err());
        let written = refusal(knob.path(), "2", knob.write("2").unwrap_err());
        for said in [read.to_string(), written.to_string()] {
            assert!(said.contains("/sys/devices/knob: another process holds a lease"), "{said}");
        }
        drop(leased);
        knob.write("2").unwrap();
        assert_eq!(knob.read().unwrap(), "2");
    }

    fn machine() -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/devices")).unwrap();
        let site = Site::of(&Root::at(dir.path())).unwrap();
        (dir, site)
    }

    fn knob(site: &Site) -> Result<KnobFile> {
        KnobFile::open(site, Path::new("/sys/knob"))
    }

    #[test]
    fn writing_leaves_just_the_value() {
        let (dir, site) = machine();
        let file = dir.path().join("sys/knob");
        fs::write(&file, "performance\n").unwrap();
        let knob = knob(&site).unwrap();
        for value in ["powersave", "x", "schedutil-and-longer", "two\nlines", "", "y"] {
            knob.write(value).unwrap();
            assert_eq!(knob.read().unwrap(), value);
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("{value}\n"));
        }
    }

    #[test]
    fn a_write_killed_between_its_two_steps_reads_as_the_new_value() {
        let (dir, site) = machine();
        fs::write(dir.path().join("sys/knob"), "performance\n").unwrap();
        let knob = knob(&site).unwrap();
        failpoint::kill_after(1);
        knob.write("x").unwrap_err();
        assert!(failpoint::disarm());
        assert_eq!(knob.read().unwrap(), "x");
    }

    #[test]
    fn only_a_regular_file_is_a_knob() {
        let (dir, site) = machine();
        fs::write(dir.path().join("sys/knob"), "1").unwrap();
        assert!(knob(&site).is_ok());
        assert!(KnobFile::open(&site, Path::new("/sys/devices")).is_err());
        let pipe = dir.path().join("sys/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(KnobFile::open(&site, Path::new("/sys/pipe")).is_err());
    }

    #[test]
    fn a_knob_must_be_readable_and_writable() {
        let (dir, site) = machine();
        let file = dir.path().join("sys/knob");
        fs::write(&file, "1").unwrap();
        let why = |mode| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            knob(&site).unwrap().check_both_ways().map_err(|error| error.to_string())
        };
        assert_eq!(why(0o644), Ok(()));
        assert_eq!(why(0o444), Err("/sys/knob is read-only".to_owned()));
        assert!(why(0o200).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn content_that_is_not_text_or_too_long_is_refused() {
        let (dir, site) = machine();
        let file = dir.path().join("sys/knob");
        fs::write(&file, b"\xff\xfe").unwrap();
        let error = knob(&site).unwrap().read().unwrap_err().to_string();
        assert_eq!(error, "/sys/knob contains bytes that are not UTF-8");
        fs::write(&file, "x".repeat(LARGEST_VALUE + 1)).unwrap();
        assert!(knob(&site).unwrap().read().is_err());
    }

    #[test]
    fn refusals_are_classified_by_the_remedy() {
        let class = |code| refusal("/sys/knob", "x", io::Error::from_raw_os_error(code)).class();
        assert_eq!(class(libc::EINVAL), ErrorClass::Usage);
        assert_eq!(class(libc::ENOENT), ErrorClass::Unsupported);
        assert_eq!(class(libc::ENODEV), ErrorClass::Unsupported);
        assert_eq!(class(libc::EROFS), ErrorClass::Unsupported);
        assert_eq!(class(libc::EPERM), ErrorClass::Permission);
        assert_eq!(class(libc::EBUSY), ErrorClass::Other);
    }
}
