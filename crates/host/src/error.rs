//! Errors of requests to the kernel.

use std::io;
use std::path::{Path, PathBuf};

use crate::input::Stopped;

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed request to the kernel, or an unreadable answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read, written, created or listed.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The action: `read`, `write`, `list` …
        action: &'static str,
        /// The file, as the user would name it.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file does not have the expected content.
    #[error("cannot parse {}, line {line}: {what}", path.display())]
    Parse {
        /// The file, as the user would name it.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What was expected there.
        what: String,
    },
    /// A system call failed.
    #[error("{call} failed for {target}: {source}")]
    Syscall {
        /// The system call, by its manual page's name.
        call: &'static str,
        /// The thread, process, file descriptor or value it concerned.
        target: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The request can never work.
    #[error("{0}")]
    Invalid(String),
    /// This machine cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The machine can do it, but not for this user.
    #[error("{what} needs {needs}")]
    Permission {
        /// The refused action: `counting the energy of the processor`.
        what: String,
        /// The capability, limit or ownership that would allow it.
        needs: String,
    },
    /// Another program, or another unjank, uses the resource.
    #[error("{0}")]
    Busy(String),
}

/// The kinds of failure that a caller distinguishes, for example to choose an
/// exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request was wrong.
    Usage,
    /// Not possible on this machine.
    Unsupported,
    /// Not possible for this user.
    Permission,
    /// The user interrupted it.
    Interrupted,
    /// Anything else: a failed read, a full disk, an unexpected error.
    Other,
}

impl Error {
    /// A failed operation on a file.
    pub fn file(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::File { action, path: path.as_ref().to_owned(), source }
    }

    /// A failed system call.
    pub fn syscall(
        call: &'static str,
        target: impl Into<String>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Syscall { call, target: target.into(), source: source.into() }
    }

    /// A file whose `line` is not as expected; `what` begins with "expected".
    pub fn parse(path: impl AsRef<Path>, line: usize, what: impl Into<String>) -> Self {
        Self::Parse { path: path.as_ref().to_owned(), line, what: what.into() }
    }

    /// The same error about a file named by the user: if it does not exist or
    /// is a directory, the error becomes a wrong request (`Invalid`).
    #[must_use]
    pub fn of_named_file(self) -> Self {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        match &self {
            Self::File { source, .. }
                if matches!(source.kind(), NotFound | IsADirectory | NotADirectory) =>
            {
                Self::Invalid(self.to_string())
            }
            _ => self,
        }
    }

    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::File { source, .. } if Stopped::is(source) => ErrorClass::Interrupted,
            Self::File { source, .. } | Self::Syscall { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    ErrorClass::Permission
                }
                io::ErrorKind::Unsupported => ErrorClass::Unsupported,
                _ => ErrorClass::Other,
            },
            Self::Invalid(_) => ErrorClass::Usage,
            Self::Unsupported(_) => ErrorClass::Unsupported,
            Self::Permission { .. } => ErrorClass::Permission,
            Self::Parse { .. } | Self::Busy(_) => ErrorClass::Other,
        }
    }

    /// Whether the error is that a file or thread does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::File { source, .. } | Self::Syscall { source, .. } => {
                source.kind() == io::ErrorKind::NotFound
                    || source.raw_os_error() == Some(libc::ESRCH)
            }
            _ => false,
        }
    }
}
