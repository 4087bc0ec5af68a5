#!/usr/bin/env python3
"""The speed and memory of `unjank why` with a large trace of Perfetto.

    bench/perfetto_speed.py target/release/unjank [--size 500] [--runs 5] [--keep FILE] [--json]
    bench/perfetto_speed.py --only-make FILE [--size 500]

Makes a trace as phones record it, of so many megabytes: eight CPUs, switches and wake-ups in columns
(`compact_sched`), and slices of atrace, idle states and soft interrupts as single events. Threads wake
each other across CPUs. The app `com.example.app` has two of them. Explains that app as often as
`--runs` says, and prints for each run wall time, CPU time and peak memory, and the least of each: other
programs only add to them. The trace is removed afterwards, unless `--keep` names a file for it.

Of the bytes, 16 % are columns, 62 % lines of atrace, the rest single events. A trace of 500 MB is of
152 s and has 16.6 million events and 6.2 million lines of atrace.
"""

import argparse
import heapq
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time

CPUS = 8
THREADS = 160
APP = 100  # the process id of the app, and the id of its first thread
# A slot is 2²⁸ ns long. The four lower bytes of a time as variable-length integer are the time within
# the slot, and the three upper ones the slot: the same bytes for all times in a slot.
SLOT_BITS = 28
FIRST_SLOT = 1 << 15  # two and a half hours after the boot
NAMES = [
    "Choreographer#doFrame", "DrawFrames", "inflate", "RV OnBindView", "binder transaction",
    "animation", "traversal", "dequeueBuffer", "queueBuffer", "Recomposer:recompose", "measure",
    "postAndWait", "Lock contention on thread list lock (owner tid: 0)", "eglSwapBuffersWithDamageKHR",
]
UPPER = b"\xfe\xfd\xfb"  # stands for the upper bytes in a pattern
PATTERNS = 8
CALM = 20_000_000  # no thread begins to run in the rest of a slot, in nanoseconds


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def moment(nanos):
    """A time within a slot: its four lower groups of bits, and a mark."""
    assert 0 <= nanos < 1 << SLOT_BITS
    return bytes(nanos >> shift & 0x7F | 0x80 for shift in (0, 7, 14, 21)) + UPPER


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def upper(slot):
    return bytes([slot & 0x7F | 0x80, slot >> 7 & 0x7F | 0x80, slot >> 14 & 0x7F])


