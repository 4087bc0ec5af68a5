//! Traces of storage and swap, from any of the usual formats, in one form.
//!
//! [`Trace::open`] opens files of any format, decompresses gzip, zstd, xz and lz4 on the fly, and
//! returns events in batches; several files are merged by time. The [`Summary`] counts what
//! yields no event.
//!
//! ```no_run
//! use unjank_swap::trace::{Options, Trace};
//!
//! let mut trace = Trace::open(&["sda.blktrace.0".into()], &Options::default())?;
//! let mut events = Vec::new();
//! while trace.read(&mut events, 4096)? {
//!     for event in events.drain(..) {
//!         println!("{} {} {}", event.at, trace.names().space(event.space), event.page);
//!     }
//! }
//! # Ok::<(), unjank_host::Error>(())
//! ```

mod ariadne;
mod batch;
mod blkparse;
mod blktrace;
mod columns;
pub mod convert;
mod csv;
mod detect;
mod event;
mod events;
mod fields;
mod format;
mod ftrace;
mod input;
mod merged;
mod names;
mod note;
mod number;
mod numbering;
mod options;
mod oracle_general;
pub(crate) mod parquet;
mod reader;
mod records;
mod skipped;
mod source;
mod stop;
mod summary;
mod text;
mod unknown;
mod volumes;
mod vscsi;

pub use columns::Columns;
pub use event::{Backing, Event, Operation, PAGE, ProcessIndex, Space};
pub use events::Events;
pub use format::Format;
pub use merged::Trace;
pub(crate) use names::{LimitReached, Member};
pub use names::{MAX_PROCESSES, MAX_SPACES, Names, Process};
pub use numbering::Numbering;
pub use options::{Options, Stage};
pub use skipped::{Position, Skip, Skipped};
pub use summary::{InputSummary, Summary};
