//! Errors of records, histograms and the store.

use std::path::PathBuf;

use unjank_host::ErrorClass;

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A record, histogram or store that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A histogram inside a record does not decode.
    #[error("series {series}: its histogram is damaged: {reason}")]
    Histogram {
        /// The name of the series.
        series: String,
        /// The decoder's message.
        reason: String,
    },
    /// A record is not valid JSON, or not a run record.
    #[error("{origin} is not a run record: {reason}")]
    Record {
        /// Where the record came from: a file, or `run` and an id.
        origin: String,
        /// The first fault.
        reason: String,
    },
    /// The result of another tool is damaged.
    #[error("{origin} cannot be imported: {reason}")]
    Foreign {
        /// Where the text came from: a file.
        origin: String,
        /// The first fault.
        reason: String,
    },
    /// Two runs have nothing that could be compared.
    #[error(
        "runs {a} and {b} have no series and no fact with an interval in common: there is nothing to compare"
    )]
    NothingInCommon {
        /// The id of the first run.
        a: String,
        /// The id of the second run.
        b: String,
    },
    /// No run in the store matches the selector.
    #[error("no run {wanted} in {}", path.display())]
    NoRun {
        /// The selector: the beginning of an id, or `last~2`.
        wanted: String,
        /// Path of the store.
        path: PathBuf,
    },
    /// Several runs in the store match the selector.
    #[error("{wanted} matches {runs} runs: {examples} …")]
    Ambiguous {
        /// The selector: the beginning of an id, or `last~2`.
        wanted: String,
        /// The number of matches.
        runs: u64,
        /// The first few of them.
        examples: String,
    },
    /// The store holds another run with this id.
    #[error("the store already has another run {0}")]
    Exists(String),
    /// A run could not be put into the store.
    #[error("run {id} was not stored: {source}")]
    NotStored {
        /// The id of the run.
        id: String,
        /// Why the store did not take it.
        source: Box<Error>,
    },
    /// The file is not a run store.
    #[error("{} is not a run store: {reason}", path.display())]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
        /// The kind of file it is.
        reason: String,
    },
    /// A store of a later version, which this one may read but not write.
    #[error(
        "{} was written by a later unjank (store version {version}, this one knows {known}) and is \
         left as it is",
        path.display()
    )]
    LaterStore {
        /// Path of the store.
        path: PathBuf,
        /// The version that it was written with (SQLite's `user_version`).
        version: i64,
        /// The latest version known here.
        known: i64,
    },
    /// The user's permissions or the file system do not allow writing the
    /// store.
    #[error("{} cannot be written: {reason}", path.display())]
    ReadOnly {
        /// Path of the store.
        path: PathBuf,
        /// Why it cannot be written.
        reason: String,
    },
    /// No space is left on the file system of the store.
    #[error("no space left for {}", .0.display())]
    Full(PathBuf),
    /// Another process has held the store's lock for too long.
    #[error("{} is in use by another process", .0.display())]
    Busy(PathBuf),
    /// The store's pages contradict each other, or its file is truncated.
    #[error(
        "{} is damaged ({reason}); move it away, then try `sqlite3 FILE .recover` on it",
        path.display()
    )]
    Damaged {
        /// Path of the store.
        path: PathBuf,
        /// SQLite's message.
        reason: String,
    },
    /// A record in the store cannot be read. The other records can.
    #[error("run {id} in {} is damaged: {reason}", path.display())]
    DamagedRun {
        /// The id of the run.
        id: String,
        /// Path of the store.
        path: PathBuf,
        /// The fault in the record.
        reason: String,
    },
    /// A directory on the way to the store cannot be opened, or other users can
    /// write to it.
    #[error("cannot open {}: {source}", path.display())]
    Place {
        /// Path of the store, as it was named.
        path: PathBuf,
        /// The underlying error.
        source: Box<unjank_host::Error>,
    },
    /// Any other failure of the store.
    #[error("cannot {action} {}: {reason}", path.display())]
    Store {
        /// The action that failed: `read`, `create` …
        action: &'static str,
        /// Path of the store.
        path: PathBuf,
        /// The message of the system.
        reason: String,
    },
}

impl Error {
    /// The kind of failure, for example to choose an exit code.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NoRun { .. }
            | Self::Ambiguous { .. }
            | Self::Exists(_)
            | Self::NotAStore { .. }
            | Self::NothingInCommon { .. }
            | Self::Foreign { .. }
            | Self::Record { .. } => ErrorClass::Usage,
            Self::LaterStore { .. } => ErrorClass::Unsupported,
            Self::ReadOnly { .. } => ErrorClass::Permission,
            Self::NotStored { source, .. } => source.class(),
            Self::Place { source, .. } => source.class(),
            Self::Histogram { .. }
            | Self::Full(_)
            | Self::Busy(_)
            | Self::Damaged { .. }
            | Self::DamagedRun { .. }
            | Self::Store { .. } => ErrorClass::Other,
        }
    }
}
