//! Perfetto's traces, as phones record them (`protos/perfetto/trace` in Perfetto's source).
//!
//! ```text
//! file ─► stream ─► packets ─► events, compact, named ─► CpuReading ─► Trace
//!                      ├─────► lines of trace_marker ─► SliceReader ─► slices
//!                      └─────► processes, functions of the kernel, losses
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `stream` | packets, one after the other; gzip |
//! | `wire` | fields of messages |
//! | `bundles`, `events` | `FtraceEventBundle` and `FtraceEvent` |
//! | `named` | events that Perfetto has no message for |
//! | `track_events`, `frames` | slices that programs write, and frames of apps |
//! | `clocks` | other clocks, as `CLOCK_BOOTTIME` |
//! | `compact` | switches and wake-ups in columns |
//! | `cpu` | the events of one CPU |
//! | `unpack` | packets that are compressed in a packet |
//! | `finish` | what the parts make together, and what was skipped |
//! | `annex` | data that unjank adds to its own traces |
//!
//! Times are those of the kernel's trace clock, which is `CLOCK_BOOTTIME` on phones. Messages are
//! read by hand: a trace has a hundred million fields, most of which are skipped.

mod annex;
mod bundles;
mod clocks;
mod compact;
mod cpu;
mod events;
mod finish;
mod frames;
mod named;
mod stream;
#[cfg(test)]
mod tests;
mod track_events;
mod unpack;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::super::event::Event;
use super::super::processes::Processes;
use super::super::slices::SliceReader;
use super::super::trace::Lost;
use super::NamedTimes;
use super::annex::Annex;
use super::fault::Fault;
use super::limits::Budget;
use super::recorded::Recorded;
use crate::clock::Timestamp;
use crate::input::Stop;
use crate::sched::ThreadId;
use clocks::{BOOTTIME, Clocks};
use compact::Columns;
use cpu::CpuReading;
use frames::FrameReader;
use named::Descriptions;
use stream::packets;
use track_events::{Head, TrackEvents};
use unpack::unpack;
use wire::{Fields, Malformed, Small};

pub use annex::{ANNOTATION, EVENT};
pub use stream::begins;

/// Reads a trace.
pub(super) fn read(input: impl Read, named: NamedTimes, stop: &Stop) -> Result<Recorded, Fault> {
    let mut reading =
        Reading { skips_named_times: named == NamedTimes::Skip, ..Reading::default() };
    let mut budget = Budget::default();
    let end = packets(input, &mut budget, stop, |packet, at, budget| {
        reading.packet(packet, at, budget, Nesting::Outside)
    })?;
    reading.finish(end)
}

/// Whether a packet was in a compressed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outside,
    Inside,
}

#[derive(Default)]
struct Reading {
    skips_named_times: bool,
    cpus: BTreeMap<usize, CpuReading>,
    columns: Columns,
    descriptions: Descriptions,
    slices: SliceReader,
    frames: FrameReader,
    track_events: TrackEvents,
    snapshots: Clocks,
    /// Events of programs whose clock no snapshot has.
    without_clock: u64,
    processes: Processes,
    kernel_threads: BTreeSet<ThreadId>,
    annex: Option<Annex>,
    architecture: Option<String>,
    /// The clock of the events, by its number in `FtraceClock`.
    clock: Option<u64>,
    /// Births by `sched_process_fork`, which count without `task_newtask` only.
    forks: Vec<(usize, Event)>,
    has_new_tasks: bool,
    /// Lost events of all CPUs before and after the recording.
    lost: [Option<Lost>; 2],
    malformed: u64,
    has_switches: bool,
}

impl Reading {
    fn packet(
        &mut self,
        packet: &[u8],
        at: usize,
        budget: &mut Budget,
        nesting: Nesting,
    ) -> Result<(), Fault> {
        let Ok(head) = Head::of(packet) else {
            self.malformed += 1;
            return Ok(());
        };
        let clock = self.track_events.begin(&head, BOOTTIME);
        // What events of the packet refer to may be behind them.
        for (number, value) in Fields::of(packet).flatten() {
            let Ok(message) = value.bytes() else { continue };
            let read = match number {
                6 => self.snapshots.add(head.sequence, message),
                12 => self.interned(&head, message),
                59 => self.track_events.defaults(&head, message),
                60 => self.track_events.describe(message),
                _ => continue,
            };
            self.malformed += u64::from(read.is_err());
        }
        let time = self.time(&head, clock);
        for (number, value) in Fields::of(packet).flatten() {
            let Ok(message) = value.bytes() else { continue };
            let read = match number {
                1 => {
                    self.bundle(message, budget)?;
                    Ok(())
                }
                2 => self.process_tree(message),
                11 => self.track_event(&head, time, message),
                34 => self.statistics(message),
                45 => self.system(message),
                50 | 133 if nesting == Nesting::Outside => {
                    let inner = unpack(number, message, budget)
                        .map_err(|why| Fault::at_byte(at, why.to_string()))?;
                    return self.compressed(&inner, at, budget);
                }
                76 => self.frame(time, message),
                _ => Ok(()),
            };
            self.malformed += u64::from(read.is_err());
        }
        Ok(())
    }

