//! What services remember from one start to the next: texts by name.

use rusqlite::{Connection, OptionalExtension as _};

use super::{Store, failure};
use crate::error::Result;

/// Made when something is first remembered: a store without it is as old as
/// any, and every version reads it.
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS memory (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";

impl Store {
    /// Remembers `value` under `name`, in place of what was remembered there.
    ///
    /// # Errors
    /// If the store cannot be written. What was remembered before stays.
    pub fn remember(&mut self, name: &str, value: &str) -> Result<()> {
        let path = self.path.clone();
        let connection = self.writable()?;
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            transaction.execute(TABLE, [])?;
            transaction.execute("INSERT OR REPLACE INTO memory VALUES (?1, ?2)", [name, value])?;
            transaction.commit()
        };
        write(connection).map_err(|error| failure::error("write", &path, &error))
    }

    /// What is remembered under `name`.
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
    use super::*;

    #[test]
    fn what_is_remembered_last_is_recalled() {
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
}
