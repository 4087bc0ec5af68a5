//! `trace.dat`, the file of trace-cmd: versions 6 and 7, of little-endian
//! machines.
//!
//! | module | subject |
//! |---|---|
//! | `header` | version, byte order, compression |
//! | `options` | clock, machine, and the places of the other parts |
//! | `parts` | the order of parts in version 6, and the sections of version 7 |
//! | `formats` | layouts of pages and events |
//! | `pages` | pages of the ring buffers |
//! | `bytes`, `unpack` | bounded reading and decompressing |
//!
//! Sources: `trace-cmd.dat.v6(5)`, `trace-cmd.dat.v7(5)`.

mod bytes;
mod formats;
mod header;
mod options;
mod pages;
mod parts;
mod unpack;

use super::super::event::{Event, EventKind};
use super::super::storage::StorageEvent;
use super::super::trace::Trace;
use super::fault::Fault;
use super::recorded::Recorded;
use crate::input::Stop;
use formats::Births;

/// Whether these are the first bytes of a `trace.dat`.
pub(super) fn is_dat(bytes: &[u8]) -> bool {
    bytes.starts_with(header::MAGIC)
}

/// Reads a `trace.dat`. New threads are taken from `task_newtask` if it occurs,
/// otherwise from `sched_process_fork`.
pub(super) fn read(bytes: &[u8], stop: &Stop) -> Result<Recorded, Fault> {
    let parts = parts::read(bytes, stop)?;
    if !parts.formats.has_switches() {
        return Err(Fault::of_file(
            "it has no events of sched_switch; record with trace-cmd record -e sched",
        ));
    }
    let births = parts.formats.births();
    let mut trace = pages::trace(bytes, &parts, births, stop)?;
    if births == Births::NewTask && !has_births(&trace, stop) {
        trace = pages::trace(bytes, &parts, Births::Fork, stop)?;
    }
    let options = parts.options;
    trace.lost = options.lost;
    Ok(Recorded {
        trace,
        clock: options.clock,
        architecture: options.architecture,
        annex: options.annex,
        ..Recorded::default()
    })
}

/// Whether the trace has the start of a thread. After a stop request the answer is arbitrary.
fn has_births(trace: &Trace, stop: &Stop) -> bool {
    let starts = |event: Event| {
        matches!(event.kind, EventKind::Storage(StorageEvent::Started { .. }))
            || stop.is_requested()
    };
    trace.cpus.iter().any(|cpu| cpu.events.iter().any(starts))
}
