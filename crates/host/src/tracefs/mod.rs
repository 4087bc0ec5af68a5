//! Traces of what the scheduler did.
//!
//! A probe that has seen a thread run late asks here why. It reads the pages
//! of the kernel's ring buffer into a [`Trace`]; who had a CPU at the time is
//! then a pure function, [`CpuTrace::between`].
//!
//! | module | subject |
//! |---|---|
//! | [`mod@format`], [`page`], `decode` | the kernel's binary format: pure parsers |
//! | `event`, `name` | what was traced |
//! | `trace`, `sched` | a trace that was read, and who had a CPU when |
//!
//! The binary form is read because it is some ten times cheaper than the text
//! of `trace`, and because a thread whose name holds a line feed or `==>`
//! cannot forge an event in it.

mod decode;
mod event;
pub mod format;
mod name;
pub mod page;
mod sched;
mod trace;

pub use decode::Decoder;
pub use event::{Event, EventKind, Irq, Softirq, Task};
pub use name::{Comm, Label, Name};
pub use sched::{Occupant, Stretch};
pub use trace::{CpuTrace, Gap, Lost, Trace};