class Pattern:
    """What all CPUs do in one slot. It begins and ends with idle CPUs and threads that sleep."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.switches = [[] for _ in range(CPUS)]  # time, state of the former, next thread
        self.wakings = [[] for _ in range(CPUS)]  # time, thread, CPU, flags
        self.singles = [[] for _ in range(CPUS)]  # time, current thread, field, message
        self.events = 0
        self.simulate()

    def simulate(self):
        pick = self.random
        free = [0] * CPUS  # since when each CPU is idle
        due = [(pick.randrange(20_000_000), APP + thread, None) for thread in range(THREADS)]
        heapq.heapify(due)
        asleep = set()  # threads that only another one wakes
        while due:
            at, thread, waker = heapq.heappop(due)
            cpu = thread % CPUS
            begin = max(at + pick.randrange(3_000, 30_000), free[cpu] + 1_000)
            end = begin + pick.randrange(20_000, 200_000)
            if max(at, end) >= (1 << SLOT_BITS) - CALM:
                continue
            # By the interrupt of a timer on its own CPU, or by a thread on another one.
            by, flags = (cpu, 8) if waker is None else (waker, 0)
            self.wakings[by].append((at, thread, cpu, flags))
            self.single(cpu, begin - 500, 0, 13, number(1, 4294967295) + number(2, cpu))
            self.switches[cpu].append((begin, 0, thread))
            self.work(cpu, thread, begin, end)
            self.switches[cpu].append((end, 1, 0))
            self.single(cpu, end + 400, 0, 13, number(1, 1) + number(2, cpu))
            free[cpu] = end + 500
            if asleep and pick.random() < 0.5:
                # It wakes another one, and waits itself until a third one wakes it.
                woken = asleep.pop()
                heapq.heappush(due, (end - 1_000, woken, cpu))
                asleep.add(thread)
            elif len(asleep) < THREADS // 4 and pick.random() < 0.3:
                asleep.add(thread)
            else:
                heapq.heappush(due, (end + pick.randrange(1_000_000, 20_000_000), thread, None))

    def work(self, cpu, thread, begin, end):
        """The slices of a run."""
        pick = self.random
        process = APP if thread < APP + 2 else APP + (thread - APP) // 4 * 4
        for place in range(pick.randrange(3)):
            name = f"B|{process}|{pick.choice(NAMES)} {pick.randrange(1_000)}\n"
            start = begin + 1_000 + place * 4_000
            self.print(cpu, start, thread, name)
            self.print(cpu, start + 2_000, thread, f"E|{process}\n")
        if pick.random() < 0.15:
            self.single(cpu, begin + 9_000, thread, 24, number(1, 1))
            self.single(cpu, begin + 9_900, thread, 25, number(1, 1))

    def print(self, cpu, at, thread, text):
        self.single(cpu, at, thread, 3, number(1, 0xFFFFFFC010000000) + message(2, text.encode()))

    def single(self, cpu, at, thread, field, content):
        self.singles[cpu].append((at, thread, field, content))

    def bundle(self, cpu):
        """`FtraceEventBundle` of a CPU, with marks for the upper bytes."""
        out = bytearray(number(1, cpu))
        for at, thread, field, content in sorted(self.singles[cpu]):
            event = number(2, thread) + message(field, content)
            out += message(2, varint(1 << 3) + moment(at) + event)
        out += message(4, self.columns(cpu))
        self.events += len(self.switches[cpu]) + len(self.wakings[cpu])
        return bytes(out)

    def columns(self, cpu):
        names, order = {}, []

        def comm(thread):
            name = thread_name(thread)
            if name not in names:
                names[name] = len(order)
                order.append(name)
            return names[name]

        def steps(times):
            first = moment(times[0])
            return first + b"".join(varint(b - a) for a, b in zip(times, times[1:]))

        switches, wakings = sorted(self.switches[cpu]), sorted(self.wakings[cpu])

        def column(field, values):
            return message(field, b"".join(varint(value) for value in values))

        fields = [
            message(1, steps([at for at, *_ in switches])),
            column(2, [state for _, state, _ in switches]),
            column(3, [thread for *_, thread in switches]),
            column(4, [120] * len(switches)),
            column(6, [comm(thread) for *_, thread in switches]),
            message(7, steps([at for at, *_ in wakings])),
            column(8, [thread for _, thread, *_ in wakings]),
            column(9, [to for _, _, to, _ in wakings]),
            column(10, [120] * len(wakings)),
            column(11, [comm(thread) for _, thread, *_ in wakings]),
            column(12, [flags for *_, flags in wakings]),
        ]
        return b"".join(message(5, name.encode()) for name in order) + b"".join(fields)

    def pieces(self):
        """The packets of all CPUs, split at the upper bytes of the times."""
        packets = b"".join(
            message(1, number(10, 1 + cpu) + message(1, self.bundle(cpu))) for cpu in range(CPUS)
        )
        pieces = packets.split(UPPER)
        times = 2 * CPUS + sum(len(singles) for singles in self.singles)
        # Else the mark is in other bytes, too.
        return pieces if len(pieces) == times + 1 else None


def thread_name(thread):
    if thread == 0:
        return "swapper"
    return {APP: "com.example.app", APP + 1: "RenderThread"}.get(thread, f"thread-{thread}")


def process_tree():
    processes = message(1, number(1, APP) + number(2, 1) + message(3, b"com.example.app"))
    threads = b"".join(message(2, number(1, APP + place) + number(3, APP)) for place in range(2))
    return message(1, message(2, processes + threads))


def make(path, size):
    """Writes a trace of so many bytes; returns its numbers of events and of lines of atrace."""
    made = ((pattern, pattern.pieces()) for pattern in map(Pattern, itertools.count()))
    usable = itertools.islice((it for it in made if it[1]), PATTERNS)
    patterns, pieces = zip(*usable)
    counts = [
        (
            pattern.events + sum(single[2] != 3 for it in pattern.singles for single in it),
            sum(single[2] == 3 for it in pattern.singles for single in it),
        )
        for pattern in patterns
    ]
    events = lines = written = slots = 0
    with open(path, "wb") as out:
        written += out.write(process_tree())
        while written < size:
            place = slots % PATTERNS
            written += out.write(upper(FIRST_SLOT + slots).join(pieces[place]))
            events, lines = events + counts[place][0], lines + counts[place][1]
            slots += 1
    return {
        "bytes": written,
        "events": events,
        "lines": lines,
        "seconds": slots * (1 << SLOT_BITS) / 1e9,
    }


def measure(program, path, options):
    """Explains the app once: wall time and CPU time in seconds, peak memory in bytes."""
    command = [program, "why", path, "--no-store", "--json", *options]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status:
        sys.exit(f"{command} failed")
    cpu = usage.ru_utime + usage.ru_stime
    return {"wall": wall, "cpu": cpu, "peak": usage.ru_maxrss * 1024}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", 1)[0],
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", nargs="?", help="unjank, as it was built for release")
    parser.add_argument("--size", type=float, default=500, metavar="MB", help="default: 500")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--process", default="com.example.app", help="what is explained")
    parser.add_argument("--until", help="as of unjank why: the end of the window")
    parser.add_argument("--since", help="as of unjank why: the beginning of the window")
    parser.add_argument("--keep", metavar="FILE", help="keep the trace here")
    parser.add_argument("--only-make", metavar="FILE", help="make the trace, and measure nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if args.only_make:
        print(json.dumps(make(args.only_make, args.size * 1e6)))
        return
    if not args.program:
        parser.error("name the program")
    window = [("--process", args.process), ("--since", args.since), ("--until", args.until)]
    options = [word for option in window if option[1] for word in option]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path = args.keep or os.path.join(directory, "trace.perfetto-trace")
        trace = make(path, args.size * 1e6)
        runs = [measure(args.program, path, options) for _ in range(args.runs)]
    least = {key: min(run[key] for run in runs) for key in runs[0]}
    if args.json:
        print(json.dumps({"trace": trace, "runs": runs, "least": least}))
        return
    megabytes = trace["bytes"] / 1e6
    print(
        f"{megabytes:.0f} MB, {trace['events'] / 1e6:.1f} million events, "
        f"{trace['lines'] / 1e6:.1f} million lines of atrace, {trace['seconds']:.0f} s"
    )
    for run in [*runs, least]:
        print(
            f"{'least: ' if run is least else ''}{run['wall']:.2f} s, "
            f"{megabytes / run['wall']:.0f} MB/s, CPU {run['cpu']:.2f} s, "
            f"peak {run['peak'] / 1e6:.0f} MB, "
            f"{run['peak'] / trace['events'] * 1e6 / 1e6:.0f} MB for each million events"
        )


if __name__ == "__main__":
    main()
