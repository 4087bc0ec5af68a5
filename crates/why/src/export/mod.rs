//! An explained launch in formats of other tools.
//!
//! | module | format |
//! |---|---|
//! | `folded` | folded stacks, which flame graphs are drawn from |
//! | `perfetto` | a Perfetto trace: the recording, and the critical path as tracks; or all that a machine does |
//! | `words` | the call in which a segment's thread sleeps, for both |
//!
//! The trace is written piece by piece: beside names, at most one packet of it
//! is in memory.

mod folded;
mod perfetto;
mod words;

pub use folded::folded;
pub use perfetto::{MachineTrace, MachineTraceEnd, perfetto};
