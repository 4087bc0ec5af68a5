//! The memory of services: texts by name, kept from one start to the next.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::schema::MEMORY;
use super::{Store, failure};
use crate::error::Result;

impl Store {
    /// Stores `value` under `name`, replacing the former value.
    ///
    /// # Errors
    /// If the store cannot be written. The former value stays.
    pub fn remember(&mut self, name: &str, value: &str) -> Result<()> {
        let path = self.path.clone();
        let connection = self.writable()?;
        let write = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(MEMORY, [])?;
            transaction.execute("INSERT OR REPLACE INTO memory VALUES (?1, ?2)", [name, value])?;
            transaction.commit()
        };
        write(connection).map_err(|error| failure::error("write", &path, &error))
    }

    /// The value stored under `name`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn recall(&self, name: &str) -> Result<Option<String>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let read = || {
            let there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'memory'";
            if connection.query_row(there, [], |_| Ok(())).optional()?.is_none() {
                return Ok(None);
            }
            let value = "SELECT value FROM memory WHERE name = ?1";
            connection.query_row(value, [name], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.failed("read", &error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_latest_value_is_recalled() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut store = Store::open(&path).unwrap();
        assert_eq!(store.recall("a").unwrap(), None, "there is no file yet");
        store.remember("a", "1").unwrap();
        store.remember("b", "2").unwrap();
        store.remember("a", "3").unwrap();
        let again = Store::open(&path).unwrap();
        assert_eq!(again.recall("a").unwrap().as_deref(), Some("3"));
        assert_eq!(again.recall("c").unwrap(), None);
        assert!(again.list(&crate::store::Filter::default()).unwrap().is_empty());
    }

    /// How often SQLite has asked whether to wait for another writer.
    static ASKED: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn it_waits_for_another_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.remember("a", "1").unwrap();
        let gives_up = |_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            false
        };
        store.connection.as_mut().unwrap().busy_handler(Some(gives_up)).unwrap();
        let mut other = Connection::open(&path).unwrap();
        let held = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        store.remember("a", "2").unwrap_err();
        assert_eq!(ASKED.load(Ordering::Relaxed), 1, "a transaction that has read does not wait");
        drop(held);
        store.remember("a", "3").unwrap();
        assert_eq!(store.recall("a").unwrap().as_deref(), Some("3"));
    }
}
