//! Private traces of the scheduler: tracefs instances.
//!
//! A probe that saw a thread run late uses this to find the cause. It creates
//! an [`Instance`] with its own ring buffer, starts it, stops it after the late
//! wake-up, and reads the [`Trace`]. The pure function [`CpuTrace::between`]
//! then lists the threads and interrupts that had a CPU at the time. Other
//! traces are not disturbed, and nothing is left behind: no mount, no instance,
//! no enabled event.
//!
//! | module | subject |
//! |---|---|
//! | `mount` | finds tracefs, or mounts it privately |
//! | `binder_role` | what a transaction of binder is for |
//! | `options`, `buffer` | the events and the buffer size of an instance |
//! | `instance`, `read`, `raw_pages` | one private trace, and reading its ring buffer |
//! | `leftovers` | instances of dead processes, found by name |
//! | [`mod@format`], [`page`], `decode` | the kernel's binary format: pure parsers |
//! | `event`, `storage`, `system_call`, `lock_flags`, `name` | the traced events |
//! | `events` | the events of a CPU, packed |
//! | `trace`, `sched`, `occupant` | a trace, and the occupants of its CPUs |
//! | [`timeline`] | the states of one thread, from the events of all CPUs |
//! | [`trace_file`] | recordings in files of trace-cmd, of ftrace and of Perfetto |
//! | `slices`, `frames`, `processes` | spans that programs name, frames of apps, and the processes that a file lists |
//! | `order`, `moment` | the events of all CPUs in order of time, and moments that a user names |
//! | `wakeups`, `roster` | the time from each wake-up to the run; names and processes of threads |
//! | `search` | errors of searches in a recording |
//! | `gaps` | times in which events may be missing |
//! | `missing` | switches that a trace lacks without a counted loss |
//! | `capture` | a recording as the kernel's own pages, for such a file |
//! | `tripwire` | lets another process stop a trace |
//! | [`script`] | synthetic traces, for tests of explanations |
//!
//! The binary form is read because 100,000 events cost about 8 ms of CPU time
//! that way, and 180 ms as text, before parsing; and because a thread whose
//! name contains a line feed or `==>` cannot forge an event in it.

mod binder_role;
mod buffer;
mod capture;
mod decode;
mod event;
mod events;
pub mod format;
mod frames;
mod gaps;
mod instance;
mod leftovers;
mod lock_flags;
mod missing;
mod moment;
mod mount;
mod name;
mod occupant;
mod options;
mod order;
pub mod page;
mod processes;
mod raw_pages;
mod read;
mod roster;
mod sched;
pub mod script;
mod search;
mod slices;
mod storage;
mod system_call;
pub mod timeline;
mod trace;
pub mod trace_file;
mod tripwire;
mod wakeups;

pub use binder_role::BinderRole;
pub use buffer::{buffer_per_cpu, online_cpus};
pub use capture::Capture;
pub use decode::Decoder;
pub use event::{Context, Event, EventKind, Irq, PrevState, Softirq, Task};
pub use events::{Events, Iter as EventsIter};
pub use frames::{Frame, Jank};
pub use gaps::Gaps;
pub use instance::{Instance, keep_instances_with};
pub(crate) use leftovers::remove_after_owner;
pub use leftovers::{Leftovers, remove_instance_named, remove_leftovers};
pub use lock_flags::LockFlags;
pub use missing::Switches;
pub use moment::{Moment, seconds};
pub use mount::Tracefs;
pub use name::{Comm, Label, Name};
pub use occupant::{Occupant, Stretch};
pub use options::{InstanceOptions, WAKEUP_EVENTS};
pub use order::in_order;
pub use processes::Processes;
pub use raw_pages::RawPages;
pub use roster::Roster;
pub use search::SearchError;
pub use slices::{Lane, Slice, SliceOwner, SliceReader};
pub use storage::{BlockRequest, DeviceRequest, FilePages, StorageEvent};
pub use system_call::SystemCall;
pub use trace::{CpuTrace, Gap, Lost, Trace};
pub use tripwire::{Tripwire, TripwirePaths};
pub use wakeups::{WakeUp, WakeUps};
