//! The store's file: creates, opens and identifies it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, TransactionBehavior};
use unjank_host::Bytes;
use unjank_host::files::{is_untrusted, read_untrusted, resolve_links};

use super::failure;
use super::schema::{APPLICATION, RUN, VERSION};
use crate::error::{Error, Result};

/// The largest store of another user that is read.
const LARGEST: Bytes = Bytes(1 << 30);

/// Opens an existing store; `None` if there is no file, or an empty one. Each
/// access waits for other processes for as long as `patience`.
pub(super) fn open(path: &Path, patience: Duration) -> Result<Option<Connection>> {
    let path = &place(path)?;
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("open", path, &error)),
        Ok(file) if file.is_dir() => {
            return Err(Error::NotAStore {
                path: path.to_owned(),
                reason: "it is a directory".to_owned(),
            });
        }
        Ok(file) if file.len() == 0 => return Ok(None),
        Ok(_) => {}
    }
    let connection = if is_untrusted(path) { copy(path)? } else { connect(path, patience)? };
    match kind(&connection).map_err(|e| failure::error("read", path, &e))? {
        DatabaseKind::Store(_) => Ok(Some(connection)),
        DatabaseKind::Empty => Ok(None),
        DatabaseKind::Foreign => Err(Error::NotAStore {
            path: path.to_owned(),
            reason: "it is the database of another program".to_owned(),
        }),
    }
}

/// Creates the directory, the file and the table, unless they exist.
pub(super) fn create(path: &Path, patience: Duration) -> Result<Connection> {
    check_place(path)?;
    let path = &place(path)?;
    if let Some(directory) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|e| io_error("create the directory of", path, &e))?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io_error("create", path, &error));
        }
        _ => {}
    }
    let mut connection = connect(path, patience)?;
    make_table(&mut connection).map_err(|e| failure::error("create", path, &e))?;
    Ok(connection)
}

/// Makes sure that this process may write to the store, and can.
pub(super) fn prepare_for_writing(connection: &Connection, path: &Path) -> Result<()> {
    let failed = |e: rusqlite::Error| failure::error("write", path, &e);
    match kind(connection).map_err(failed)? {
        DatabaseKind::Store(version) if version > VERSION => {
            return Err(Error::LaterStore { path: path.to_owned(), version, known: VERSION });
        }
        DatabaseKind::Store(_) => {}
        DatabaseKind::Empty | DatabaseKind::Foreign => {
            return Err(Error::NotAStore {
                path: path.to_owned(),
                reason: "another program has changed it in the meantime".to_owned(),
            });
        }
    }
    check_place(path)?;
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        return Err(Error::ReadOnly {
            path: path.to_owned(),
            reason: "the file, or its file system, is read-only for this user".to_owned(),
        });
    }
    // Durable once committed: see the module's documentation.
    connection.execute_batch("PRAGMA synchronous = EXTRA").map_err(failed)
}

/// Gives unused pages back to the file system.
pub(super) fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    // Each step frees one page.
    let mut pragma = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut steps = pragma.query([])?;
    while steps.next()?.is_some() {}
    Ok(())
}

/// Refuses a directory in which another user could redirect root's writes:
/// `SQLite` opens files by name, and others beside them.
///
/// # Errors
/// `ReadOnly`.
pub(super) fn check_place(path: &Path) -> Result<()> {
    if is_untrusted(&place(path)?) {
        let reason = "other users can write there; root only reads such a store".to_owned();
        return Err(Error::ReadOnly { path: path.to_owned(), reason });
    }
    Ok(())
}

/// A copy in memory of another user's store: files beside it may be links.
fn copy(path: &Path) -> Result<Connection> {
    let bytes = read_untrusted(path, LARGEST)
        .map_err(|source| Error::Place { path: path.to_owned(), source: Box::new(source) })?;
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact(MAIN_DB, bytes.as_slice(), bytes.len(), true)?;
        protect(&connection)?;
        Ok(connection)
    };
    open().map_err(|e| failure::error("open", path, &e))
}

/// The real path of a store. A link of another user must not make root create a
/// file, and a journal beside it, at a place of their choice.
fn place(path: &Path) -> Result<PathBuf> {
    resolve_links(path)
        .map_err(|source| Error::Place { path: path.to_owned(), source: Box::new(source) })
}

fn connect(path: &Path, patience: Duration) -> Result<Connection> {
    // Falls back to reading if the file, or its file system, is read-only.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(patience)?;
        protect(&connection)?;
        Ok(connection)
    };
    open().map_err(|e| failure::error("open", path, &e))
}

/// The file may come from anywhere: its schema is not trusted, and its pages
/// are checked (sqlite.org/security.html).
fn protect(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")
}

enum DatabaseKind {
    /// A store of this version.
    Store(i64),
    /// Empty.
    Empty,
    /// Another program's.
    Foreign,
}

/// Objects that no store has and that would execute: views, triggers, virtual
/// tables.
const FOREIGN: &str = "
SELECT count(*) FROM sqlite_schema
WHERE type NOT IN ('table', 'index') OR (type = 'table' AND (sql IS NULL OR rootpage = 0))";

fn kind(connection: &Connection) -> rusqlite::Result<DatabaseKind> {
    // Another process may be creating the store: all numbers are of one moment.
    let is_free = connection.is_autocommit();
    let _moment = is_free.then(|| connection.unchecked_transaction()).transpose()?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    let foreign = number(FOREIGN)?;
    Ok(match (application, version, objects) {
        (APPLICATION, 1.., _) if foreign == 0 => DatabaseKind::Store(version),
        (0, 0, 0) => DatabaseKind::Empty,
        _ => DatabaseKind::Foreign,
    })
}

/// Creates the table of runs, unless another process was faster.
fn make_table(connection: &mut Connection) -> rusqlite::Result<()> {
    // Has an effect only before the first table exists.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if matches!(kind(&transaction)?, DatabaseKind::Empty) {
        transaction.execute_batch(RUN)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

fn io_error(action: &'static str, path: &Path, error: &io::Error) -> Error {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full(path),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::ReadOnly { path, reason: error.to_string() }
        }
        _ => Error::Store { action, path, reason: error.to_string() },
    }
}
