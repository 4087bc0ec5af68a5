//! Paths that only root and this user can change.
//!
//! A user who can write to a directory above a file can replace the file. So a
//! path is walked from `/` down, and every directory on it must belong to root
//! or to this user and be writable by nobody else, as for sshd(8) and sudo(8).
//! In a sticky directory (`/tmp`) other users can create entries but not
//! replace ours. Links are followed if they belong to root or to this user.
//!
//! Files that are only written ([`open_untrusted_directory`]) may lie in other
//! users' directories. There root follows no link of another user, who could
//! otherwise choose the file.

#[cfg(test)]
mod tests;
mod untrusted;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, open, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Error, Result};

pub use untrusted::{
    is_untrusted, is_untrusted_directory, open_untrusted, read_untrusted, resolve_links,
};

/// The number of links that the kernel follows in a path: `path_resolution(7)`.
const MOST_LINKS: usize = 40;
/// Mode bits: writable by the group or all; writable or readable by them; only owners may remove
/// entries.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_OPEN: u32 = 0o066;
const STICKY: u32 = 0o1000;
/// `PROC_SUPER_MAGIC` of `include/uapi/linux/magic.h`.
const PROCFS: u32 = 0x9fa0;
/// The largest trusted file in bytes.
const LARGEST: u64 = 16 << 20;
/// Android's `AID_SYSTEM`, which owns `/data`.
const ANDROID_SYSTEM: u32 = 1000;

/// What to do about missing directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Fail.
    Refuse,
    /// Create them.
    Make,
}

/// The requirement on all directories and links of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requirement {
    /// No other user can replace a part of it.
    OnlyOurs,
    /// Root follows no link of another user.
    NoLinksOfOthers,
}

/// Opens the directory `path`, which must not itself be a link or be writable
/// by others.
///
/// # Errors
/// `File` if it cannot be opened or created, `Permission` if another user could
/// replace it: the error names the directory that the user owns or can write
/// to.
pub(crate) fn open_directory(path: &Path, missing: Missing) -> Result<OwnedFd> {
    let action = match missing {
        Missing::Refuse => "open the state directory",
        Missing::Make => "make the state directory",
    };
    let mut walk = Walk::begin(path, missing, Requirement::OnlyOurs, action)?;
    let name = walk.enter_all_but_last()?;
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = walk.open(&name, directory)?;
    check(&walk.stat(&opened)?, &walk.shown.join(&name), OTHERS_WRITE)?;
    Ok(opened)
}

