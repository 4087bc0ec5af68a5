//! A trace of all that a machine does, written while it is recorded: only what later parts need is
//! in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use unjank_host::Timestamp;
use unjank_host::process::listing::ListedProcess;
use unjank_host::tracefs::trace_file::{Annex, AnnexGaps};
use unjank_host::tracefs::{CpuTrace, EventKind, Gap, Lost};

use super::kernel_events::{Converter, write_bundles, write_first_clocks};
use super::process_tree;
use super::recording::{spans, write_annex, write_lost};
use super::slices::SliceWriter;
use super::thread_facts::SeenThreads;
use super::tracks::GROUP;
use super::write::PacketWriter;
use super::write_system;

/// The name of the track with the annex.
const TRACK: &str = "unjank record";

/// Writes a trace of a machine.
#[derive(Debug)]
pub struct MachineTrace<W> {
    out: W,
    began: Timestamp,
    seen: SeenThreads,
    cpus: BTreeMap<usize, WrittenCpu>,
    /// Processes that are described.
    described: BTreeSet<u32>,
    functions: BTreeSet<u64>,
    events: u64,
    bytes: u64,
}

/// The state of a CPU between two parts.
#[derive(Debug, Default)]
struct WrittenCpu {
    /// The time of its last event.
    known_to: Timestamp,
    gaps: Vec<Gap>,
}

/// Facts that are written at the end of a recording.
#[derive(Debug, Default)]
pub struct MachineTraceEnd {
    /// When it ended.
    pub at: Timestamp,
    /// The processes that run then.
    pub processes: Vec<ListedProcess>,
    /// The events that the kernel lost.
    pub lost: Lost,
    /// What an explanation needs besides the events. Its gaps are added.
    pub annex: Annex,
}

impl<W: Write> MachineTrace<W> {
    /// Begins a trace of a recording that began at a moment, with the processes that ran and the
    /// clock frequencies by CPU, in kHz.
    ///
    /// # Errors
    /// A failed write.
    pub fn begin(
        mut out: W,
        began: Timestamp,
        processes: &[ListedProcess],
        clocks: &BTreeMap<usize, u64>,
    ) -> io::Result<Self> {
        let mut packets = PacketWriter::new(&mut out);
        write_system(&mut packets)?;
        process_tree::write(processes.iter(), &mut packets)?;
        let clocks = clocks.iter().map(|(&cpu, &khz)| (cpu, khz));
        write_first_clocks(began, clocks, &mut packets)?;
        let bytes = packets.bytes();
        let (seen, cpus, functions) = Default::default();
        let described = processes.iter().map(|process| process.number).collect();
        Ok(Self { out, began, seen, cpus, described, functions, events: 0, bytes })
    }

    /// Adds the next events of a CPU. A gap before the first of them may begin at 0: then it begins
    /// where the earlier events end.
    ///
    /// # Errors
    /// A failed write.
    pub fn add(&mut self, mut part: CpuTrace) -> io::Result<()> {
        let Self { out, began, seen, cpus, functions, events, bytes, .. } = self;
        let cpu = cpus.entry(part.cpu).or_default();
        let earlier = cpu.known_to.max(*began);
        for gap in &mut part.gaps {
            gap.from = gap.from.max(earlier);
            gap.to = gap.to.max(gap.from);
        }
        cpu.gaps.extend(&part.gaps);
        for event in &part.events {
            seen.see(&event);
            if let EventKind::WorkQueued { function, .. } | EventKind::WorkBegins { function, .. } =
                event.kind
            {
                functions.insert(function);
            }
        }
        *events += part.events.len() as u64;
        let converter = Converter { threads: seen, with_handlers: true, with_softirqs: true };
        let mut packets = PacketWriter::new(out);
        let mut known_to = earlier;
        write_bundles(&part, false, &mut known_to, &converter, &mut packets)?;
        cpu.known_to = known_to;
        *bytes += packets.bytes();
        Ok(())
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The addresses of the kernel's functions so far: those of work items.
    pub fn functions(&self) -> &BTreeSet<u64> {
        &self.functions
    }

    /// Ends the trace. Returns the writer, and the number of bytes.
    ///
    /// # Errors
    /// A failed write.
    pub fn finish(mut self, end: MachineTraceEnd) -> io::Result<(W, u64)> {
        let MachineTraceEnd { at, processes, lost, annex } = end;
        let (first, last) = (Timestamp::default(), Timestamp::from_nanos(u64::MAX));
        let gaps = self.cpus.iter().map(|(&cpu, written)| {
            let before = [Gap { from: first, to: self.began }];
            let after = [Gap { from: at, to: last }];
            let mut gaps = [&before, written.gaps.as_slice(), &after].concat();
            gaps.retain(|gap| gap.from < gap.to);
            AnnexGaps { cpu, of_events: spans(&gaps), of_calls: Vec::new() }
        });
        let annex = Annex { gaps: gaps.collect(), ..annex };
        let new = processes.iter().filter(|process| !self.described.contains(&process.number));
        let mut packets = PacketWriter::new(&mut self.out);
        process_tree::write(new, &mut packets)?;
        SliceWriter::new(&mut packets).describe(GROUP, None, TRACK.to_owned(), "")?;
        write_annex(&annex, self.began, &mut packets)?;
        write_lost(lost, &mut packets)?;
        let bytes = self.bytes + packets.bytes();
        Ok((self.out, bytes))
    }
}
