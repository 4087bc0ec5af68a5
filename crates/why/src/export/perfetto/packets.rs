//! The messages of a Perfetto trace that unjank writes. Field numbers are those
//! of `trace_packet.proto`, `ps/process_tree.proto`, `track_descriptor.proto`,
//! `track_event.proto`, `debug_annotation.proto`, `interned_data.proto`,
//! `ftrace/ftrace_stats.proto` and `system_info.proto`. Of a `oneof`, exactly one field is set.

use prost::Message;

use super::kernel_messages::Bundle;

/// `Trace`, with one packet.
#[derive(Clone, PartialEq, Message)]
pub(super) struct File {
    #[prost(message, optional, tag = "1")]
    pub(super) packet: Option<Packet>,
}

/// `TracePacket`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    /// Packets with the same number share interned names.
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    /// [`INCREMENTAL_STATE_CLEARED`] or [`NEEDS_INCREMENTAL_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "1")]
    pub(super) ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")]
    pub(super) process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "34")]
    pub(super) ftrace_stats: Option<FtraceStats>,
    #[prost(message, optional, tag = "45")]
    pub(super) system: Option<SystemInfo>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

/// `TracePacket.SequenceFlags`: the first packet of a sequence.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags`: a packet with names that are interned before.
pub(super) const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// `SystemInfo`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) utsname: Option<Utsname>,
}

/// `Utsname`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Utsname {
    #[prost(string, optional, tag = "1")]
    pub(super) sysname: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) machine: Option<String>,
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    /// [`EXPLICIT_ORDER`].
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    /// The place among the children of its parent.
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
    #[prost(string, optional, tag = "14")]
    pub(super) description: Option<String>,
}

/// `TrackDescriptor.ChildTracksOrdering`: by rank.
pub(super) const EXPLICIT_ORDER: i32 = 3;

/// `TrackEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<Annotation>,
    /// [`SLICE_BEGIN`], [`SLICE_END`] or [`INSTANT`].
    #[prost(int32, optional, tag = "9")]
    pub(super) event_type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    /// The name, if it is not interned.
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    /// Arrows that begin or go on here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

/// `TrackEvent.Type`.
pub(super) const SLICE_BEGIN: i32 = 1;
/// `TrackEvent.Type`.
pub(super) const SLICE_END: i32 = 2;
/// `TrackEvent.Type`.
pub(super) const INSTANT: i32 = 3;

/// `ProcessTree`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub(super) processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub(super) threads: Vec<ThreadOfProcess>,
}

/// `ProcessTree.Process`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) ppid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    pub(super) cmdline: Vec<String>,
    #[prost(bool, optional, tag = "8")]
    pub(super) is_kthread: Option<bool>,
}

/// `ProcessTree.Thread`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadOfProcess {
    #[prost(int32, optional, tag = "1")]
    pub(super) tid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub(super) tgid: Option<i32>,
}

/// `FtraceStats`: events that the kernel lost.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceStats {
    /// [`STATS_AT_END`].
    #[prost(int32, optional, tag = "1")]
    pub(super) phase: Option<i32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) cpu_stats: Vec<LostOfCpu>,
}

/// `FtraceStats.Phase`.
pub(super) const STATS_AT_END: i32 = 2;

/// `FtraceCpuStats`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct LostOfCpu {
    #[prost(uint64, optional, tag = "3")]
    pub(super) overrun: Option<u64>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) dropped_events: Option<u64>,
}

/// `DebugAnnotation`: an argument of a slice.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Annotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
    /// The name, if it is not interned.
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
}

/// `InternedData`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<InternedName>,
}

/// `EventName`, `DebugAnnotationName`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedName {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}
