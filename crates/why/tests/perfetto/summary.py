"""What a Perfetto trace contains, read with Perfetto's own generated classes.

Argument: a trace. Prints JSON: the number of kernel events by name, the flags of
wake-ups, the tracks with their slices, the processes with their names, whether they are threads of
the kernel and their threads, and the names of instant events. Fails if a field is unknown, a name
is not interned, a track is not described, or its events are out of order or not
in pairs.
"""

import json
import sys
from collections import Counter

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def check(right, what):
    if not right:
        sys.exit(what)


def messages(message):
    yield message
    for field, value in message.ListFields():
        for inner in value if field.is_repeated else [value]:
            if isinstance(inner, Message):
                yield from messages(inner)


with open(sys.argv[1], "rb") as file:
    trace = Trace.FromString(file.read())
for message in messages(trace):
    check(not len(UnknownFieldSet(message)), f"unknown fields in {message}")

events, flags, lost = Counter(), Counter(), 0
tracks, names, arguments, instants = {}, {}, {}, []
processes, begun = {}, False
for packet in trace.packet:
    if packet.HasField("ftrace_events"):
        bundle = packet.ftrace_events
        lost += bundle.lost_events
        times = [event.timestamp for event in bundle.event]
        check(times == sorted(times), f"events of CPU {bundle.cpu} are out of order")
        for event in bundle.event:
            kind = event.WhichOneof("event")
            check(kind, f"an event without content: {event}")
            events[kind] += 1
            if kind == "sched_waking":
                flags[event.common_flags] += 1
    for process in packet.process_tree.processes:
        check(process.pid not in processes, f"process {process.pid} is described twice")
        name = " ".join(process.cmdline)
        processes[process.pid] = {"name": name, "kernel": process.is_kthread, "threads": {}}
    for thread in packet.process_tree.threads:
        if thread.tgid in processes:
            processes[thread.tgid]["threads"][thread.tid] = thread.name
    if packet.HasField("track_descriptor") or packet.HasField("track_event"):
        check(packet.trusted_packet_sequence_id, "a packet without a sequence")
        cleared = bool(packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED)
        check(cleared != begun, "the sequence begins once")
        begun = True
    for name in packet.interned_data.event_names:
        check(name.iid and name.iid not in names, f"{name} is interned twice")
        names[name.iid] = name.name
    for name in packet.interned_data.debug_annotation_names:
        check(name.iid and name.iid not in arguments, f"{name} is interned twice")
        arguments[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        check(track.uuid and track.uuid not in tracks, f"{track.uuid} is described twice")
        parent = track.parent_uuid
        check(not parent or parent in tracks, f"{track.name} has an unknown parent")
        tracks[track.uuid] = {
            "name": track.name,
            "parent": tracks[parent]["name"] if parent else None,
            "slices": [],
        }
    if packet.HasField("track_event"):
        event = packet.track_event
        check(event.track_uuid in tracks, f"no track {event.track_uuid}")
        slices = tracks[event.track_uuid]["slices"]
        last = slices[-1] if slices else {"from": 0, "to": 0}
        check(last.get("to", last["from"]) <= packet.timestamp, "a track is out of order")
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            check("to" in last, f"{last} has no end")
            slices.append(
                {
                    "name": names[event.name_iid],
                    "from": packet.timestamp,
                    "arguments": {
                        arguments[argument.name_iid]: getattr(
                            argument, argument.WhichOneof("value")
                        )
                        for argument in event.debug_annotations
                    },
                    "arrows from": list(event.flow_ids),
                    "arrows to": list(event.terminating_flow_ids),
                }
            )
        elif event.type == TrackEvent.TYPE_INSTANT:
            check(event.name and all(it.name for it in event.debug_annotations), "no name")
            instants.append(event.name)
        else:
            check(event.type == TrackEvent.TYPE_SLICE_END, f"an event of type {event.type}")
            check(slices and "to" not in last, "an end without a begin")
            slices[-1]["to"] = packet.timestamp
for track in tracks.values():
    check(all("to" in slice for slice in track["slices"]), f"an open slice of {track['name']}")
print(
    json.dumps(
        {
            "events": events,
            "flags": flags,
            "lost": lost,
            "tracks": list(tracks.values()),
            "instants": instants,
            "processes": processes,
        }
    )
)