    /// Packets that were compressed in the packet at a position.
    fn compressed(&mut self, inner: &[u8], at: usize, budget: &mut Budget) -> Result<(), Fault> {
        for field in Fields::of(inner) {
            match field {
                Ok((1, value)) => {
                    if let Ok(packet) = value.bytes() {
                        self.packet(packet, at, budget, Nesting::Inside)?;
                    }
                }
                Ok(_) => {}
                Err(Malformed) => self.malformed += 1,
            }
        }
        Ok(())
    }

    /// `ProcessTree`: processes and threads that the recorder has seen.
    fn process_tree(&mut self, message: &[u8]) -> Result<(), Malformed> {
        for field in Fields::of(message) {
            match field? {
                (1, process) => self.process(process.bytes()?)?,
                (2, thread) => {
                    let thread = Small::of(thread.bytes()?)?;
                    let (id, process) = (thread.number(1) as u32, thread.number(3) as u32);
                    if process != 0 {
                        self.processes.of_threads.insert(ThreadId(id), process);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn process(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (mut process, mut parent, mut name, mut of_kernel) = (0, 0, None, false);
        for field in Fields::of(message) {
            match field? {
                (1, value) => process = value.number()? as u32,
                (2, value) => parent = value.number()? as u32,
                // The first word of the command line.
                (3, value) if name.is_none() => name = Some(value.text()?),
                (8, value) => of_kernel = value.number()? != 0,
                _ => {}
            }
        }
        if of_kernel || process == KTHREADD || parent == KTHREADD {
            self.kernel_threads.insert(ThreadId(process));
        }
        self.processes.of_threads.insert(ThreadId(process), process);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.processes.names.insert(process, name);
        }
        Ok(())
    }

    /// `TrackEvent`: a slice of a program, or the annex of unjank's own traces.
    fn track_event(
        &mut self,
        head: &Head,
        time: Option<Timestamp>,
        message: &[u8],
    ) -> Result<(), Malformed> {
        if self.annex.is_none() {
            self.annex = annex::of_track_event(message)?;
        }
        match time {
            _ if self.skips_named_times => {}
            Some(at) => self.track_events.event(head, at, message, &mut self.slices)?,
            None => self.without_clock += 1,
        }
        Ok(())
    }

    /// `FrameTimelineEvent`.
    fn frame(&mut self, time: Option<Timestamp>, message: &[u8]) -> Result<(), Malformed> {
        match time {
            _ if self.skips_named_times => {}
            Some(at) => self.frames.add(at, message)?,
            None => self.without_clock += 1,
        }
        Ok(())
    }

    /// The time of a packet by the clock of the kernel's events.
    fn time(&mut self, head: &Head, clock: u64) -> Option<Timestamp> {
        let is_boot_time = self.clock.is_none_or(|clock| clock == 0);
        let time = self.snapshots.boot_time(head.sequence, clock, head.timestamp?);
        time.filter(|_| is_boot_time)
    }

    /// `InternedData`: names of track events.
    fn interned(&mut self, head: &Head, message: &[u8]) -> Result<(), Malformed> {
        const EVENT_NAMES: u32 = 2;
        for field in Fields::of(message) {
            if let (EVENT_NAMES, value) = field? {
                self.track_events.name(head, value.bytes()?)?;
            }
        }
        Ok(())
    }

    /// `FtraceStats`: the kernel's count of lost events, at the start and at the end.
    fn statistics(&mut self, message: &[u8]) -> Result<(), Malformed> {
        const AT_END: u64 = 2;
        let (mut phase, mut lost) = (0, Lost::default());
        for field in Fields::of(message) {
            match field? {
                (1, value) => phase = value.number()?,
                (2, value) => {
                    for part in Fields::of(value.bytes()?) {
                        let count = match part? {
                            // `overrun`
                            (3, value) => (&mut lost.overwritten, value),
                            // `commit_overrun`, `dropped_events`
                            (4 | 8, value) => (&mut lost.dropped, value),
                            _ => continue,
                        };
                        *count.0 = count.0.saturating_add(count.1.number()?);
                    }
                }
                _ => {}
            }
        }
        self.lost[usize::from(phase == AT_END)] = Some(lost);
        Ok(())
    }

    /// `SystemInfo`.
    fn system(&mut self, message: &[u8]) -> Result<(), Malformed> {
        for field in Fields::of(message) {
            if let (1, value) = field? {
                let machine = Small::of(value.bytes()?)?.text(4);
                if !machine.is_empty() {
                    self.architecture = Some(String::from_utf8_lossy(machine).into_owned());
                }
            }
        }
        Ok(())
    }
}

/// `kthreadd`, which starts all other kernel threads.
const KTHREADD: u32 = 2;
