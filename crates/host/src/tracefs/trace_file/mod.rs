//! Recordings in files: trace-cmd's `trace.dat`, the text of ftrace, and Perfetto's traces.
//!
//! ```text
//! bytes ─► dat  ─► pages ─► decoder ─► Recorded
//!     ├──► text ─► lines ────────────► Recorded
//!     ├──► perfetto ─► packets ──────► Recorded
//!     └──► gzip ─► one of these
//! instance ─► capture ─► write ─► trace.dat
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `dat` | `trace.dat`, versions 6 and 7 |
//! | `text` | `trace`, `trace_pipe` and `trace-cmd report -l` |
//! | [`perfetto`] | Perfetto's traces, packet by packet |
//! | `gzip` | compressed files; those of Perfetto are decompressed there, packet by packet |
//! | `write` | `trace.dat` version 6 |
//! | `annex` | data that an explanation needs besides events |
//! | `clock` | clocks that are not in nanoseconds, or differ between CPUs |
//! | `limits`, `fault` | bounds, and errors in a file |
//!
//! Pure functions over bytes, or over a reader. They keep at most [`MOST_EVENTS`] events.

mod annex;
mod clock;
mod dat;
mod fault;
mod gzip;
mod limits;
pub mod perfetto;
mod recorded;
mod text;
mod write;

pub use annex::{Annex, AnnexGaps};
pub use fault::Fault;
pub use limits::{MOST_BYTES, MOST_EVENTS};
pub use recorded::Recorded;
pub use write::{Buffer, write};

use std::io::{self, Read};

use crate::input::{Input, Stop, Stopped};
use gzip::Unpacked;

/// The number of bytes by which the form of a recording is recognised. Of a gzip file, they contain
/// the beginning of the compressed data.
const START: u64 = 4096;

/// The beginning of `perf.data` (`PERF_MAGIC` in `tools/perf/util/header.c`).
const PERF_DATA: &[u8] = b"PERFILE2";

/// Reads a recording, plain or compressed with gzip: `trace.dat` and Perfetto's traces by their first
/// bytes, else text.
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
    let recorded = if perfetto::begins(bytes) {
        perfetto::read(bytes, NamedTimes::Read, stop)?
    } else if bytes.starts_with(&gzip::MAGIC) {
        let Unpacked { bytes, is_cut } = gzip::unpack(bytes, stop)?;
        let mut recorded = read_plain(&bytes, stop)?;
        let note = "the compressed file is cut off: its end is missing";
        recorded.notes.extend(is_cut.then(|| note.to_owned()));
        recorded
    } else {
        read_plain(bytes, stop)?
    };
    checked(recorded, stop)
}

/// Reads a file that is neither compressed nor a trace of Perfetto.
fn read_plain(bytes: &[u8], stop: &Stop) -> Result<Recorded, Fault> {
    if bytes.is_empty() {
        Err(Fault::of_file("it is empty"))
    } else if dat::is_dat(bytes) {
        dat::read(bytes, stop)
    } else if bytes.starts_with(PERF_DATA) {
        Err(Fault::of_file(
            "perf record wrote it, and its form is not read; record with unjank record, or with \
             trace-cmd record -e sched",
        ))
    } else {
        text::read(bytes, stop)
    }
}

/// Whether times that a trace of Perfetto names are read: slices of programs, and frames of apps.
/// They take up to 150 bytes of memory each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedTimes {
    /// They are read.
    Read,
    /// They are left out.
    Skip,
}

/// As [`read_until`], from an open file. Perfetto's traces may be larger than [`MOST_BYTES`]: they
/// are read packet by packet.
///
/// # Errors
/// As `read_until`, as an I/O error of the kind `InvalidData`; `FileTooLarge`; errors of `read(2)`,
/// and [`Stopped`].
pub fn read_from(mut input: Input, named: NamedTimes, stop: &Stop) -> io::Result<Recorded> {
    let mut start = Vec::new();
    input.by_ref().take(START).read_to_end(&mut start)?;
    let recorded = if perfetto::begins(&start) {
        perfetto::read(start.as_slice().chain(input), named, stop)
            .and_then(|recorded| checked(recorded, stop))
    } else {
        read_until(&input.bytes_after(start, MOST_BYTES)?, stop)
    };
    recorded.map_err(|fault| {
        if fault.is_stop() {
            io::Error::other(Stopped)
        } else {
            io::Error::new(io::ErrorKind::InvalidData, fault)
        }
    })
}

fn checked(recorded: Recorded, stop: &Stop) -> Result<Recorded, Fault> {
    if recorded.trace.is_empty() {
        return Err(Fault::of_file("it has no events that unjank can decode"));
    }
    clock::check(&recorded, stop)?;
    Ok(recorded)
}

#[cfg(test)]
mod tests;
