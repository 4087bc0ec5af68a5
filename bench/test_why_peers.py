#!/usr/bin/env python3
"""Tests of why_peers.py on recordings written by hand: bench/test_why_peers.py

Times below are in ms, those of the recordings are nanoseconds.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sched_text
import why_peers

MS = 10**6


def line(at: float, current: str, cpu: int, flags: str, event: str) -> str:
    """A line as `trace-cmd report -t -l` prints it, `at` ms after second 5."""
    return f"{current:>16} {cpu:3}{flags} 5.{round(at * MS):09}: {event}"


def switch(at: float, cpu: int, prev: str, state: str, then: str) -> str:
    """`prev` and `then` are like `a-7`."""
    (a, _, b), (c, _, d) = prev.rpartition("-"), then.rpartition("-")
    rest = f"sched_switch:         {a}:{b} [120] {state} ==> {c}:{d} [120]"
    return line(at, prev, cpu, "d..2.", rest)


def waking(at: float, cpu: int, waker: str, flags: str, woken: str) -> str:
    """A wake-up of a thread like `a-7`."""
    name, _, tid = woken.rpartition("-")
    rest = f"sched_waking:         comm={name} pid={tid} prio=120 target_cpu=000"
    return line(at, waker, cpu, flags, rest)


# Thread 7 computes, asks its server 8, which reads from a disk, and then sleeps.
SERVED = [
    "cpus=2",
    line(0, "my app-7", 0, ".....", "sys_enter:            NR 59 (7f, 0, 0, 0, 0, 0)"),
    line(0.1, "my app-7", 0, ".....", "sched_process_exec:   filename=/a pid=7 old_pid=7"),
    waking(1, 0, "my app-7", "d..4.", "srv-8"),
    switch(1.5, 1, "hog-9", "R", "srv-8"),
    switch(2, 0, "my app-7", "S", "<idle>-0"),
    switch(3, 1, "srv-8", "D", "hog-9"),
    line(6, "hog-9", 1, "d.h..", "irq_handler_entry:    irq=36 name=virtio1-req.0"),
    line(6, "hog-9", 1, "d.h..", "irq_handler_exit:     irq=36 ret=handled"),
    line(6, "hog-9", 1, "..s..", "softirq_entry:        vec=4 [action=BLOCK]"),
    waking(6, 1, "hog-9", "d.s3.", "srv-8"),
    line(6.1, "hog-9", 1, "..s..", "softirq_exit:         vec=4 [action=BLOCK]"),
    switch(7, 1, "hog-9", "R+", "srv-8"),
    waking(9, 1, "srv-8", "d..4.", "my app-7"),
    switch(10, 0, "<idle>-0", "R", "my app-7"),
    switch(12, 0, "my app-7", "S", "<idle>-0"),
    line(20, "<idle>-0", 0, "d.h..", "hrtimer_expire_entry: hrtimer=0xff now=20 function=0x1"),
    waking(20, 0, "<idle>-0", "d.h2.", "my app-7"),
    line(20, "<idle>-0", 0, "d.h..", "hrtimer_expire_exit:  hrtimer=0xff"),
    switch(21, 0, "<idle>-0", "R", "my app-7"),
    switch(22, 0, "my app-7", "Z", "<idle>-0"),
]


def path(text: list[str], name: str, tid: int, end: float) -> list[tuple]:
    """A path from 0 to `end`: the length of each piece in ms, its thread, and its category."""
    history = sched_text.History.of(sched_text.events(text))
    second = 5 * 10**9
    rule = why_peers.RULES[name]
    pieces = list(why_peers.walk(history, rule, tid, second, second + round(end * MS)))[::-1]
    for before, after in zip(pieces, pieces[1:]):
        assert before.end == after.begin, (before, after)
    return [((it.end - it.begin) / MS, it.tid, it.category) for it in pieces]


class Rules(unittest.TestCase):
    """The known answers of both rules."""

    def served(self, disk: str, sleep: str) -> list[tuple]:
        """The answer, given the names of the wait for the disk and of the sleep."""
        return [
            (2, 7, "computing"), (1, 8, "computing"), (3, 8, disk), (1, 8, "run-queue"),
            (2, 8, "computing"), (1, 7, "run-queue"), (2, 7, "computing"), (8, 7, sleep),
            (1, 7, "run-queue"), (1, 7, "computing"),
        ]

    def test_perfetto_leaves_waits_for_interrupts_to_the_sleeper(self) -> None:
        self.assertEqual(path(SERVED, "Perfetto", 7, 22), self.served("sleep", "sleep"))

    def test_trace_compass_names_waits_by_the_handler(self) -> None:
        self.assertEqual(path(SERVED, "Trace Compass", 7, 22), self.served("storage", "timer"))

    def test_a_packet_over_loopback(self) -> None:
        text = [
            line(0, "a-7", 0, ".....", "x: y"),
            switch(1, 0, "a-7", "S", "b-8"),
            line(4, "b-8", 0, "..s..", "softirq_entry:        vec=3 [action=NET_RX]"),
            waking(4, 0, "b-8", "d.s4.", "a-7"),
            switch(5, 0, "b-8", "S", "a-7"),
            switch(6, 0, "a-7", "S", "b-8"),
        ]
        for name, wait in [("Perfetto", "sleep"), ("Trace Compass", "network")]:
            expected = [(1, 7, "computing"), (3, 7, wait), (1, 7, "run-queue"), (1, 7, "computing")]
            self.assertEqual(path(text, name, 7, 6), expected)

    def test_a_waker_that_nobody_woke_is_no_node_of_perfetto(self) -> None:
        text = [
            line(0, "a-7", 0, ".....", "x: y"),
            switch(1, 0, "a-7", "S", "b-8"),
            waking(3, 0, "b-8", "d..4.", "a-7"),
            switch(3, 0, "b-8", "S", "a-7"),
            switch(4, 0, "a-7", "S", "b-8"),
        ]
        around = [(1, 7, "computing")]
        self.assertEqual(path(text, "Perfetto", 7, 4), [*around, (2, 7, "sleep"), *around])
        followed = [*around, (2, 8, "computing"), *around]
        self.assertEqual(path(text, "Trace Compass", 7, 4), followed)

    def test_before_its_birth_a_thread_is_its_parent(self) -> None:
        new = "sched_wakeup_new:     b:8 [120] CPU:000"
        text = [
            line(0, "a-7", 0, ".....", "x: y"),
            line(1, "a-7", 0, "d..2.", new),
            switch(2, 0, "a-7", "S", "b-8"),
            switch(4, 0, "b-8", "X", "<idle>-0"),
        ]
        expected = [(1, 7, "computing"), (1, 8, "run-queue"), (2, 8, "computing")]
        self.assertEqual(path(text, "Perfetto", 8, 4), expected)
        self.assertEqual(path(text, "Trace Compass", 8, 4), expected)

    def test_threads_that_wake_each_other_at_one_moment_end_in_unknown(self) -> None:
        text = [
            line(0, "a-7", 0, ".....", "x: y"),
            switch(1, 0, "a-7", "S", "<idle>-0"),
            switch(1, 1, "b-8", "S", "<idle>-0"),
            waking(3, 1, "b-8", "d..4.", "a-7"),
            waking(3, 0, "a-7", "d..4.", "b-8"),
            switch(4, 0, "<idle>-0", "R", "a-7"),
            switch(5, 0, "a-7", "S", "<idle>-0"),
        ]
        expected = [(1, 7, "computing"), (1, 7, "run-queue"), (1, 7, "computing")]
        found = path(text, "Trace Compass", 7, 5)
        self.assertEqual(found[:1] + found[2:], expected)
        self.assertEqual(found[1][::2], (2, "unknown"))


class Text(unittest.TestCase):
    """The forms of the text."""

    def test_the_kernels_form_in_microseconds(self) -> None:
        text = [
            "# tracer: nop",
            "          <idle>-0       [001] d.h2.   123.456789: sched_waking: comm=a-1 b pid=7 "
            "prio=120 target_cpu=001",
            "program:     a-1 b-7  (      7) [001] d..2.   123.456790: sched_switch: "
            "prev_comm=a-1 b prev_pid=7 prev_prio=120 prev_state=R+ ==> "
            "next_comm=c next_pid=8 next_prio=120",
        ]
        waking_event, switch_event = sched_text.events(text)
        self.assertEqual(waking_event.at, 123_456_789_000)
        self.assertEqual((waking_event.cpu, waking_event.context), (1, "h"))
        self.assertEqual((switch_event.current, switch_event.context), (7, "."))
        history = sched_text.History.of([waking_event, switch_event])
        self.assertEqual(history.names, {7: "a-1 b", 8: "c"})
        self.assertEqual(history.state(7), "runnable")


def record() -> dict:
    """A record with the path of `unjank why` of the first recording."""
    names = [
        "from", "time", "thread", "way", "pieces", "computing", "run-queue", "storage", "timer",
    ]
    pieces = [
        (2, "my app (7)", "own", "computing"), (1, "srv (8)", "ipc", "computing"),
        (3, "srv (8)", "ipc", "storage"), (1, "srv (8)", "ipc", "run-queue"),
        (2, "srv (8)", "ipc", "computing"), (1, "my app (7)", "own", "run-queue"),
        (2, "my app (7)", "own", "computing"), (8, "my app (7)", "own", "timer"),
        (1, "my app (7)", "own", "run-queue"), (1, "my app (7)", "own", "computing"),
    ]
    rows, at = [], 0
    for time, thread, way, activity in pieces:
        parts = [{"value": time * MS} if name == activity else None for name in names[5:]]
        rows.append([{"value": at * MS}, {"value": time * MS}, thread, way, {"value": 1}, *parts])
        at += time
    columns = [{"name": name} for name in names]
    return {
        "host": {"kernel": {"architecture": "x86_64"}},
        "tables": [{"name": "why/path", "columns": columns, "rows": rows}],
    }


class Output(unittest.TestCase):
    """The program as it is typed."""

    def test_sums_and_differences(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            text, json_file = Path(directory, "t.txt"), Path(directory, "why.json")
            text.write_text("\n".join(SERVED))
            json_file.write_text(json.dumps(record()))
            program = Path(__file__).with_name("why_peers.py")
            ran = subprocess.run(
                [sys.executable, program, text, json_file], capture_output=True, text=True
            )
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        lines = [" ".join(it.split()) for it in ran.stdout.splitlines()]
        self.assertEqual(lines[0], "my app (7), 22.000 ms from 5.000000000 s")
        for expected in [
            "ms why Perfetto Trace Compass",
            "computing 8.000 8.000 8.000",
            "run-queue 3.000 3.000 3.000",
            "storage 3.000 0.000 3.000",
            "timer 8.000 0.000 8.000",
            "sleep 0.000 11.000 0.000",
            "sum 22.000 22.000 22.000",
            "= window = window = window",
            "Perfetto differs from why for 11.000 ms: storage, timer, page-in 11.000",
            "at 12.000 ms for 8.000 ms: why timer of my app (7), Perfetto sleep of my app (7): "
            "storage, timer, page-in",
            "Trace Compass differs from why for 0.000 ms: nowhere",
        ]:
            self.assertIn(expected, lines)

    def test_a_missing_switch_and_a_work_item(self) -> None:
        piece = why_peers.Piece(0, 4, 7, "run-queue", lost=True)
        other = why_peers.Piece(0, 4, 3, "computing")
        own = why_peers.Row(0, 4, 7, "own", 1, why_peers.Counter(computing=4))
        work = why_peers.Row(0, 4, 8, "work", 1, why_peers.Counter(computing=4))
        self.assertEqual(why_peers.difference(own, [piece]).reason, "missing switch")
        self.assertEqual(why_peers.difference(work, [other]).reason, "work item")


if __name__ == "__main__":
    unittest.main()
