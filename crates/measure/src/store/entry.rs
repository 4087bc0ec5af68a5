//! Lists of runs, without reading the records.

use jiff::Timestamp as Date;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Serialize;
use unjank_host::{Bytes, Nanos};

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its id: `20261121T101530-5f3a9c`.
    pub id: String,
    /// The command without its options.
    pub command: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Length of the run.
    pub elapsed: Nanos,
    /// The machine in one line.
    pub host: String,
    /// The version of unjank that made it.
    pub tool: String,
    /// How to read its numbers: `interrupted`, `modelled` …
    pub labels: Vec<String>,
    /// The size of its record.
    pub size: Bytes,
}

/// Selects the runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this command, or all that begin with it: `jitter` for `jitter
    /// native` and `jitter jvm`.
    pub command: Option<String>,
    /// The largest number of runs, newest first.
    pub limit: Option<u32>,
    /// Which run is newer.
    pub order: Order,
}

/// Which of two runs is the newer one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The one that started later, by the clock at that time.
    #[default]
    Started,
    /// The one that was stored later. The clock may have been set back in between.
    Stored,
}

/// The runs to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest ones, up to this number.
    Newest(u32),
    /// Runs that started at this moment or later.
    Since(Date),
}

const COLUMNS: &str = "id, command, started_at, elapsed, host, tool, labels, octet_length(record)";

/// The order of lists, unless [`Order::Stored`] is wanted.
const NEWEST_FIRST: &str = "ORDER BY started DESC, id DESC";

pub(super) fn list(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Entry>> {
    let command = filter.command.as_deref();
    let limit = filter.limit.map_or(-1, i64::from);
    let order = match filter.order {
        Order::Started => NEWEST_FIRST,
        // A new row has a larger number than all rows (https://www.sqlite.org/autoinc.html).
        Order::Stored => "ORDER BY rowid DESC",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM run \
         WHERE ?1 IS NULL OR command = ?1 OR substr(command, 1, length(?1) + 1) = ?1 || ' ' \
         {order} LIMIT ?2"
    );
    connection.prepare(&sql)?.query_map(params![command, limit], entry)?.collect()
}

/// The runs that `keep` does not keep.
pub(super) fn beyond(connection: &Connection, keep: Keep) -> rusqlite::Result<Vec<Entry>> {
    let (condition, number) = match keep {
        Keep::Newest(number) => ("1", i64::from(number)),
        Keep::Since(date) => ("started < ?1", date.as_microsecond()),
    };
    let offset = if matches!(keep, Keep::Newest(_)) { "LIMIT -1 OFFSET ?1" } else { "" };
    let sql = format!("SELECT {COLUMNS} FROM run WHERE {condition} {NEWEST_FIRST} {offset}");
    connection.prepare(&sql)?.query_map([number], entry)?.collect()
}

pub(super) fn with_id(connection: &Connection, id: &str) -> rusqlite::Result<Vec<Entry>> {
    let sql = format!("SELECT {COLUMNS} FROM run WHERE id = ?1");
    connection.prepare(&sql)?.query_map([id], entry)?.collect()
}

/// The id of the newest run, or of the one `back` places before it.
pub(super) fn nth_newest(connection: &Connection, back: u32) -> rusqlite::Result<Option<String>> {
    let sql = format!("SELECT id FROM run {NEWEST_FIRST} LIMIT 1 OFFSET ?1");
    connection.query_row(&sql, [back], |row| row.get(0)).optional()
}

/// How many ids start with `prefix`, and the first few of them in order.
pub(super) fn starting_with(
    connection: &Connection,
    prefix: &str,
) -> rusqlite::Result<(u64, Vec<String>)> {
    let fits = "substr(id, 1, length(?1)) = ?1 AND length(?1) > 0";
    let count = format!("SELECT count(*) FROM run WHERE {fits}");
    let count: i64 = connection.query_row(&count, [prefix], |row| row.get(0))?;
    let some = format!("SELECT id FROM run WHERE {fits} ORDER BY id LIMIT 3");
    let mut some = connection.prepare(&some)?;
    let some: rusqlite::Result<Vec<String>> = some.query_map([prefix], |row| row.get(0))?.collect();
    Ok((count as u64, some?))
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let labels: String = row.get(6)?;
    Ok(Entry {
        id: row.get(0)?,
        command: row.get(1)?,
        started_at: row.get(2)?,
        elapsed: Nanos(row.get::<_, i64>(3)?.max(0) as u64),
        host: row.get(4)?,
        tool: row.get(5)?,
        labels: labels.split(' ').filter(|label| !label.is_empty()).map(str::to_owned).collect(),
        size: Bytes(row.get::<_, Option<i64>>(7)?.unwrap_or(0).max(0) as u64),
    })
}
