//! A directory of its own for a socket, which only this user may enter.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// A number that makes the names of this process's directories unique.
static DIRECTORIES: AtomicU32 = AtomicU32::new(0);

/// The place of a socket. Dropping this removes the socket and its directory.
#[derive(Debug)]
pub struct SocketDirectory {
    directory: PathBuf,
    socket: &'static str,
}

impl SocketDirectory {
    /// Creates a directory below `place` for a socket of this name. No other user
    /// may replace entries of `place`: `/tmp`, for example, is sticky.
    ///
    /// # Errors
    /// `File` if nothing can be created there.
    pub fn create(place: &Path, socket: &'static str) -> Result<Self> {
        let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
        let time = Timestamp::now().as_nanos();
        let name = format!("unjank-{}-{number}-{time:x}", std::process::id());
        let directory = place.join(name);
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(|source| Error::file("create", &directory, source))?;
        Ok(Self { directory, socket })
    }

    /// The path of the socket, which nothing listens on yet.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(self.socket)
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        // A cleaner of /tmp may have removed them.
        let _gone_already = fs::remove_file(self.socket());
        let _not_empty_or_gone = fs::remove_dir(&self.directory);
    }
}
