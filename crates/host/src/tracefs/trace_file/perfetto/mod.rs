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
//! | `events` | `FtraceEvent` |
//! | `named` | events that Perfetto has no message for |
//! | `track_events`, `frames` | slices that programs write, and frames of apps |
//! | `clocks` | other clocks, as `CLOCK_BOOTTIME` |
//! | `compact` | switches and wake-ups in columns |
//! | `cpu` | the events of one CPU |
//! | `unpack` | packets that are compressed in a packet |
//! | `annex` | data that unjank adds to its own traces |
//!
//! Times are those of the kernel's trace clock, which is `CLOCK_BOOTTIME` on phones. Messages are
//! read by hand: a trace has a hundred million fields, most of which are skipped.

mod annex;
mod clocks;
mod compact;
mod cpu;
mod events;
mod frames;
mod named;
mod stream;
#[cfg(test)]
mod tests;
mod track_events;
mod unpack;
mod wire;

use std::collections::BTreeMap;
use std::io::Read;

use super::super::event::{Event, EventKind};
use super::super::processes::Processes;
use super::super::slices::SliceReader;
use super::super::trace::{Gap, Lost, Trace};
use super::annex::Annex;
use super::fault::Fault;
use super::limits::{Budget, HIGHEST_CPU};
use super::recorded::Recorded;
use crate::clock::Timestamp;
use crate::input::Stop;
use crate::sched::ThreadId;
use clocks::{BOOTTIME, Clocks};
use compact::Columns;
use cpu::CpuReading;
use events::{Begin, FORK, GENERIC, NEW_TASK, PRINT, kind};
use frames::FrameReader;
use named::{Descriptions, Named};
use stream::{End, packets};
use track_events::{Head, TrackEvents};
use unpack::unpack;
use wire::{Fields, Malformed, Small};

pub use annex::{ANNOTATION, EVENT};
pub(super) use stream::begins;

/// Reads a trace.
pub(super) fn read(input: impl Read, stop: &Stop) -> Result<Recorded, Fault> {
    let mut reading = Reading::default();
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
    kernel_threads: Vec<ThreadId>,
    functions: BTreeMap<u64, String>,
    annex: Option<Annex>,
    architecture: Option<String>,
    /// The clock of the events, by its number in `FtraceClock`.
    clock: Option<u64>,
    /// Births by `sched_process_fork`, which count without `task_newtask` only.
    forks: Vec<(usize, Event)>,
    has_new_tasks: bool,
    /// Lost events of all CPUs before and after the recording.
    lost: [Lost; 2],
    malformed: u64,
    has_switches: bool,
}

