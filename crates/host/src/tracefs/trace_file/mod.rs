//! Recordings in files: trace-cmd's `trace.dat`, and the text of ftrace.
//!
//! ```text
//! bytes ─► dat  ─► pages ─► decoder ─► Recorded
//!     └──► text ─► lines ────────────► Recorded
//! instance ─► capture ─► write ─► trace.dat
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `dat` | `trace.dat`, versions 6 and 7 |
//! | `text` | `trace`, `trace_pipe` and `trace-cmd report -l` |
//! | `write` | `trace.dat` version 6 |
//! | `annex` | data that an explanation needs besides events |
//! | `clock` | clocks that are not in nanoseconds, or differ between CPUs |
//! | `limits`, `fault` | bounds, and errors in a file |
//!
//! Pure functions over bytes. They keep at most [`MOST_EVENTS`] events.

mod annex;
mod clock;
mod dat;
mod fault;
mod limits;
mod recorded;
mod text;
mod write;

pub use annex::Annex;
pub use fault::Fault;
pub use limits::{MOST_BYTES, MOST_EVENTS};
pub use recorded::Recorded;
pub use write::{Buffer, write};

use crate::input::Stop;

/// Reads a recording: `trace.dat` by its first bytes, else text.
///
/// # Errors
/// The error in the file, and its position.
pub fn read(bytes: &[u8]) -> Result<Recorded, Fault> {
    read_until(bytes, &Stop::default())
}

/// As [`read`], until a stop request.
///
/// # Errors
/// As `read`; [`Fault::is_stop`] after a stop request.
pub fn read_until(bytes: &[u8], stop: &Stop) -> Result<Recorded, Fault> {
    let is_dat = dat::is_dat(bytes);
    let recorded = if is_dat { dat::read(bytes, stop)? } else { text::read(bytes, stop)? };
    if recorded.trace.is_empty() {
        return Err(Fault::of_file("it has no events that unjank can decode"));
    }
    clock::check(&recorded, stop)?;
    Ok(recorded)
}

#[cfg(test)]
mod tests;
