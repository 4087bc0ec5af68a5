//! Notifications of writes to files: `inotify(7)`. Files of control groups
//! support it; other files of the kernel do not.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::error::{Error, Result};
use crate::root::Root;

/// A watch on files.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// A watch without files.
    ///
    /// # Errors
    /// If no file descriptor, or no inotify instance, is left.
    pub fn new() -> Result<Self> {
        inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map(Self)
            .map_err(|error| Error::syscall("inotify_init", "a watch", error))
    }

    /// Watches for writes to `path`.
    ///
    /// # Errors
    /// `File` if it does not exist, or may not be watched.
    pub fn add_writes(&mut self, root: &Root, path: &Path) -> Result<()> {
        inotify::add_watch(&self.0, root.resolve(path), WatchFlags::MODIFY)
            .map(drop)
            .map_err(|error| Error::file("watch", path, error.into()))
    }

    /// Discards pending events without waiting; returns whether there were any.
    pub fn quiet(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut any = false;
        while reader.next().is_ok() {
            any = true;
        }
        any
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
