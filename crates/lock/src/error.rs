//! What can go wrong while locks are compared.

use unjank_host::ErrorClass;

/// The result of comparing locks.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why locks could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request to the kernel, or an option that cannot work.
    #[error(transparent)]
    Host(#[from] unjank_host::Error),
    /// Two threads were in a section at the same time.
    #[error(
        "{strategy} does not exclude: of {done} sections, {protected} left a trace in what it \
         protects"
    )]
    NotExclusive {
        /// The strategy.
        strategy: &'static str,
        /// Sections that were entered and left.
        done: u64,
        /// What they counted together.
        protected: u64,
    },
    /// A thread that takes the lock has panicked.
    #[error("a thread that takes the lock panicked")]
    Panicked,
    /// The process that measures under a quota has failed, and says why.
    #[error("the process that measures for this one: {0}")]
    Elsewhere(String),
}

impl Error {
    /// Its kind, e.g. to choose an exit code.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Host(error) => error.class(),
            _ => ErrorClass::Other,
        }
    }
}
