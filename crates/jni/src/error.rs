//! What can go wrong with a task.

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a thread keeps its priority, or a task does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel said no.
    #[error(transparent)]
    Host(#[from] unjank_host::Error),
    /// Java asked for something that can never work.
    #[error("{0}")]
    Invalid(String),
    /// Anything else, in words.
    #[error("{0}")]
    Failed(String),
    /// The JVM refused a call.
    #[error("the JVM refused a call: {0}")]
    Jni(#[from] jni::errors::Error),
}
