//! Converts SQLite's errors into this crate's.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;

/// The error for SQLite's `error` about the store in `path`.
pub(super) fn error(action: &'static str, path: &Path, error: &rusqlite::Error) -> Error {
    let path = path.to_owned();
    let reason = || error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Error::NotAStore { path, reason: "it is not an SQLite database".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, reason: reason() },
        Some(ErrorCode::DiskFull) => Error::Full(path),
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path, reason: reason() },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy(path),
        _ => Error::Store { action, path, reason: reason() },
    }
}
