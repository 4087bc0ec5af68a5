//! Private traces of what the scheduler did: tracefs instances.
//!
//! A probe that has seen a thread run late asks here why. It makes an
//! [`Instance`] with its own ring buffer, starts it, stops it after the late
//! wake-up, and reads the [`Trace`]; who had a CPU at the time is then a pure
//! function, [`CpuTrace::between`]. Other people's tracing is not disturbed
//! and nothing is left behind: no mount, no instance, no enabled event.
//!
//! | module | subject |
//! |---|---|
//! | `mount` | finding tracefs, or mounting it where nobody sees it |
//! | `options`, `buffer` | what an instance records, and in how much room |
//! | `instance`, `read` | one private trace, and reading its ring buffer |
//! | `leftovers` | instances by name, and those of processes that died |
//! | [`mod@format`], [`page`], `decode` | the kernel's binary format: pure parsers |
//! | `event`, `storage`, `system_call`, `name` | what was traced |
//! | `trace`, `sched`, `occupant` | a trace that was read, and who had a CPU when |
//! | [`timeline`] | what one thread did, from the events of all CPUs |
//! | `tripwire` | stopping a trace from another process |
//! | [`script`] | made-up traces, for tests of explanations |
//!
//! The binary form is read because 100 000 events cost some 8 ms of CPU time
//! that way, and 180 ms as text before that is parsed; and because a thread
//! whose name holds a line feed or `==>` cannot forge an event in it.

mod buffer;
mod decode;
mod event;
pub mod format;
mod instance;
mod leftovers;
mod mount;
mod name;
mod occupant;
mod options;
pub mod page;
mod read;
mod sched;
pub mod script;
mod storage;
mod system_call;
pub mod timeline;
mod trace;
mod tripwire;

pub use buffer::buffer_per_cpu;
pub use decode::Decoder;
pub use event::{Event, EventKind, Irq, Softirq, Task};
pub use instance::{Instance, keep_instances_with};
pub(crate) use leftovers::see_to;
pub use leftovers::{Leftovers, remove_instance_named, remove_leftovers};
pub use mount::Tracefs;
pub use name::{Comm, Label, Name};
pub use occupant::{Occupant, Stretch};
pub use options::{InstanceOptions, WAKEUP_EVENTS};
pub use storage::{BlockRequest, FilePages, StorageEvent};
pub use system_call::SystemCall;
pub use trace::{CpuTrace, Gap, Lost, Trace};
pub use tripwire::{Tripwire, TripwirePaths};
