//! The run store: all runs, in one SQLite file.
//!
//! The file has one table (`schema`). Each row holds the whole record as JSON, beside the
//! columns that a list of runs shows. So `sqlite3 runs.sqlite 'select record
//! from run'` needs no unjank, and a damaged record affects no other.
//!
//! **Rollback journal, not WAL.** Runs are written one at a time and rarely, so
//! WAL's concurrency gains nothing, and it has a cost: a store on read-only or
//! network media could not be read without its `-shm` file. Each run is one
//! transaction under `synchronous = EXTRA`: it is stored as a whole or not at
//! all, and survives a power cut once it is stored.
//!
//! **Memory.** A second table, created on first use, keeps what a service has
//! learned, by name.
//!
//! **Private.** Records name processes and files. The directory is made with
//! mode 0700, the file with 0600, and SQLite gives its journal the same.

mod entry;
mod failure;
mod file;
mod memory;
mod schema;
mod selector;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp as Date;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::error::{Error, Result};
use crate::record::RunRecord;

pub use entry::{Entry, Filter, Keep, Order};
pub use schema::VERSION;
pub use selector::Selector;

/// The largest record that is read back, in bytes.
const LARGEST: u64 = 256 << 20;

/// A store of runs. Opening a store that does not exist creates nothing; it is
/// empty until something is put into it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Option<Connection>,
    /// How long each access waits for other processes.
    patience: Duration,
}

/// How long a writer usually waits for another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of runs of a command that are searched for repetitions of one.
const REPEATS: u32 = 40;

/// The result of storing a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The run has been added.
    New,
    /// The store already had the run, byte for byte.
    Already,
}

