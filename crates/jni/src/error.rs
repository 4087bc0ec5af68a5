//! Errors of this crate.

/// The result of fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether this user lacks a permission.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Host(error) if error.class() == unjank_host::ErrorClass::Permission)
    }
}

/// Why a priority was not set, or a task does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused a call.
    #[error(transparent)]
    Host(#[from] unjank_host::Error),
    /// Invalid arguments from Java.
    #[error("{0}")]
    Invalid(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
    /// The JVM refused a call.
    #[error("the JVM refused a call: {0}")]
    Jni(#[from] jni::errors::Error),
}
