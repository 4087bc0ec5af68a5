//! The memory of services: texts by name, kept from one start to the next.

use rusqlite::{Connection, OptionalExtension as _};

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
            let transaction = connection.transaction()?;
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
}
