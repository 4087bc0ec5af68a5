//! What SQLite says, in the words of this crate.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

/// The error of the store in `path` that SQLite's `error` stands for.
pub(super) fn error(action: &'static str, path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let reason = || error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Error::NotAStore { path, reason: "it is no SQLite database".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, reason: reason() },
        Some(ErrorCode::DiskFull) => Error::Full(path),
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path, reason: reason() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy(path),
        _ => Error::Store { action, path, reason: reason() },
    }
}
