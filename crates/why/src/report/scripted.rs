//! Scripts of events, explained.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::script::{Script, at};

use super::explained::{Clocks, Explained};

/// What thread 7 of a script did from its beginning to `end`.
pub(super) fn explained(script: &Script, end: u64) -> Explained {
    explained_with(script, end, Clocks::default())
}

/// As `explained`, on a machine with these clocks.
pub(super) fn explained_with(script: &Script, end: u64, clocks: Clocks) -> Explained {
    Explained::new(script.trace(), ThreadId(7), (at(0), at(end)), clocks)
}
