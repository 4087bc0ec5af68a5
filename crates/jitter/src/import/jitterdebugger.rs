//! jitterdebugger's results: `dump_stats` of `jitterdebugger.c`, versions 1
//! (without a description of the machine) to 3.

use serde::Deserialize;
use unjank_host::Result;

use super::document::{SystemInfo, Thread, Threads, machine, resolution};
use super::imported::Imported;

#[derive(Debug, Deserialize)]
pub(super) struct File {
    sysinfo: Option<SystemInfo>,
    cpu: Threads,
}

/// Its threads are `SCHED_FIFO`, at a priority that the file lacks. After a late
/// wake-up it starts a new period or catches up at once, so no period is missed.
/// Its key `cpu` holds thread numbers, which equal CPU numbers if there is a
/// thread on every CPU.
pub(super) fn imported(file: File, path: &str) -> Result<Imported> {
    let written = file.sysinfo.as_ref().map_or(0, |system| system.resolution_in_ns);
    let online = file.sysinfo.as_ref().and_then(|system| system.cpus_online);
    let everywhere = online.is_some_and(|online| online == file.cpu.0.len() as u64);
    let threads = file.cpu.0.into_iter().map(|(index, counted)| Thread {
        index,
        cpu: everywhere.then_some(index),
        priority: None,
        period: None,
        counted,
    });
    Ok(Imported {
        tool: "jitterdebugger",
        version: None,
        command_line: None,
        policy: "fifo",
        priority: None,
        period: None,
        resolution: resolution(written, path)?,
        machine: machine(file.sysinfo, "jitterdebugger"),
        ran: None,
        warnings: Vec::new(),
        histogram: None,
        threads: threads.collect(),
    })
}
