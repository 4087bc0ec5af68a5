//! Processes and their threads, with their names.

use std::io::{self, Write};

use unjank_host::process::listing::ListedProcess;
use unjank_host::text::one_line;

use super::packets::{Packet, Process, ProcessTree, ThreadOfProcess};
use super::write::PacketWriter;

/// Writes processes and their threads.
pub(super) fn write<'a, W: Write>(
    listed: impl Iterator<Item = &'a ListedProcess> + Clone,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let processes = listed.clone().map(|process| Process {
        pid: Some(process.number.cast_signed()),
        ppid: Some(process.parent.cast_signed()),
        cmdline: vec![one_line(&process.name).into_owned()],
        is_kthread: Some(process.of_kernel),
    });
    let threads = listed.flat_map(|process| {
        process.threads.iter().map(|(thread, name)| ThreadOfProcess {
            tid: Some(thread.0.cast_signed()),
            name: Some(one_line(name).into_owned()),
            tgid: Some(process.number.cast_signed()),
        })
    });
    let tree = ProcessTree { processes: processes.collect(), threads: threads.collect() };
    if tree.processes.is_empty() {
        return Ok(());
    }
    packets.write(Packet { process_tree: Some(tree), ..Packet::default() })
}