/// The most functions of the kernel that are kept.
const MOST_FUNCTIONS: usize = 1_000_000;

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
        for (number, value) in Fields::of(packet).flatten() {
            let Ok(message) = value.bytes() else { continue };
            let read = match number {
                1 => {
                    self.bundle(message, budget)?;
                    Ok(())
                }
                2 => self.process_tree(message),
                6 => self.snapshots.add(message),
                11 => self.track_event(&head, clock, message),
                12 => self.interned(&head, message),
                34 => self.statistics(message),
                45 => self.system(message),
                50 | 133 if nesting == Nesting::Outside => {
                    let inner = unpack(number, message, budget)
                        .map_err(|why| Fault::at_byte(at, why.to_string()))?;
                    return self.compressed(&inner, at, budget);
                }
                59 => self.track_events.defaults(&head, message),
                60 => self.track_events.describe(message),
                76 => self.frame(&head, clock, message),
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

    /// `FtraceEventBundle`: events of one CPU.
    fn bundle(&mut self, message: &[u8], budget: &mut Budget) -> Result<(), Fault> {
        let Ok(parts) = BundleParts::of(message) else {
            self.malformed += 1;
            return Ok(());
        };
        let cpu = parts.cpu;
        if cpu > HIGHEST_CPU {
            return Err(Fault::of_file(format!("it has a CPU {cpu}, which is impossible")));
        }
        let clock = *self.clock.get_or_insert(parts.clock);
        if clock != parts.clock {
            return Err(Fault::of_file("its bundles of events have different clocks"));
        }
        for &description in &parts.descriptions {
            self.malformed += u64::from(self.descriptions.add(description).is_err());
        }
        let reading = self.cpus.entry(cpu).or_insert_with(|| CpuReading::new(cpu));
        let (last, before) = (reading.trace.events.last_at(), reading.trace.events.len());
        if before == 0 && reading.valid_from.is_none() {
            reading.valid_from = parts.valid_from;
        }
        if let Some(compact) = parts.compact {
            match self.columns.events(compact) {
                Ok(events) => {
                    budget.spend_events(events.len())?;
                    self.has_switches |= !events.is_empty();
                    for event in &events {
                        reading.push_compact(event);
                    }
                }
                Err(Malformed) => self.malformed += 1,
            }
        }
        for event in parts.events {
            if self.event(cpu, event, budget)?.is_none() {
                self.malformed += 1;
            }
        }
        if parts.lost
            && let Some(reading) = self.cpus.get_mut(&cpu)
        {
            reading.lost_before(last, before);
        }
        Ok(())
    }

    /// An `FtraceEvent`; `None` if it is malformed.
    fn event(
        &mut self,
        cpu: usize,
        event: &[u8],
        budget: &mut Budget,
    ) -> Result<Option<()>, Fault> {
        let Ok(begin) = Begin::of(event) else { return Ok(None) };
        if begin.event == PRINT {
            let Ok(line) = Small::of(begin.message) else { return Ok(None) };
            let line = String::from_utf8_lossy(line.text(2));
            self.slices.line(begin.at, begin.current, &line);
            return Ok(Some(()));
        }
        let kind = match self.kind(&begin) {
            Ok(kind) => kind,
            Err(Malformed) => return Ok(None),
        };
        let Some(reading) = self.cpus.get_mut(&cpu) else { return Ok(None) };
        let Some(kind) = kind else {
            reading.trace.undecoded += 1;
            return Ok(Some(()));
        };
        budget.spend_events(1)?;
        if begin.event == FORK {
            let Begin { at, current, context, .. } = begin;
            self.forks.push((cpu, Event { at, current, context, kind }));
            return Ok(Some(()));
        }
        self.has_new_tasks |= begin.event == NEW_TASK;
        self.has_switches |= matches!(kind, EventKind::Switch { .. });
        reading.push(&begin, kind);
        Ok(Some(()))
    }

    fn kind(&self, begin: &Begin<'_>) -> Result<Option<EventKind>, Malformed> {
        if begin.event == GENERIC {
            return Ok(Named::of_generic(begin.message)?.kind());
        }
        if let Some(named) = self.descriptions.named(begin.event, begin.message)? {
            return Ok(named.kind());
        }
        kind(begin.event, begin.message)
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
            self.kernel_threads.push(ThreadId(process));
        }
        self.processes.of_threads.insert(ThreadId(process), process);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.processes.names.insert(process, name);
        }
        Ok(())
    }

    /// `TrackEvent`: a slice of a program, or the annex of unjank's own traces.
    fn track_event(&mut self, head: &Head, clock: u64, message: &[u8]) -> Result<(), Malformed> {
        if self.annex.is_none() {
            self.annex = annex::of_track_event(message)?;
        }
        match self.time(head, clock) {
            Some(at) => self.track_events.event(head, at, message, &mut self.slices)?,
            None => self.without_clock += 1,
        }
        Ok(())
    }

    /// `FrameTimelineEvent`.
    fn frame(&mut self, head: &Head, clock: u64, message: &[u8]) -> Result<(), Malformed> {
        match self.time(head, clock) {
            Some(at) => self.frames.add(at, message)?,
            None => self.without_clock += 1,
        }
        Ok(())
    }

    /// The time of a packet by the clock of the kernel's events.
    fn time(&self, head: &Head, clock: u64) -> Option<Timestamp> {
        let is_boot_time = self.clock.is_none_or(|clock| clock == 0);
        self.snapshots.boot_time(clock, head.timestamp).filter(|_| is_boot_time)
    }

    /// `InternedData`: names of track events, and functions of the kernel, whose addresses are
    /// replaced by numbers.
    fn interned(&mut self, head: &Head, message: &[u8]) -> Result<(), Malformed> {
        const EVENT_NAMES: u32 = 2;
        const KERNEL_SYMBOLS: u32 = 26;
        for field in Fields::of(message) {
            match field? {
                (EVENT_NAMES, value) => self.track_events.name(head, value.bytes()?)?,
                (KERNEL_SYMBOLS, value) => {
                    let symbol = Small::of(value.bytes()?)?;
                    if self.functions.len() < MOST_FUNCTIONS {
                        let name = String::from_utf8_lossy(symbol.text(2)).into_owned();
                        self.functions.insert(symbol.number(1), name);
                    }
                }
                _ => {}
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
        self.lost[usize::from(phase == AT_END)] = lost;
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

    fn finish(mut self, end: End) -> Result<Recorded, Fault> {
        if self.cpus.is_empty() {
            let what = if self.malformed > 0 {
                "it is malformed"
            } else {
                "it has no events of the kernel"
            };
            return Err(Fault::of_file(format!(
                "{what}; record with the data source linux.ftrace"
            )));
        }
        if !self.has_switches {
            return Err(Fault::of_file(
                "it has no events of sched_switch; record with the data source linux.ftrace and the \
                 events sched/sched_switch and sched/sched_waking",
            ));
        }
        if !self.has_new_tasks {
            for (cpu, event) in self.forks {
                if let Some(reading) = self.cpus.get_mut(&cpu) {
                    reading.trace.events.push(event);
                }
            }
        }
        let mut notes = Vec::new();
        if end == End::WithinPacket {
            notes.push("the file ends within a packet: it was cut off".to_owned());
        }
        if self.malformed > 0 {
            notes.push(format!("skipped parts that are malformed: {}", self.malformed));
        }
        let skipped: u64 = self.cpus.values().map(|reading| reading.skipped).sum();
        let mut trace = Trace::default();
        for reading in self.cpus.into_values() {
            let mut cpu = reading.trace;
            if let Some(from) = reading.valid_from {
                cpu.gaps.push(Gap { from: Timestamp::default(), to: from });
            }
            cpu.undecoded += reading.skipped;
            cpu.events.sort();
            trace.cpus.push(cpu);
        }
        if skipped > 0 {
            notes
                .push(format!("left out wake-ups before the first switch of their CPU: {skipped}"));
        }
        let (from, to) = trace.span().unwrap_or_default();
        trace.cpus.iter_mut().for_each(|cpu| cpu.finish(from, to));
        let [before, after] = self.lost;
        trace.lost = Lost {
            overwritten: after.overwritten.saturating_sub(before.overwritten),
            dropped: after.dropped.saturating_sub(before.dropped),
        };
        if let Some(annex) = &self.annex {
            annex::set_gaps(&mut trace, annex);
        }
        trace.kernel_threads = self.kernel_threads;
        if self.slices.dropped() > 0 {
            let dropped = self.slices.dropped();
            notes.push(format!("left out names of programs' slices beyond the limit: {dropped}"));
        }
        if self.without_clock > 0 {
            notes.push(format!(
                "left out events of programs whose clock the trace does not compare with that of \
                 the kernel's events: {}",
                self.without_clock
            ));
        }
        Ok(Recorded {
            trace,
            clock: self.clock.and_then(clock_name).map(str::to_owned),
            architecture: self.architecture,
            annex: self.annex,
            processes: self.processes,
            slices: self.slices.finish(),
            frames: self.frames.finish(),
            functions: self.functions,
            notes,
        })
    }
}

/// `kthreadd`, which starts all other kernel threads.
const KTHREADD: u32 = 2;

/// The name of a clock by its number in `FtraceClock`; 0 is the default.
fn clock_name(number: u64) -> Option<&'static str> {
    match number {
        0 => Some("boot"),
        2 => Some("global"),
        3 => Some("local"),
        4 => Some("mono_raw"),
        _ => None,
    }
}

/// The parts of an `FtraceEventBundle`.
#[derive(Default)]
struct BundleParts<'a> {
    cpu: usize,
    events: Vec<&'a [u8]>,
    compact: Option<&'a [u8]>,
    descriptions: Vec<&'a [u8]>,
    lost: bool,
    clock: u64,
    /// The time up to which the buffer was read before this bundle.
    valid_from: Option<Timestamp>,
}

impl<'a> BundleParts<'a> {
    fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut parts = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => parts.cpu = value.number()? as usize,
                (2, value) => parts.events.push(value.bytes()?),
                (3, value) => parts.lost = value.number()? != 0,
                (4, value) => parts.compact = Some(value.bytes()?),
                (5, value) => parts.clock = value.number()?,
                (9 | 10, value) => {
                    parts.valid_from = Some(Timestamp::from_nanos(value.number()?));
                }
                (11, value) => parts.descriptions.push(value.bytes()?),
                _ => {}
            }
        }
        Ok(parts)
    }
}
