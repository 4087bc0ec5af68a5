"""A recording of two CPUs that is made by hand, as a trace of Perfetto's own classes."""

import gzip
import zlib

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEventBundle, Trace

BEGIN = 5_000  # of all times, after boot
HARDIRQ = 0x08
SLEEP, DISK = 1, 2


def nanos(millis):
    return round((BEGIN + millis) * 1_000_000)


class Recording:
    """The events of each CPU. Threads are known by their numbers; `names` has their names."""

    def __init__(self, names):
        self.names = names
        self.events = {0: [], 1: []}  # (time, current, flags, name, fields) by CPU
        self.running = {0: 0, 1: 0}

    def event(self, cpu, at, name, flags=0, /, **fields):
        self.events[cpu].append((nanos(at), self.running[cpu], flags, name, fields))

    def switch(self, cpu, at, to, state=SLEEP):
        before = self.running[cpu]
        self.event(
            cpu,
            at,
            "sched_switch",
            prev_comm=self.names[before],
            prev_pid=before,
            prev_prio=120,
            prev_state=0 if before == 0 else state,
            next_comm=self.names[to],
            next_pid=to,
            next_prio=120,
        )
        self.running[cpu] = to

    def wakes(self, cpu, at, thread, target, flags=0):
        self.event(
            cpu, at, "sched_waking", flags, comm=self.names[thread], pid=thread, prio=120, target_cpu=target
        )

    def mark(self, cpu, at, line):
        self.event(cpu, at, "print", ip=1, buf=line + "\n")

    def slice(self, cpu, begin, end, process, name):
        self.mark(cpu, begin, f"B|{process}|{name}")
        self.mark(cpu, end, f"E|{process}")


def add_compact(bundle, events):
    compact: FtraceEventBundle.CompactSched = bundle.compact_sched
    names: list[str] = []
    last = {"switch": 0, "waking": 0}

    def column(kind, at, name, **fields):
        if name not in names:
            names.append(name)
        fields["comm_index" if kind == "waking" else "next_comm_index"] = names.index(name)
        getattr(compact, f"{kind}_timestamp").append(at - last[kind])
        last[kind] = at
        for field, value in fields.items():
            getattr(compact, f"{kind}_{field}").append(value)

    for at, _, flags, name, it in events:
        if name == "sched_switch":
            column(
                "switch",
                at,
                it["next_comm"],
                prev_state=it["prev_state"],
                next_pid=it["next_pid"],
                next_prio=it["next_prio"],
            )
        elif name == "sched_waking":
            column(
                "waking",
                at,
                it["comm"],
                pid=it["pid"],
                target_cpu=it["target_cpu"],
                prio=it["prio"],
                common_flags=flags,
            )
    compact.intern_table.extend(names)


def write(recording, how, add_processes):
    """The bytes of the trace. `how` is `full` for one message per event, `compact` for columns of
    switches and wake-ups, `packed` for compressed packets, `gzip` for a gzip file."""
    trace = Trace()
    trace.packet.add().system_info.utsname.machine = "aarch64"
    for cpu, events in recording.events.items():
        # Bundles of different CPUs are not in order of time.
        for part in (events[: len(events) // 2], events[len(events) // 2 :]):
            bundle = trace.packet.add(trusted_packet_sequence_id=2).ftrace_events
            bundle.cpu = cpu
            if how != "full":
                add_compact(bundle, part)
            for at, current, flags, name, fields in part:
                if how == "full" or name not in ("sched_switch", "sched_waking"):
                    event = bundle.event.add(timestamp=at, pid=current, common_flags=flags)
                    inner = getattr(event, name)
                    inner.SetInParent()
                    for field, value in fields.items():
                        if isinstance(value, list):
                            getattr(inner, field).extend(value)
                        else:
                            setattr(inner, field, value)
    add_processes(trace)
    if how == "packed":
        packed = Trace()
        packed.packet.add().compressed_packets = zlib.compress(trace.SerializeToString())
        return packed.SerializeToString()
    if how == "gzip":
        return gzip.compress(trace.SerializeToString())
    return trace.SerializeToString()


def save(recording, file, how, add_processes):
    for events in recording.events.values():
        events.sort(key=lambda event: event[0])
    with open(file, "wb") as out:
        out.write(write(recording, how, add_processes))
