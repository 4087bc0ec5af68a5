"""The states of all threads, from the text that `trace-cmd report -t -l` makes of a recording.

It reads sched_switch, sched_waking (or sched_wakeup), sched_wakeup_new, irq_handler_*, softirq_*
and hrtimer_expire_*, in the forms of trace-cmd and of the kernel. The flags of a line tell an
interrupt from the thread that it interrupted.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

LINE = re.compile(
    r"\s*(?:[\w.-]+:\s+)?(?P<comm>.*?)-(?P<tid>\d+)\s+(?:\(\s*\S+\)\s+)?"
    r"(?:\[(?P<cpu>\d+)\]\s+|(?P<cpu_l>\d+))(?P<flags>[dDbX.][NnpbBlLT.][hHsSzZ.][\w.+]{1,3})\s+"
    r"(?P<s>\d+)\.(?P<fraction>\d{6}(?:\d{3})?):\s+(?P<event>\w+):\s*(?P<rest>.*)"
)
SWITCH = re.compile(
    r"(?:prev_comm=(?P<a>.*) prev_pid=(?P<b>\d+) prev_prio=\S+ prev_state=(?P<c>\S+) ==> "
    r"next_comm=(?P<d>.*) next_pid=(?P<e>\d+) next_prio"
    r"|(?P<f>.*):(?P<g>\d+) \[-?\d+\] (?P<h>\S+) ==> (?P<i>.*):(?P<j>\d+) \[-?\d+\])"
)
WOKEN = re.compile(r"(?:comm=(?P<a>.*) pid=(?P<b>\d+) prio=|(?P<c>.*):(?P<d>\d+) \[-?\d+\])")


@dataclass(slots=True, frozen=True)
class Wake:
    """A wake-up: who woke, in which context (`.`, `s`, `h`), in which handler (`softirq 4`)."""

    waker: int
    context: str
    handler: str


@dataclass(slots=True)
class Span:
    """A state of a thread: `running`, `runnable`, `sleeping`, `unborn` or `unknown`, in ns."""

    begin: int
    end: int
    state: str
    wake: Wake | None = None
    lost: bool = False


@dataclass(slots=True)
class Event:
    """A line of the text."""

    at: int
    cpu: int
    current: int
    context: str
    name: str
    rest: str


def events(lines: Iterable[str]) -> list[Event]:
    """The events of a text in order of time; its other lines are skipped."""
    found = []
    for line in lines:
        if not (match := LINE.match(line)):
            continue
        at = int(match["s"]) * 10**9 + int(match["fraction"].ljust(9, "0"))
        cpu, context = int(match["cpu"] or match["cpu_l"]), match["flags"][2].lower()
        context = "h" if context == "z" else context
        found.append(Event(at, cpu, int(match["tid"]), context, match["event"], match["rest"]))
    return sorted(found, key=lambda event: event.at)


@dataclass
class History:
    """The states of all threads, from the events of a text."""

    spans: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)
    # When a thread first became runnable by a wake-up: Perfetto's first node of it.
    woken: dict[int, int] = field(default_factory=dict)
    handlers: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    on_cpu: dict[int, tuple[int, int]] = field(default_factory=dict)
    begin: int = 0

    @classmethod
    def of(cls, found: list[Event]) -> "History":
        """The history of a whole recording."""
        history = cls(begin=found[0].at if found else 0)
        for event in found:
            history.add(event)
        for spans in history.spans.values():
            spans[-1].end = max(found[-1].at, spans[-1].begin)
        return history

    def add(self, event: Event) -> None:
        """Takes the next event."""
        self.sign_of_life(event)
        if event.name == "sched_switch":
            self.switch(event)
        elif event.name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            self.wake(event)
        elif event.name.startswith(("irq_handler_", "softirq_", "hrtimer_expire_")):
            self.handler(event)

    def sign_of_life(self, event: Event) -> None:
        """Marks a wait for a CPU of a thread that has one: the trace lacks its switch.

        A lock of the run queue may be taken between the event of a switch and the switch itself.
        """
        spans = self.spans.get(event.current)
        if event.name.startswith("contention_") or event.context != ".":
            return
        if spans and spans[-1].state == "runnable" and spans[-1].begin < event.at:
            spans[-1].lost = True

    def enter(self, tid: int, at: int, state: str, wake: Wake | None = None) -> None:
        """Ends the state of a thread, by a wake-up if there was one, and begins the next."""
        spans = self.spans[tid]
        if spans:
            spans[-1].end, spans[-1].wake = at, wake
        spans.append(Span(at, at, state))

    def state(self, tid: int) -> str:
        """The state of a thread now."""
        return self.spans[tid][-1].state if self.spans.get(tid) else "unseen"

    def switch(self, event: Event) -> None:
        """Another thread gets a CPU."""
        if not (match := SWITCH.match(event.rest)):
            return
        prev, letters = int(match["b"] or match["g"]), match["c"] or match["h"]
        then = int(match["e"] or match["j"])
        self.names[prev] = match["a"] or match["f"] or ""
        self.names[then] = match["d"] or match["i"] or ""
        had, since = self.on_cpu.get(event.cpu, (prev, self.begin))
        if had != prev and had and self.state(had) == "running":
            self.enter(had, event.at, "unknown")
        if prev:
            if self.state(prev) == "unseen":
                self.enter(prev, since, "running")
            self.enter(prev, event.at, "runnable" if letters[0] == "R" else "sleeping")
        if then:
            self.enter(then, event.at, "running")
        self.on_cpu[event.cpu] = (then, event.at)

    def wake(self, event: Event) -> None:
        """A thread that sleeps becomes runnable.

        A second event of one wake-up changes nothing, unless the thread was still on its way to
        sleep at the first one.
        """
        if not (match := WOKEN.match(event.rest)):
            return
        tid = int(match["b"] or match["d"])
        self.names[tid] = match["a"] or match["c"] or ""
        if self.state(tid) in ("running", "runnable"):
            return
        if self.state(tid) == "unseen":
            is_new = event.name == "sched_wakeup_new"
            self.spans[tid].append(Span(self.begin, 0, "unborn" if is_new else "sleeping"))
        open_handlers = self.handlers[event.cpu] if event.context != "." else []
        handler = open_handlers[-1] if open_handlers else ""
        self.enter(tid, event.at, "runnable", Wake(event.current, event.context, handler))
        self.woken.setdefault(tid, event.at)

    def handler(self, event: Event) -> None:
        """A handler of an interrupt begins or ends on a CPU."""
        kind = event.name.partition("_")[0]
        stack = self.handlers[event.cpu]
        if event.name.endswith("_entry"):
            # A handler whose end is missing is not open below one of its own kind.
            stack[:] = [name for name in stack if not name.startswith(kind)]
            number = re.search(r"(?:vec|irq)=(\d+)", event.rest)
            stack.append(f"{kind} {number[1]}" if number else kind)
        else:
            stack[:] = [name for name in stack if not name.startswith(kind)]

    def at(self, tid: int, at: int) -> Span | None:
        """The state that a thread had just before a moment."""
        spans = self.spans.get(tid, [])
        place = bisect_left(spans, at, key=lambda span: span.begin) - 1
        return spans[place] if place >= 0 and spans[place].end >= at else None
