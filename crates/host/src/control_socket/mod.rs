//! A socket that answers questions about a service: `unix(7)`, one line each way.
//!
//! All users may ask. Changes are allowed to root, to the service's own user,
//! and to the group that owns the socket, as the kernel identifies the client
//! (`SO_PEERCRED`, `SO_PEERGROUPS`). That group is the service's unless the
//! administrator changes it (`chgrp`).
//!
//! [`Clients`] serves all connections concurrently, so that a slow client, or
//! one with hundreds of connections, does not delay others.

mod admission;
mod ask;
mod client;
mod clients;
mod line_reader;
mod socket_file;

use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::error::Result;
use socket_file::SocketFile;

pub use ask::ask;
pub use clients::{ClientId, Clients, Question};
#[cfg(fuzzing)]
pub use line_reader::read_line_for_fuzzing;

/// A socket that a service listens on. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    file: SocketFile,
}

impl ControlSocket {
    /// Listens at `path`. Its directory is created if missing. The socket of a
    /// killed service is replaced. A user who can write to that directory cannot
    /// make this change any other file.
    ///
    /// # Errors
    /// `Busy` if another service listens there; `File` if something cannot be
    /// created.
    pub fn listen(path: &Path) -> Result<Self> {
        let (file, listener) = SocketFile::bind(path)?;
        Ok(Self { listener, file })
    }

    /// Removes its file, so that no new client can connect, even while a thread
    /// still waits for clients.
    pub fn close(&self) {
        self.file.clear();
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn asking_without_a_service_fails() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let unsupported = |path: &Path| {
            let error = ask(path, "how", Duration::from_secs(600)).unwrap_err();
            assert!(error.to_string().ends_with("boost.sock"), "{error}");
        };
        unsupported(&path);
        let socket = ControlSocket::listen(&path).unwrap();
        assert!(ControlSocket::listen(&path).is_err());
        drop(socket);
        assert!(!path.exists());
        unsupported(&path);
    }
}
