//! A socket on which a service is asked: `unix(7)`, one line each way.
//!
//! Everybody may ask. Who may change something is decided by who the kernel
//! says the other side is (`SO_PEERCRED`, `SO_PEERGROUPS`): root, the service's
//! own user, and the group that the socket belongs to, which is that of the
//! service unless somebody gives it to another one (`chgrp`).
//!
//! [`Askers`] serves all connections side by side, so that nobody who is slow,
//! or comes with hundreds of connections, keeps others waiting.

mod ask;
mod asker;
mod askers;
mod heard;
mod place;
mod room;

use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::error::Result;
use place::Place;

pub use ask::ask;
pub use askers::{AskerId, Askers, Question};
#[cfg(fuzzing)]
pub use heard::hear_for_fuzzing;

/// A socket that a service listens on. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    place: Place,
}

impl ControlSocket {
    /// Listens at `path`. Its directory is made if need be. A file that a
    /// service left there when it was killed is replaced. Nobody who may write
    /// to that directory can have anything else changed.
    ///
    /// # Errors
    /// `Busy` if another service listens there; `File` for what cannot be made.
    pub fn listen(path: &Path) -> Result<Self> {
        let (place, listener) = Place::bind(path)?;
        Ok(Self { listener, place })
    }

    /// Removes its file: nobody else can ask, whoever still waits for askers.
    pub fn close(&self) {
        self.place.clear();
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.place.path()
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
    fn nobody_is_asked_where_no_service_is() {
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
