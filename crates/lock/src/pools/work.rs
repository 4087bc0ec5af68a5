//! A piece of work.

/// What a thread of a pool runs.
pub(super) type Work = Box<dyn FnOnce() + Send>;
