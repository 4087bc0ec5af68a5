//! What an explanation needs besides events, as an argument of an instant event on the first track;
//! the processes of threads that ran before the recording; and the number of lost events.

use std::io::{self, Write};

use unjank_host::Timestamp;
use unjank_host::tracefs::trace_file::{Annex, AnnexGaps, perfetto};
use unjank_host::tracefs::{Gap, Lost};

use super::packets::{
    Annotation, FtraceStats, INSTANT, LostOfCpu, NEEDS_INCREMENTAL_STATE, Packet, ProcessTree,
    STATS_AT_END, ThreadOfProcess, TrackEvent,
};
use super::slices::SEQUENCE;
use super::tracks::GROUP;
use super::write::PacketWriter;
use crate::report::Explained;

/// Writes all of them.
pub(super) fn write<W: Write>(
    launch: &Explained,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    write_annex(&annex(launch), launch.from, packets)?;
    let threads = launch.history().older_threads().map(|(thread, first)| ThreadOfProcess {
        tid: Some(thread.0.cast_signed()),
        name: None,
        tgid: Some(first.0.cast_signed()),
    });
    let tree = ProcessTree { processes: Vec::new(), threads: threads.collect() };
    if !tree.threads.is_empty() {
        packets.write(Packet { process_tree: Some(tree), ..Packet::default() })?;
    }
    write_lost(launch.trace().lost, packets)
}

/// Writes an annex as an instant event on the first track, which must be described before.
pub(super) fn write_annex<W: Write>(
    annex: &Annex,
    at: Timestamp,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let annotation = Annotation {
        name: Some(perfetto::ANNOTATION.to_owned()),
        string_value: Some(serde_json::to_string(annex)?),
        ..Annotation::default()
    };
    let event = TrackEvent {
        debug_annotations: vec![annotation],
        event_type: Some(INSTANT),
        name: Some(perfetto::EVENT.to_owned()),
        track_uuid: Some(GROUP.uuid()),
        ..TrackEvent::default()
    };
    packets.write(Packet {
        timestamp: Some(at.as_nanos()),
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
        track_event: Some(event),
        ..Packet::default()
    })
}

/// Writes the number of events that the kernel lost.
pub(super) fn write_lost<W: Write>(
    lost: Lost,
    packets: &mut PacketWriter<'_, W>,
) -> io::Result<()> {
    let cpu_stats =
        LostOfCpu { overrun: Some(lost.overwritten), dropped_events: Some(lost.dropped) };
    let stats = FtraceStats { phase: Some(STATS_AT_END), cpu_stats: vec![cpu_stats] };
    packets.write(Packet { ftrace_stats: Some(stats), ..Packet::default() })
}

fn annex(launch: &Explained) -> Annex {
    let gaps = launch.trace().cpus.iter().map(|cpu| AnnexGaps {
        cpu: cpu.cpu,
        of_events: spans(&cpu.gaps),
        of_calls: spans(&cpu.call_gaps),
    });
    Annex { gaps: gaps.collect(), ..launch.annex() }
}

/// Beginnings and ends in nanoseconds.
pub(super) fn spans(gaps: &[Gap]) -> Vec<[u64; 2]> {
    gaps.iter().map(|gap| [gap.from, gap.to].map(Timestamp::as_nanos)).collect()
}
