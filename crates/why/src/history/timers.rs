//! Armed timers, with the threads that armed them.

use std::collections::HashMap;

use super::origin::Armed;

/// Armed timers, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Timers(HashMap<u64, Armed>);

impl Timers {
    pub(super) fn arm(&mut self, timer: u64, armed: Armed) {
        self.0.insert(timer, armed);
    }

    /// An interrupt armed the timer, so no thread is known to have asked for it.
    pub(super) fn forget(&mut self, timer: u64) {
        self.0.remove(&timer);
    }

    /// The timer expires. Returns its arming by a thread, and forgets it, because another timer may
    /// reuse the address.
    pub(super) fn expire(&mut self, timer: u64) -> Option<Armed> {
        self.0.remove(&timer)
    }
}
