//! What can go wrong with records, histograms and the store.

use std::path::PathBuf;

use unjank_host::ErrorClass;

/// The result of everything in this crate that can fail.
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
        /// What the decoder said.
        reason: String,
    },
    /// A record is not valid JSON, or not a run record.
    #[error("{origin} is not a run record: {reason}")]
    Record {
        /// The file.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two runs have nothing that could be compared.
    #[error("runs {a} and {b} have no series and no fact in common: there is nothing to compare")]
    NothingInCommon {
        /// The id of the first run.
        a: String,
        /// The id of the second run.
        b: String,
    },
    /// No run in the store is called that.
    #[error("no run {wanted} in {}", path.display())]
    NoRun {
        /// What was asked for.
        wanted: String,
        /// The store.
        path: PathBuf,
    },
    /// Several runs in the store could be meant.
    #[error("{wanted} could be any of {runs} runs: {examples} …")]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// How many fit.
        runs: u64,
        /// The first few of them.
        examples: String,
    },
    /// The store holds another run with this id.
    #[error("the store has another run {0} already")]
    Exists(String),
    /// A run could not be put into the store.
    #[error("run {id} was not stored: {source}")]
    NotStored {
        /// The id of the run.
        id: String,
        /// Why not.
        source: Box<Error>,
    },
    /// A file is there, but is no run store.
    #[error("{} is not a run store: {reason}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A store of a later version, which this one may read but not write.
    #[error(
        "{} was written by a later unjank (store version {version}, this one knows {known}) and is \
         left as it is",
        path.display()
    )]
    LaterStore {
        /// The store.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The latest version known here.
        known: i64,
    },
    /// A store that this user, or this file system, does not let be changed.
    #[error("{} cannot be written: {reason}", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No space is left where the store lies.
    #[error("no space left for {}", .0.display())]
    Full(PathBuf),
    /// Another process has been writing to the store for too long.
    #[error("{} is in use by another process", .0.display())]
    Busy(PathBuf),
    /// A store whose pages contradict each other, or that ends too early.
    #[error(
        "{} is damaged ({reason}); move it away, and `sqlite3 FILE .recover` may save what is left",
        path.display()
    )]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// A record in the store that cannot be read; the others can.
    #[error("run {id} in {} is damaged: {reason}", path.display())]
    DamagedRun {
        /// The id of the run.
        id: String,
        /// The store.
        path: PathBuf,
        /// What is wrong with the record.
        reason: String,
    },
    /// The way to a store cannot be walked, or is not this user's alone.
    #[error("cannot open {}: {source}", path.display())]
    Place {
        /// The store, as it was named.
        path: PathBuf,
        /// What is in the way.
        source: Box<unjank_host::Error>,
    },
    /// Any other failure of the store.
    #[error("cannot {action} {}: {reason}", path.display())]
    Store {
        /// What was tried: `read`, `create` …
        action: &'static str,
        /// The store.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// The kind of failure, e.g. to choose an exit code.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NoRun { .. }
            | Self::Ambiguous { .. }
            | Self::Exists(_)
            | Self::NotAStore { .. }
            | Self::NothingInCommon { .. }
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
