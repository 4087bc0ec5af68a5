#!/usr/bin/env python3
"""A launch by the rules of Perfetto and of Trace Compass, beside `unjank why`.

    sudo unjank why --trace-file t.dat --json --no-store -- PROGRAM >why.json
    trace-cmd report -t -l t.dat >t.txt
    python3 bench/why_peers.py t.txt why.json

Both rules walk backwards. While a thread has a CPU or waits for one, the path stays on it; while it
sleeps, the path goes to the thread that woke it, within the time of that sleep, and so on. They
differ in the wake-ups that they follow.

Perfetto (google/perfetto, src/trace_processor/perfetto_sql/stdlib/sched/thread_executing_span.sql,
`_runnable_state` and `_wakeup_graph`; read at 2e2320ab): a wake-up from an interrupt (by the flags
of the event) has no waker, nor has one by a thread that was not itself woken in the trace before.
Such a sleep stays with the sleeper. `_critical_path_userspace_adjusted` does the same with other
sleeps than `S`, but the path over the kernel's edges, which is merged over it, follows these.
Idle time goes to the waker, earlier time to the previous span of the same thread, and the deepest
one counts (src/trace_processor/plugins/critical_path/critical_path.cc, by its description).

Trace Compass (OSCriticalPathAlgorithm.java, `resolveBlockingBounded`, at 57dfc13e of
eclipse-tracecompass/org.eclipse.tracecompass, and TraceEventHandlerExecutionGraph.java,
`waitBlocked` and `resolveSoftirq`; F. Giraldeau and M. Dagenais, Wait analysis of distributed
systems using kernel tracing): a wake-up within a handler on the waking CPU names the wait by the
innermost one: an expired hrtimer or the soft interrupts TIMER and HRTIMER are a timer, BLOCK and
IRQ_POLL are storage, NET_RX and NET_TX are the network. Other interrupts leave it blocked: a sleep,
or a gap (unknown) if the path had already left the first thread. Packets, which it follows from
events of LTTng, are not in the text.

The thread and the window are those of the record. A record of `unjank why FILE` holds them. Other
launches begin with the call of execve(2), end after the sum of the record's path, and the thread is
the last one of that path; --thread, --from and --to replace them.
"""

import argparse
import json
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sched_text import Event, History, Span, events

CATEGORIES = [
    "computing", "run-queue", "page-in", "storage", "timer", "network", "device", "sleep",
    "unknown",
]
# The columns of the table why/path that others count under another name.
MERGED = {"slow-clock": "computing", "reclaim": "computing", "waking": "run-queue"}
SOFT_INTERRUPTS = {1: "timer", 8: "timer", 4: "storage", 5: "storage", 2: "network", 3: "network"}
# SCHED: Trace Compass calls the wait interrupted, and follows nobody.
SOFT_SCHED = 7
# The numbers of execve and execveat: x86-64, then arm64 and RISC-V.
EXEC = {"x86_64": (59, 322), "other": (221, 281)}
# Wake-ups from thread to thread within one wait that are followed.
MOST_STEPS = 200
DEVICES = {"storage", "timer", "page-in", "device", "network"}

@dataclass(slots=True, frozen=True)
class Piece:
    """A part of a path: what a thread did from `begin` to `end`."""

    begin: int
    end: int
    tid: int
    category: str
    lost: bool = False
    handler: str = ""


# Whether the path goes to the waker (None), or under which name the sleep stays with the sleeper.
Rule = Callable[[History, Span, bool], str | None]


def perfetto(history: History, span: Span, _first: bool) -> str | None:
    """Perfetto's rule."""
    wake = span.wake
    if wake is None or wake.context != ".":
        return "sleep"
    is_node = history.woken.get(wake.waker, span.end) < span.end
    return None if is_node or span.state == "unborn" else "sleep"


def trace_compass(_history: History, span: Span, first: bool) -> str | None:
    """Trace Compass's rule."""
    blocked = "sleep" if first else "unknown"
    if span.wake is None:
        return blocked
    kind, _, number = span.wake.handler.partition(" ")
    if kind == "hrtimer":
        return "timer"
    if kind == "softirq":
        return "sleep" if int(number) == SOFT_SCHED else SOFT_INTERRUPTS.get(int(number), blocked)
    return blocked if kind == "irq" or not span.wake.waker else None


RULES: dict[str, Rule] = {"Perfetto": perfetto, "Trace Compass": trace_compass}


