//! Beginnings and ends of slices. Names are interned: each is written once with a
//! number, and later only the number is written.

use std::collections::HashMap;
use std::io::{self, Write};

use unjank_host::Timestamp;

use super::packets::{
    Annotation, EXPLICIT_ORDER, INCREMENTAL_STATE_CLEARED, InternedData, InternedName,
    NEEDS_INCREMENTAL_STATE, Packet, SLICE_BEGIN, SLICE_END, TrackDescriptor, TrackEvent,
};
use super::write::PacketWriter;

/// The sequence of all packets about tracks: any number.
pub(super) const SEQUENCE: u32 = 1;
/// Numbers of tracks begin here: `unjank` in ASCII.
const TRACKS: u64 = 0x756e_6a61_6e6b_0000;

/// A track, by its place among those of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track(pub(super) u32);

impl Track {
    pub(super) fn uuid(self) -> u64 {
        TRACKS + u64::from(self.0)
    }
}

/// The value of an argument.
pub(super) enum Value {
    Text(String),
    Number(u64),
}

/// A slice that begins.
pub(super) struct Slice<'a> {
    pub(super) at: Timestamp,
    pub(super) name: &'a str,
    /// By name.
    pub(super) arguments: Vec<(&'static str, Value)>,
    /// The arrow that begins at this slice, and the one that ends at it.
    pub(super) arrows: [Option<u64>; 2],
}

/// Writes tracks and slices.
pub(super) struct SliceWriter<'a, 'b, W> {
    packets: &'a mut PacketWriter<'b, W>,
    names: HashMap<String, u64>,
    argument_names: HashMap<&'static str, u64>,
    has_begun: bool,
}

impl<'a, 'b, W: Write> SliceWriter<'a, 'b, W> {
    pub(super) fn new(packets: &'a mut PacketWriter<'b, W>) -> Self {
        let (names, argument_names) = (HashMap::new(), HashMap::new());
        Self { packets, names, argument_names, has_begun: false }
    }

    /// Describes a track: the first one of its group, or a child of another.
    pub(super) fn describe(
        &mut self,
        track: Track,
        above: Option<Track>,
        name: String,
        description: &str,
    ) -> io::Result<()> {
        let descriptor = TrackDescriptor {
            uuid: Some(track.uuid()),
            name: Some(name),
            parent_uuid: above.map(Track::uuid),
            child_ordering: above.is_none().then_some(EXPLICIT_ORDER),
            sibling_order_rank: above.map(|_| track.0.cast_signed()),
            description: Some(description.to_owned()).filter(|text| !text.is_empty()),
        };
        self.write(Packet { track_descriptor: Some(descriptor), ..Packet::default() })
    }

    pub(super) fn begin(&mut self, track: Track, slice: Slice<'_>) -> io::Result<()> {
        let mut new = InternedData::default();
        let name_iid = intern(&mut self.names, slice.name.to_owned(), &mut new.event_names);
        let mut annotations = Vec::new();
        for (name, value) in slice.arguments {
            let names = &mut new.debug_annotation_names;
            let iid = intern(&mut self.argument_names, name, names);
            let mut annotation = Annotation { name_iid: Some(iid), ..Annotation::default() };
            match value {
                Value::Text(text) => annotation.string_value = Some(text),
                Value::Number(number) => annotation.uint_value = Some(number),
            }
            annotations.push(annotation);
        }
        let [from_here, to_here] = slice.arrows;
        let event = TrackEvent {
            debug_annotations: annotations,
            event_type: Some(SLICE_BEGIN),
            name_iid: Some(name_iid),
            track_uuid: Some(track.uuid()),
            flow_ids: from_here.into_iter().collect(),
            terminating_flow_ids: to_here.into_iter().collect(),
            ..TrackEvent::default()
        };
        let interned_data = Some(new).filter(|new| *new != InternedData::default());
        let timestamp = Some(slice.at.as_nanos());
        let track_event = Some(event);
        self.write(Packet { timestamp, interned_data, track_event, ..Packet::default() })
    }

    pub(super) fn end(&mut self, track: Track, at: Timestamp) -> io::Result<()> {
        let event = TrackEvent {
            event_type: Some(SLICE_END),
            track_uuid: Some(track.uuid()),
            ..TrackEvent::default()
        };
        let timestamp = Some(at.as_nanos());
        self.write(Packet { timestamp, track_event: Some(event), ..Packet::default() })
    }

    fn write(&mut self, packet: Packet) -> io::Result<()> {
        let begins = !std::mem::replace(&mut self.has_begun, true);
        let first = if begins { INCREMENTAL_STATE_CLEARED } else { 0 };
        self.packets.write(Packet {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE | first),
            ..packet
        })
    }
}

/// The number of a name; a new one is added to `new`.
fn intern<K: std::hash::Hash + Eq + ToString>(
    names: &mut HashMap<K, u64>,
    name: K,
    new: &mut Vec<InternedName>,
) -> u64 {
    if let Some(&iid) = names.get(&name) {
        return iid;
    }
    let iid = names.len() as u64 + 1;
    new.push(InternedName { iid: Some(iid), name: Some(name.to_string()) });
    names.insert(name, iid);
    iid
}