/// The text of the file `path`, which only root and this user can write or
/// replace, so that it may be acted upon with their rights.
///
/// # Errors
/// `File` if it cannot be read or is not UTF-8, `Permission` if another user
/// could have written it: the error names the file or directory that the user
/// owns or can write to.
pub fn read_trusted(path: &Path) -> Result<String> {
    let error = |source| Error::file("read", path, source);
    let mut walk = Walk::begin(path, Missing::Refuse, Requirement::OnlyOurs, "read")?;
    let opened = loop {
        let name = walk.enter_all_but_last()?;
        // For the last directory, the sticky bit is not enough.
        check(&walk.stat(&walk.dir)?, &walk.shown, OTHERS_WRITE)?;
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        match walk.open(&name, flags | OFlags::CLOEXEC) {
            Err(Error::File { source, .. }) if source.raw_os_error() == Some(libc::ELOOP) => {
                let link = walk.open(&name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?;
                let stat = walk.stat(&link)?;
                walk.follow(&name, &link, &stat)?;
            }
            opened => {
                walk.shown.push(&name);
                break opened?;
            }
        }
    };
    let stat = walk.stat(&opened)?;
    check(&stat, &walk.shown, OTHERS_WRITE)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(error(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let mut text = String::new();
    let read = File::from(opened).take(LARGEST + 1).read_to_string(&mut text).map_err(error)?;
    if read as u64 > LARGEST {
        return Err(error(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(text)
}

/// Opens the directory `path`, which may belong to any user, and returns its
/// path without links. Root follows only its own links.
///
/// # Errors
/// `File` if it cannot be opened or created, `Permission` for a link that
/// belongs to another user.
pub(crate) fn open_untrusted_directory(
    path: &Path,
    missing: Missing,
) -> Result<(OwnedFd, PathBuf)> {
    let mut walk = Walk::begin(path, missing, Requirement::NoLinksOfOthers, "open")?;
    while let Some(name) = walk.left.pop_front() {
        walk.step(&name)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A directory that can be searched but not listed can still be written to.
    let readable = match openat(&walk.dir, ".", flags, Mode::empty()) {
        Err(Errno::ACCESS) => return Ok((walk.dir, walk.shown)),
        opened => opened.map_err(|error| walk.error(error))?,
    };
    Ok((readable, walk.shown))
}

/// Checks that `stat` is of something that belongs to this user and that others
/// cannot write to.
///
/// # Errors
/// `Permission` names the owner or the mode.
pub(crate) fn check_private(stat: &Stat, path: &Path) -> Result<()> {
    if stat.st_uid == geteuid().as_raw() {
        check(stat, path, OTHERS_WRITE)
    } else {
        Err(not_trusted(path, &belongs_to(stat)))
    }
}

/// Checks that `stat` is of something that belongs to this user and that others
/// cannot open, so they cannot lock it either.
///
/// # Errors
/// `Permission` names the owner or the mode.
pub(crate) fn check_hidden(stat: &Stat, path: &Path) -> Result<()> {
    if stat.st_uid != geteuid().as_raw() {
        return Err(not_trusted(path, &belongs_to(stat)));
    }
    let mode = stat.st_mode & 0o7777;
    if mode & OTHERS_OPEN != 0 {
        let path = path.display();
        return Err(Error::Permission {
            what: format!("trusting {path} (others may open it (mode {mode:o}))"),
            needs: "a file that only this user can open".to_owned(),
        });
    }
    Ok(())
}

/// A walk along a path, from `/` to its end.
#[derive(Debug)]
struct Walk<'a> {
    asked: &'a Path,
    missing: Missing,
    requirement: Requirement,
    /// What is done there, for errors.
    action: &'static str,
    dir: OwnedFd,
    shown: PathBuf,
    left: VecDeque<OsString>,
    /// How many links were followed.
    links: usize,
}

impl<'a> Walk<'a> {
    fn begin(
        asked: &'a Path,
        missing: Missing,
        requirement: Requirement,
        action: &'static str,
    ) -> Result<Self> {
        let path = std::path::absolute(asked).map_err(|e| Error::file("find", asked, e))?;
        let dir = top().map_err(|error| Error::file("open", "/", error.into()))?;
        let (shown, left) = (PathBuf::from("/"), names(&path).collect());
        let walk = Self { asked, missing, requirement, action, dir, shown, left, links: 0 };
        walk.check_here()?;
        Ok(walk)
    }

    /// Walks to the directory of the last name, and returns that name.
    fn enter_all_but_last(&mut self) -> Result<OsString> {
        while let Some(name) = self.left.pop_front() {
            if self.left.is_empty() && name != ".." {
                return Ok(name);
            }
            self.step(&name)?;
        }
        Err(Error::Invalid(format!("{} does not end with a file name", self.asked.display())))
    }

    /// Enters `name`, or queues the target if it is a link.
    fn step(&mut self, name: &OsStr) -> Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Opening it as a directory triggers automounts.
        let next = match self.open(name, flags | OFlags::DIRECTORY) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                let next = self.open(name, flags)?;
                let stat = self.stat(&next)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                    return Err(self.error(Errno::NOTDIR));
                }
                return self.follow(name, &next, &stat);
            }
            next => next?,
        };
        if name == ".." {
            self.shown.pop();
        } else {
            self.shown.push(name);
        }
        self.dir = next;
        self.check_here()
    }

    fn follow(&mut self, name: &OsStr, link: &OwnedFd, stat: &Stat) -> Result<()> {
        let shown = self.shown.join(name);
        let any = self.requirement == Requirement::NoLinksOfOthers && !geteuid().is_root();
        if !any && !is_ours(stat, &shown) {
            return Err(not_trusted(&shown, &format!("a link: {}", belongs_to(stat))));
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.error(Errno::LOOP));
        }
        if self.requirement == Requirement::NoLinksOfOthers && self.is_in_procfs() {
            // The text of such a link is not always a path to its target: proc_pid_root(5).
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.dir = self.open(name, flags)?;
            self.shown = shown;
            return Ok(());
        }
        let target = readlinkat(link, "", Vec::new()).map_err(|error| self.error(error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.dir = top().map_err(|error| self.error(error))?;
            self.shown = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            self.left.push_front(name);
        }
        Ok(())
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd> {
        let opened = match openat(&self.dir, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if self.missing == Missing::Make => {
                let mode = match self.requirement {
                    Requirement::OnlyOurs => Mode::RWXU,
                    Requirement::NoLinksOfOthers => Mode::RWXU | Mode::RWXG | Mode::RWXO,
                };
                match mkdirat(&self.dir, name, mode) {
                    // Another process has just made it; its owner is checked below.
                    Ok(()) | Err(Errno::EXIST) => openat(&self.dir, name, flags, Mode::empty()),
                    Err(error) => Err(error),
                }
            }
            opened => opened,
        };
        opened.map_err(|error| self.error(error))
    }

    fn stat(&self, opened: &OwnedFd) -> Result<Stat> {
        fstat(opened).map_err(|error| self.error(error))
    }

    fn check_here(&self) -> Result<()> {
        if self.requirement == Requirement::NoLinksOfOthers {
            return Ok(());
        }
        let stat = self.stat(&self.dir)?;
        let sticky = stat.st_mode & STICKY != 0;
        check(&stat, &self.shown, if sticky { 0 } else { OTHERS_WRITE })
    }

    /// The type of `f_type` varies; the numbers have 32 bits everywhere.
    fn is_in_procfs(&self) -> bool {
        fstatfs(&self.dir).is_ok_and(|system| system.f_type as u32 == PROCFS)
    }

    fn error(&self, source: Errno) -> Error {
        Error::file(self.action, self.asked, source.into())
    }
}

fn top() -> Result<OwnedFd, Errno> {
    open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

fn check(stat: &Stat, path: &Path, forbidden: u32) -> Result<()> {
    if !is_ours(stat, path) {
        return Err(not_trusted(path, &belongs_to(stat)));
    }
    if stat.st_mode & forbidden != 0 && !is_androids(stat, path) {
        let mode = stat.st_mode & 0o7777;
        return Err(not_trusted(path, &format!("others may write to it (mode {mode:o})")));
    }
    Ok(())
}

fn is_ours(stat: &Stat, path: &Path) -> bool {
    stat.st_uid == 0 || stat.st_uid == geteuid().as_raw() || is_androids(stat, path)
}

/// Whether it is Android's `/data`, which belongs to the system's user and group.
fn is_androids(stat: &Stat, path: &Path) -> bool {
    path == Path::new("/data")
        && (stat.st_uid, stat.st_gid) == (ANDROID_SYSTEM, ANDROID_SYSTEM)
        && stat.st_mode & 0o002 == 0
        && Path::new("/system/build.prop").exists()
}

fn belongs_to(stat: &Stat) -> String {
    let user = geteuid().as_raw();
    format!("it belongs to user {}, and unjank runs as user {user}", stat.st_uid)
}

fn not_trusted(path: &Path, why: &str) -> Error {
    Error::Permission {
        what: format!("trusting {} ({why})", path.display()),
        needs: "a path that only this user can write to".to_owned(),
    }
}