impl Store {
    /// Opens the store in the file `path`.
    ///
    /// # Errors
    /// `NotAStore` for a file of another kind, `Damaged` for a file that SQLite
    /// cannot read, `Store` for a file that cannot be opened. A store that is
    /// read-only, or that a later version wrote, opens.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_patiently(path, PATIENCE)
    }

    /// As [`open`](Self::open). If another process writes, each access waits for
    /// `patience`, not for a minute.
    ///
    /// # Errors
    /// As [`open`](Self::open), and `Busy`.
    pub fn open_patiently(path: &Path, patience: Duration) -> Result<Self> {
        let connection = file::open(path, patience)?;
        Ok(Self { path: path.to_owned(), connection, patience })
    }

    /// Checks whether a store in the file `path` may be written: root does not
    /// write where other users can.
    ///
    /// # Errors
    /// `ReadOnly`, with the reason; `Place` if a link leads elsewhere.
    pub fn check_place(path: &Path) -> Result<()> {
        file::check_place(path)
    }

    /// Path of the file, which may not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a run, as a whole or not at all, even if the machine loses power.
    ///
    /// # Errors
    /// `NotStored` with the reason: no space, no permission, a later version's
    /// store, another run of the same id.
    pub fn put(&mut self, record: &RunRecord) -> Result<Stored> {
        let text = serde_json::to_string(record).expect("a record has only string keys");
        self.insert(record, &text)
    }

    /// Stores a record that came as text from `origin`, after a strict check
    /// and with all fields it came with.
    ///
    /// # Errors
    /// `Record` if it is not a record, otherwise as [`put`](Self::put).
    pub fn import(&mut self, text: &str, origin: &str) -> Result<(RunRecord, Stored)> {
        let record = RunRecord::import(text, origin)?;
        let stored = self.insert(&record, text)?;
        Ok((record, stored))
    }

    /// The runs that pass `filter`, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        entry::list(connection, filter).map_err(|e| self.failed("read", &e))
    }

    /// The record of one run.
    ///
    /// # Errors
    /// `NoRun` or `Ambiguous` for the selector, `DamagedRun` for a record that
    /// cannot be read.
    pub fn get(&self, selector: &Selector) -> Result<RunRecord> {
        let (id, text) = self.text(selector)?;
        RunRecord::from_json(&text, &id).map_err(|error| match error {
            Error::Record { reason, .. } => self.damaged(id, reason),
            other => other,
        })
    }

    /// The newest runs of the commands of `runs`, besides these: they may show how far such runs
    /// differ. None where the store cannot be read.
    pub fn others_like(&self, runs: &[&RunRecord]) -> Vec<RunRecord> {
        let commands: BTreeSet<&str> = runs.iter().map(|run| run.command.as_str()).collect();
        let of_command = |command: &str| {
            let command = Some(command.to_owned());
            let filter = Filter { command, limit: Some(REPEATS), ..Filter::default() };
            self.list(&filter).unwrap_or_default()
        };
        let entries = commands.into_iter().flat_map(of_command);
        let others = entries.filter(|entry| runs.iter().all(|run| run.id != entry.id));
        others.filter_map(|entry| self.get(&Selector::Prefix(entry.id)).ok()).collect()
    }

    /// The id of one run and its record, as it is stored.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn text(&self, selector: &Selector) -> Result<(String, String)> {
        let unknown = || Error::NoRun { wanted: selector.to_string(), path: self.path.clone() };
        let connection = self.connection.as_ref().ok_or_else(unknown)?;
        let id = match selector {
            Selector::Last(back) => entry::nth_newest(connection, *back),
            Selector::Prefix(prefix) => {
                let (count, examples) = entry::starting_with(connection, prefix)
                    .map_err(|e| self.failed("read", &e))?;
                match examples.as_slice() {
                    // An exact id is meant, even if it also begins another one.
                    [first, ..] if count == 1 || first == prefix => Ok(Some(first.clone())),
                    [] => Ok(None),
                    several => {
                        return Err(Error::Ambiguous {
                            wanted: prefix.clone(),
                            runs: count,
                            examples: several.join(", "),
                        });
                    }
                }
            }
        };
        let id = id.map_err(|e| self.failed("read", &e))?.ok_or_else(unknown)?;
        let damaged = |reason: &str| self.damaged(id.clone(), reason.to_owned());
        let size = "SELECT octet_length(record) FROM run WHERE id = ?1";
        let size = connection.query_row(size, [&id], |row| row.get::<_, Option<i64>>(0));
        let size = size.map_err(|e| self.failed("read", &e))?;
        if size.is_none_or(|size| size as u64 > LARGEST) {
            return Err(damaged("it is empty, or larger than 256 MiB"));
        }
        let text: rusqlite::Result<Vec<u8>> = connection.query_row(
            "SELECT CAST(record AS BLOB) FROM run WHERE id = ?1",
            [&id],
            |row| row.get(0),
        );
        let text = text.map_err(|e| self.failed("read", &e))?;
        let text = String::from_utf8(text).map_err(|_| damaged("it is not text"))?;
        Ok((id, text))
    }

    /// Removes the runs that `keep` does not select, and returns them; their
    /// space goes back to the file system. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// If the store cannot be changed. No run is removed then.
    pub fn prune(&mut self, keep: Keep, dry_run: bool) -> Result<Vec<Entry>> {
        if self.connection.is_none() {
            return Ok(Vec::new());
        }
        if dry_run {
            let connection = self.connection.as_ref().expect("checked just above");
            return entry::beyond(connection, keep).map_err(|e| self.failed("read", &e));
        }
        self.delete_if(|connection| entry::beyond(connection, keep))
    }

    /// Removes one run, and returns its id.
    ///
    /// # Errors
    /// As [`get`](Self::get), or if the store cannot be changed.
    pub fn delete(&mut self, selector: &Selector) -> Result<String> {
        let (id, _) = self.text(selector)?;
        self.delete_if(|connection| entry::with_id(connection, &id))?;
        Ok(id)
    }

    fn delete_if(
        &mut self,
        choose: impl FnOnce(&Connection) -> rusqlite::Result<Vec<Entry>>,
    ) -> Result<Vec<Entry>> {
        let path = self.path.clone();
        let failed = |e: rusqlite::Error| failure::error("write", &path, &e);
        let connection = self.writable()?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let chosen = choose(&transaction).map_err(failed)?;
        for entry in &chosen {
            transaction.execute("DELETE FROM run WHERE id = ?1", [&entry.id]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        if !chosen.is_empty() {
            // Space that cannot be given back now is reused by the next run.
            let _later = file::give_back(connection);
        }
        Ok(chosen)
    }

    fn insert(&mut self, record: &RunRecord, text: &str) -> Result<Stored> {
        self.try_insert(record, text)
            .map_err(|source| Error::NotStored { id: record.id.clone(), source: Box::new(source) })
    }

    fn try_insert(&mut self, record: &RunRecord, text: &str) -> Result<Stored> {
        let started: Date = record.started_at.parse().map_err(|_| Error::Record {
            origin: format!("run {}", record.id),
            reason: format!("started_at is {:?}, which is not a date", record.started_at),
        })?;
        let path = self.path.clone();
        let failed = |e: rusqlite::Error| failure::error("write", &path, &e);
        let transaction = self
            .writable()?
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let stored = "SELECT CAST(record AS BLOB) FROM run WHERE id = ?1";
        let stored = transaction.query_row(stored, [&record.id], |row| row.get::<_, Vec<u8>>(0));
        match stored.optional().map_err(failed)? {
            Some(stored) if is_same(&stored, text) => return Ok(Stored::Already),
            Some(_) => return Err(Error::Exists(record.id.clone())),
            None => {}
        }
        transaction
            .execute(
                "INSERT INTO run (id, started, started_at, elapsed, command, host, tool, labels, \
                 record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    record.id,
                    started.as_microsecond(),
                    record.started_at,
                    i64::try_from(record.elapsed).unwrap_or(i64::MAX),
                    record.command,
                    record.host.summary(),
                    record.tool.version,
                    record.labels.join(" "),
                    text,
                ],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(Stored::New)
    }

    /// The connection, for writing. Creates the file if there is none.
    fn writable(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(file::create(&self.path, self.patience)?);
        }
        let connection = self.connection.as_mut().expect("opened just above, if not before");
        file::prepare_for_writing(connection, &self.path)?;
        Ok(connection)
    }

    fn damaged(&self, id: String, reason: String) -> Error {
        Error::DamagedRun { id, path: self.path.clone(), reason }
    }

    fn failed(&self, action: &'static str, error: &rusqlite::Error) -> Error {
        failure::error(action, &self.path, error)
    }
}