def walk(
    history: History, rule: Rule, tid: int, begin: int, end: int, steps: int = 0
) -> Iterator[Piece]:
    """The pieces of the path that ends with a thread, the last one first, without gaps."""
    at = end
    while at > begin:
        span = history.at(tid, at)
        if span is None:
            yield Piece(begin, at, tid, "unknown")
            return
        start = max(span.begin, begin)
        handler = span.wake.handler if span.wake else ""
        if span.state in ("running", "runnable"):
            category = "computing" if span.state == "running" else "run-queue"
            yield Piece(start, at, tid, category, span.lost)
        elif span.state == "unknown" or span.end > at:
            # It woke another thread, yet it sleeps: the trace lacks its switch.
            yield Piece(start, at, tid, "unknown", True)
        elif category := rule(history, span, steps == 0):
            yield Piece(start, at, tid, category, False, handler)
        elif steps == MOST_STEPS:
            yield Piece(start, at, tid, "unknown")
        else:
            yield from walk(history, rule, span.wake.waker, start, at, steps + 1)
        at = start


@dataclass(slots=True)
class Row:
    """A row of the table why/path: a part of the path of `unjank why`, in ns of the trace."""

    begin: int
    end: int
    tid: int
    way: str
    pieces: int
    parts: Counter


def value(cell: object) -> object:
    """What a cell of a record's table holds."""
    return cell.get("value") if isinstance(cell, dict) else cell


def table(record: dict, name: str) -> list[dict]:
    """The rows of a table of a record, by the names of its columns; none without that table."""
    for found in record["tables"]:
        if found["name"] == name:
            columns = [column["name"] for column in found["columns"]]
            return [dict(zip(columns, map(value, row))) for row in found["rows"]]
    return []


def tid_of(thread: str) -> int:
    """4711 of `sh (4711)`."""
    match = re.search(r"\((\d+)\)$", thread)
    return int(match[1]) if match else 0


def why_rows(path: list[dict], begin: int) -> list[Row]:
    """The path of `unjank why`, which begins at `begin`."""
    rows = []
    for cells in path:
        start, length = begin + int(cells["from"]), int(cells["time"])
        parts: Counter = Counter()
        for name, time in cells.items():
            if (category := MERGED.get(name, name)) in CATEGORIES and time:
                parts[category] += int(time)
        tid, pieces = tid_of(cells["thread"]), int(cells["pieces"])
        rows.append(Row(start, start + length, tid, cells["way"], pieces, parts))
    return rows


def nanos(seconds: str) -> int:
    """`38735.806062000 s` in nanoseconds."""
    whole, _, fraction = seconds.split()[0].partition(".")
    return int(whole) * 10**9 + int(fraction[:9].ljust(9, "0"))


def exec_call(found: list[Event], tid: int, machine: str) -> int:
    """When a process began to execute its first program, as `unjank why` takes it."""
    numbers = EXEC.get(machine, EXEC["other"])
    of_thread = [event for event in found if event.current == tid]
    done = [event.at for event in of_thread if event.name == "sched_process_exec"]
    if not done:
        sys.exit(f"thread {tid} executes no program in the text: give --thread, --from and --to")
    calls = [
        event.at for event in of_thread
        if event.name == "sys_enter" and event.at < done[0]
        and (number := re.match(r"NR (\d+)", event.rest)) and int(number[1]) in numbers
    ]
    return max(calls, default=done[0])


def window(options: argparse.Namespace, record: dict, found: list[Event]) -> tuple[int, int, int]:
    """The explained thread, and the beginning and end of its window."""
    path = table(record, "why/path")
    if not path or not found:
        sys.exit("the record has no table why/path, or the text no events")
    chosen = {row["what"]: row["chosen"] for row in table(record, "why/window")}
    tid = options.thread or tid_of(chosen.get("thread") or path[-1]["thread"])
    if options.begin:
        begin = nanos(options.begin)
    elif chosen:
        begin = nanos(chosen["from"])
    else:
        begin = exec_call(found, tid, record["host"]["kernel"]["architecture"])
    length = sum(int(row["time"]) for row in path)
    return tid, begin, nanos(options.end) if options.end else begin + length


def clipped(pieces: list[Piece], row: Row) -> list[Piece]:
    """The parts of a path, in order of time, within the time of a row."""
    place = max(bisect_left(pieces, row.begin, key=lambda piece: piece.end), 0)
    inside = []
    while place < len(pieces) and pieces[place].begin < row.end:
        it = pieces[place]
        begin, end = max(it.begin, row.begin), min(it.end, row.end)
        if begin < end:
            inside.append(Piece(begin, end, it.tid, it.category, it.lost, it.handler))
        place += 1
    return inside


def sums(pieces: Iterable[Piece]) -> Counter:
    """The time of each category."""
    times: Counter = Counter()
    for piece in pieces:
        times[piece.category] += piece.end - piece.begin
    return times


