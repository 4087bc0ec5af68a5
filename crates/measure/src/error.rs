//! What can go wrong with records, histograms and the store.

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
        /// The file, or the run's number in the store.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
}