/// Whether two records are the same JSON, however it is laid out.
fn is_same(stored: &[u8], text: &str) -> bool {
    let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
    stored == text.as_bytes()
        || value(stored).is_some_and(|stored| value(text.as_bytes()) == Some(stored))
}

#[cfg(test)]
mod tests {
    use unjank_host::{Machine, Timestamp};

    use super::*;
    use crate::Findings;
    use crate::record::{Run, Start, Tool};

    fn record(tail: u32) -> RunRecord {
        let mut findings = Findings::default();
        // Longer than a page, so that a limit on pages takes effect.
        findings.warn("w".repeat(20_000));
        let run = Run {
            tool: Tool { version: "0.1.0".to_owned(), commit: None },
            command: "test".to_owned(),
            host: Machine::default(),
            settings: [].into(),
            findings,
            labels: Vec::new(),
        };
        Start::at(Date::UNIX_EPOCH, Timestamp::now(), tail).finish(Timestamp::now(), run)
    }

    #[test]
    fn a_full_store_reports_it_and_keeps_its_runs() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("runs.sqlite")).unwrap();
        let first = record(1);
        store.put(&first).unwrap();
        let connection = store.connection.as_ref().unwrap();
        connection.execute_batch("PRAGMA max_page_count = 1").unwrap();
        let error = store.put(&record(2)).unwrap_err();
        assert!(
            matches!(&error, Error::NotStored { source, .. } if matches!(**source, Error::Full(_))),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.starts_with("run 19700101T000000-000002 was not stored: no space"), "{text}");
        assert_eq!(store.get(&Selector::Last(0)).unwrap(), first);
        assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    }

    #[test]
    fn a_writer_that_never_ends_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.put(&record(1)).unwrap();
        let mut other = Store::open(&path).unwrap();
        store.connection.as_ref().unwrap().busy_timeout(Duration::from_millis(20)).unwrap();
        let held = other.connection.as_mut().unwrap();
        let held = held.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let error = store.put(&record(2)).unwrap_err();
        assert!(error.to_string().ends_with("is in use by another process"), "{error}");
        drop(held);
        assert_eq!(store.put(&record(2)).unwrap(), Stored::New);
    }
}