def reason(row: Row, category: str, other: Piece) -> str:
    """Why a rule differs from `unjank why`, by kind."""
    if other.lost:
        return "missing switch"
    if category == "unknown":
        return "unknown to why"
    by_packet = other.handler in ("softirq 2", "softirq 3")
    if category != "network" and (other.category == "network" or by_packet):
        return "loopback"
    if category in DEVICES and other.category in (*DEVICES, "sleep", "unknown"):
        return "storage, timer, page-in"
    return "work item" if row.way == "work" else "other"


@dataclass(slots=True)
class Difference:
    """An interval on which a rule and `unjank why` disagree for `time` ns."""

    row: Row
    time: int
    category: str
    other: Piece
    reason: str


def difference(row: Row, inside: list[Piece]) -> Difference | None:
    """How a rule differs within a row: in the category, or else in the thread of a single piece."""
    missing = row.parts - sums(inside)
    apart = [piece for piece in inside if not row.parts[piece.category]]
    time = missing.total()
    if not time and row.pieces == 1:
        apart = [piece for piece in inside if piece.tid != row.tid]
        time = sum(piece.end - piece.begin for piece in apart)
    if not time:
        return None
    other = max(apart or inside, key=lambda piece: piece.end - piece.begin)
    category = (missing or row.parts).most_common(1)[0][0]
    return Difference(row, time, category, other, reason(row, category, other))


def title(history: History, piece: Piece) -> str:
    """`sleep of sh (4711)`."""
    return f"{piece.category} of {history.names.get(piece.tid, '?')} ({piece.tid})"


def millis(nanoseconds: int) -> str:
    """`1.234` for 1,234,000 ns."""
    return f"{nanoseconds / 1e6:,.3f}"


def print_sums(columns: dict[str, Counter], length: int) -> bool:
    """Prints the time of each category in ms, and returns whether all sums are the window's."""
    line = "{:<12}" + "{:>16}" * len(columns)
    print(line.format("ms", *columns))
    for category in CATEGORIES:
        if any(times[category] for times in columns.values()):
            print(line.format(category, *(millis(it[category]) for it in columns.values())))
    totals = [times.total() for times in columns.values()]
    print(line.format("sum", *map(millis, totals)))
    same = ["= window" if total == length else "NOT the window" for total in totals]
    print(line.format("", *same))
    return set(totals) == {length}


def print_differences(
    name: str, found: list[Difference], history: History, begin: int, most: int
) -> None:
    """Prints where a rule and `unjank why` disagree: sums by kind, then the largest intervals."""
    kinds: Counter = Counter()
    for it in found:
        kinds[it.reason] += it.time
    listed = ", ".join(f"{kind} {millis(time)}" for kind, time in kinds.most_common())
    print(f"\n{name} differs from why for {millis(kinds.total())} ms: {listed or 'nowhere'}")
    for it in sorted(found, key=lambda it: -it.time)[:most]:
        thread = history.names.get(it.row.tid, "?")
        print(
            f"  at {millis(it.row.begin - begin)} ms for {millis(it.time)} ms: "
            f"why {it.category} of {thread} ({it.row.tid}), "
            f"{name} {title(history, it.other)}: {it.reason}"
        )


def arguments() -> argparse.Namespace:
    """The words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, help="the output of trace-cmd report -t -l")
    parser.add_argument("record", type=Path, help="the record: the output of unjank why --json")
    parser.add_argument("--thread", type=int, help="the explained thread")
    parser.add_argument("--from", dest="begin", help="beginning of the window, in s of the trace")
    parser.add_argument("--to", dest="end", help="end of the window, in s of the trace")
    parser.add_argument("--largest", type=int, default=8, help="intervals shown for each rule")
    return parser.parse_args()


def main() -> int:
    """Prints the comparison; 1 if the sum of a rule is not the window's length."""
    options = arguments()
    record = json.loads(options.record.read_text())
    with options.text.open(errors="replace") as lines:
        found = events(lines)
    history = History.of(found)
    tid, begin, end = window(options, record, found)
    rows = why_rows(table(record, "why/path"), begin)
    paths = {name: list(walk(history, rule, tid, begin, end))[::-1] for name, rule in RULES.items()}
    name, start = history.names.get(tid, "?"), f"{begin // 10**9}.{begin % 10**9:09}"
    print(f"{name} ({tid}), {millis(end - begin)} ms from {start} s\n")
    columns = {"why": sum((row.parts for row in rows), Counter())}
    columns |= {name: sums(path) for name, path in paths.items()}
    whole = print_sums(columns, end - begin)
    for name, path in paths.items():
        apart = [it for row in rows if (it := difference(row, clipped(path, row)))]
        print_differences(name, apart, history, begin, options.largest)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
