//! What the [engine](super::engine) counts.

use serde::Serialize;

/// Pages since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Read from the fast backing.
    pub fast_reads: u64,
    /// Read from the slow backing.
    pub slow_reads: u64,
    /// Written to the fast backing.
    pub fast_writes: u64,
    /// Written to the slow backing, copies included.
    pub slow_writes: u64,
    /// Copied from the fast to the slow backing.
    pub copies: u64,
    /// Written to the slow backing although the policy kept them: no frame was free.
    pub no_frame: u64,
    /// Reads and writes of the fast backing that failed.
    pub fast_failed: u64,
    /// Reads and writes of the slow backing that failed.
    pub slow_failed: u64,
    /// Pages that were not what had been written.
    pub wrong: u64,
    /// Pages that were written and of which the process and address became known.
    pub named: u64,
    /// Pages that came back, were freed or written over before.
    pub not_named: u64,
}

impl Counts {
    /// All of them, in one order.
    pub(super) fn all_mut(&mut self) -> [&mut u64; 11] {
        [
            &mut self.fast_reads,
            &mut self.slow_reads,
            &mut self.fast_writes,
            &mut self.slow_writes,
            &mut self.copies,
            &mut self.no_frame,
            &mut self.fast_failed,
            &mut self.slow_failed,
            &mut self.wrong,
            &mut self.named,
            &mut self.not_named,
        ]
    }
}
