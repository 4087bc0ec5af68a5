//! Timers, and who armed them.

use std::collections::HashMap;

use super::origin::Armed;

/// Armed timers, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Timers(HashMap<u64, Armed>);

impl Timers {
    pub(super) fn arm(&mut self, timer: u64, armed: Armed) {
        self.0.insert(timer, armed);
    }

    /// An interrupt armed it, which nobody is known to have asked for.
    pub(super) fn forget(&mut self, timer: u64) {
        self.0.remove(&timer);
    }

    /// The timer expires. Its address may be another timer's from now on.
    pub(super) fn expire(&mut self, timer: u64) -> Option<Armed> {
        self.0.remove(&timer)
    }
}
