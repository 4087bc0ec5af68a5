//! Errors of lock comparisons.

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
        "two threads held {strategy} at the same time: its counter shows {protected} of {done} \
         sections"
    )]
    NotExclusive {
        /// The name of the strategy.
        strategy: &'static str,
        /// Sections that ran.
        done: u64,
        /// Value of the counter that the lock protects.
        protected: u64,
    },
    /// A thread that takes the lock has panicked.
    #[error("a thread that takes the lock panicked")]
    Panicked,
    /// The second process (see [`bench::peer`](crate::bench::peer)) failed, with its message.
    #[error("the measuring process failed: {0}")]
    Elsewhere(String),
}

impl Error {
    /// The class, which decides the exit code.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Host(error) => error.class(),
            _ => ErrorClass::Other,
        }
    }
}
