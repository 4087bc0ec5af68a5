//! Errors as exceptions: wrong arguments and wrong content are `ValueError`, files that cannot be
//! read `OSError`, runs that do not exist `LookupError`.

use std::fmt::Display;
use std::io;
use std::path::Path;

use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyLookupError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use unjank_host::Error;
use unjank_measure::Error as StoreError;

/// A wrong argument.
pub(crate) fn wrong(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error of the machine, of a file or of a trace.
pub(crate) fn of_host(error: &Error) -> PyErr {
    match error {
        Error::File { path, source, .. } => of_file(path, source),
        Error::Invalid(_) | Error::Parse { .. } => wrong(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// An error of the store of runs, or of a record.
pub(crate) fn of_store(error: &StoreError) -> PyErr {
    let message = error.to_string();
    match error {
        StoreError::NoRun { .. } | StoreError::Ambiguous { .. } => PyLookupError::new_err(message),
        StoreError::Record { .. } | StoreError::NothingInCommon { .. } => {
            PyValueError::new_err(message)
        }
        _ => PyOSError::new_err(message),
    }
}

/// Records are plain data, which always has a form in JSON.
#[expect(clippy::needless_pass_by_value, reason = "it is an argument of map_err")]
pub(crate) fn of_json(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A file that cannot be read.
pub(crate) fn of_file(path: &Path, error: &io::Error) -> PyErr {
    let message = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        io::ErrorKind::InvalidData => PyValueError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}
