//! A trace for `ui.perfetto.dev`: the recorded events in Perfetto's own form,
//! so that its scheduling tracks and queries work, and the critical path as
//! tracks of slices.
//!
//! | module | subject |
//! |---|---|
//! | `packets` | messages of the file, but for events of the kernel |
//! | `kernel_messages` | messages of events of the kernel |
//! | `kernel_events` | the recording in these messages |
//! | `generic_events` | events that Perfetto has no message for |
//! | `machine` | a trace of a whole machine, written while it is recorded |
//! | `process_tree` | processes and their threads |
//! | `thread_facts` | names and ends of threads, which some messages contain |
//! | `recording` | what an explanation needs besides events, for `unjank why FILE` |
//! | `tracks` | the critical path, lanes of its threads, and waits |
//! | `slices` | begins and ends of slices, with interned names |
//! | `write` | packets into a file, one by one |
//!
//! The messages are those of `protos/perfetto/trace` in Perfetto's source; a
//! test reads files with Perfetto's generated classes.

mod generic_events;
mod kernel_events;
mod kernel_messages;
mod machine;
mod packets;
mod process_tree;
mod recording;
mod slices;
mod thread_facts;
mod tracks;
mod write;

pub use machine::{MachineTrace, MachineTraceEnd};

use std::io::{self, Write};

use self::packets::{Packet, SystemInfo, Utsname};
use self::write::PacketWriter;
use crate::report::Explained;

/// Writes a launch as a Perfetto trace.
///
/// Times are those of the recording (`CLOCK_MONOTONIC`), in Perfetto's default
/// clock. Thread names are escaped as on a terminal.
///
/// # Errors
/// A failed write.
pub fn perfetto(launch: &Explained, out: &mut impl Write) -> io::Result<()> {
    let mut packets = PacketWriter::new(out);
    write_system(&mut packets)?;
    kernel_events::write(launch, &mut packets)?;
    tracks::write(launch, &mut packets)?;
    recording::write(launch, &mut packets)
}

/// Writes the system's name and architecture, by which Perfetto names system calls.
fn write_system<W: Write>(packets: &mut PacketWriter<'_, W>) -> io::Result<()> {
    let utsname = Utsname {
        sysname: Some("Linux".to_owned()),
        machine: Some(std::env::consts::ARCH.to_owned()),
    };
    let system = Some(SystemInfo { utsname: Some(utsname) });
    packets.write(Packet { system, ..Packet::default() })
}
