//! The schema of the store: all its tables.

/// The version of the table `RUN`, in `PRAGMA user_version`.
pub const VERSION: i64 = 1;

/// `unjk`, in `PRAGMA application_id`: `file(1)` and this program recognise the
/// store by it.
pub(super) const APPLICATION: i64 = 0x756e_6a6b;

/// The runs. `started` is in microseconds since 1970, for sorting. The other
/// columns repeat fields of `record`, for lists.
pub(super) const RUN: &str = "
CREATE TABLE run (
    id TEXT NOT NULL PRIMARY KEY,
    started INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    elapsed INTEGER NOT NULL,
    command TEXT NOT NULL,
    host TEXT NOT NULL,
    tool TEXT NOT NULL,
    labels TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX run_by_start ON run (started, id);
";

/// The memory of services: texts by name. Created on first use: a store without
/// it is still of version 1, which every release reads.
pub(super) const MEMORY: &str =
    "CREATE TABLE IF NOT EXISTS memory (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";
