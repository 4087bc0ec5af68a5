//! `TrackEvent`: slices that programs write with Perfetto's library.
//!
//! Events of one sequence, which is one writer, share interned names and defaults, until the sequence
//! begins anew.

use std::collections::HashMap;

use super::wire::{Fields, Malformed, Small};
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use crate::tracefs::slices::{Lane, SliceOwner, SliceReader};

/// The head of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head {
    /// `timestamp`, by the clock of the packet.
    pub(super) timestamp: Option<u64>,
    /// `timestamp_clock_id`; `None` for the default of the sequence.
    pub(super) clock: Option<u64>,
    /// `trusted_packet_sequence_id`.
    pub(super) sequence: u64,
    /// Whether interned names and defaults of the sequence begin anew.
    pub(super) begins_anew: bool,
}

impl Head {
    /// Reads the head of a packet.
    pub(super) fn of(packet: &[u8]) -> Result<Self, Malformed> {
        const CLEARED: u64 = 1;
        let mut head = Self::default();
        for field in Fields::of(packet) {
            match field? {
                (8, value) => head.timestamp = Some(value.number()?),
                (10, value) => head.sequence = value.number()?,
                (13, value) => head.begins_anew |= value.number()? & CLEARED != 0,
                (41, value) => head.begins_anew |= value.number()? != 0,
                (58, value) => head.clock = Some(value.number()?),
                _ => {}
            }
        }
        Ok(head)
    }
}

/// Reads track events.
#[derive(Debug, Default)]
pub(super) struct TrackEvents {
    tracks: HashMap<u64, Track>,
    sequences: HashMap<u64, Sequence>,
    /// The bytes of the interned names of all sequences together.
    names: usize,
}

/// `TrackDescriptor`.
#[derive(Debug, Clone, Copy, Default)]
struct Track {
    parent: u64,
    process: u32,
    thread: Option<ThreadId>,
}

/// What packets of a sequence share.
#[derive(Debug, Default)]
struct Sequence {
    event_names: HashMap<u64, String>,
    track: u64,
    clock: Option<u64>,
}

/// The most tracks and sequences that are kept.
const MOST: usize = 1_000_000;
/// The most bytes of interned names that are kept.
const MOST_OF_NAMES: usize = 64 << 20;
/// About the bytes that a name takes beside its text.
const OVERHEAD: usize = 64;
/// The most tracks between a slice and its thread or process.
const DEPTH: usize = 16;

impl TrackEvents {
    /// Applies the head of a packet. Returns the clock of its time.
    pub(super) fn begin(&mut self, head: &Head, default: u64) -> u64 {
        if head.begins_anew
            && let Some(sequence) = self.sequences.get_mut(&head.sequence)
        {
            self.names -=
                sequence.event_names.values().map(|name| size_of_name(name)).sum::<usize>();
            *sequence = Sequence::default();
        }
        let of_sequence = || self.sequences.get(&head.sequence).and_then(|it| it.clock);
        head.clock.or_else(of_sequence).unwrap_or(default)
    }

    fn sequence(&mut self, head: &Head) -> Option<&mut Sequence> {
        if self.sequences.len() >= MOST && !self.sequences.contains_key(&head.sequence) {
            return None;
        }
        Some(self.sequences.entry(head.sequence).or_default())
    }

    /// `TracePacketDefaults`.
    pub(super) fn defaults(&mut self, head: &Head, message: &[u8]) -> Result<(), Malformed> {
        let Some(sequence) = self.sequence(head) else { return Ok(()) };
        for field in Fields::of(message) {
            match field? {
                (11, value) => {
                    for part in Fields::of(value.bytes()?) {
                        if let (11, value) = part? {
                            sequence.track = value.number()?;
                        }
                    }
                }
                (58, value) => sequence.clock = Some(value.number()?),
                _ => {}
            }
        }
        Ok(())
    }

    /// An `EventName` of `InternedData`.
    pub(super) fn name(&mut self, head: &Head, message: &[u8]) -> Result<(), Malformed> {
        let name = Small::of(message)?;
        let text = String::from_utf8_lossy(name.text(2)).into_owned();
        let size = size_of_name(&text);
        if self.names.saturating_add(size) > MOST_OF_NAMES {
            return Ok(());
        }
        let Some(sequence) = self.sequence(head) else { return Ok(()) };
        let before = sequence.event_names.insert(name.number(1), text);
        self.names += size;
        self.names -= before.map_or(0, |before| size_of_name(&before));
        Ok(())
    }

    /// `TrackDescriptor`.
    pub(super) fn describe(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (mut uuid, mut track) = (0, Track::default());
        for field in Fields::of(message) {
            match field? {
                (1, value) => uuid = value.number()?,
                (3, value) => track.process = Small::of(value.bytes()?)?.number(1) as u32,
                (4, value) => {
                    let thread = Small::of(value.bytes()?)?;
                    track.process = thread.number(1) as u32;
                    track.thread = Some(ThreadId(thread.number(2) as u32));
                }
                (5, value) => track.parent = value.number()?,
                _ => {}
            }
        }
        if self.tracks.len() < MOST || self.tracks.contains_key(&uuid) {
            self.tracks.insert(uuid, track);
        }
        Ok(())
    }

    /// The process and thread of a track, or of the tracks above it.
    fn owner(&self, mut uuid: u64) -> SliceOwner {
        for _ in 0..DEPTH {
            let Some(track) = self.tracks.get(&uuid) else { break };
            if track.process != 0 {
                return SliceOwner { process: track.process, thread: track.thread };
            }
            uuid = track.parent;
        }
        SliceOwner { process: 0, thread: None }
    }

    /// `TrackEvent`: adds it to `slices`.
    pub(super) fn event(
        &self,
        head: &Head,
        at: Timestamp,
        message: &[u8],
        slices: &mut SliceReader,
    ) -> Result<(), Malformed> {
        const BEGIN: u64 = 1;
        const END: u64 = 2;
        const INSTANT: u64 = 3;
        let sequence = self.sequences.get(&head.sequence);
        let mut track = sequence.map_or(0, |sequence| sequence.track);
        let (mut kind, mut number, mut name) = (0, 0, None);
        for field in Fields::of(message) {
            match field? {
                (9, value) => kind = value.number()?,
                (10, value) => number = value.number()?,
                (11, value) => track = value.number()?,
                (23, value) => name = Some(value.text()?),
                _ => {}
            }
        }
        let interned = || sequence.and_then(|it| it.event_names.get(&number)).cloned();
        let name = name.or_else(interned).unwrap_or_default();
        let lane = if track == 0 { Lane::Writer(head.sequence) } else { Lane::Track(track) };
        match kind {
            BEGIN => slices.begin(at, lane, self.owner(track), &name),
            END => slices.end(at, lane),
            INSTANT => slices.instant(at, lane, self.owner(track), &name),
            _ => {}
        }
        Ok(())
    }
}

/// The memory that an interned name takes.
fn size_of_name(name: &str) -> usize {
    name.len() + OVERHEAD
}
