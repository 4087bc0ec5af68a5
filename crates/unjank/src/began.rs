//! The start time of this process.

use std::sync::LazyLock;

use unjank_host::Timestamp;

/// Set by the first use, which is the first line of `main`.
static BEGAN: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);

/// The beginning of `main`. Time limits count from here.
pub(crate) fn at() -> Timestamp {
    *BEGAN
}
