"""A launch of an Android app, and frames of another, as a trace of Perfetto's own classes.

Arguments: the file to write, and how to write it: `full` for one message per event, `compact` for
columns of switches and wake-ups, `packed` for compressed packets, `gzip` for a gzip file.

All times are in milliseconds of the launch. The app is com.example.calendar (300); its first frame is
drawn after 150 ms, of which it waits 20 ms for a disk. Another app (400) draws twelve frames, of which
one is late because of a lock.
"""

import sys

from recording import DISK, HARDIRQ, Recording, save

SYSTEM, ZYGOTE, APP, RENDER, OTHER, DRAWER, HOLDER, KTHREADD = 100, 200, 300, 301, 400, 401, 402, 2
NAMES = {
    0: "swapper/0",
    SYSTEM: "ActivityManager",
    ZYGOTE: "main",
    APP: "xample.calendar",
    RENDER: "RenderThread",
    OTHER: "ple.other",
    DRAWER: "RenderThread",
    HOLDER: "worker",
}
CLONE_THREAD = 0x10000
FUTEX = 98  # on aarch64
FUTEX_WAIT_PRIVATE = 128


def launch():
    it = Recording(NAMES)
    # CPU 1 is at half of its highest clock from 25 ms on, for 10 ms.
    it.event(1, -5, "cpu_frequency", state=2_000_000, cpu_id=1)
    it.switch(1, -4, 0)
    it.switch(0, -3, SYSTEM)
    it.mark(0, 0, "S|100|launchingActivity#1|0")
    it.wakes(0, 10, ZYGOTE, 1)
    it.switch(1, 11, ZYGOTE)
    it.switch(0, 12, 0)
    it.event(1, 20, "task_newtask", pid=APP, comm="main", clone_flags=0)
    it.event(1, 20, "sched_wakeup_new", comm="main", pid=APP, prio=120, target_cpu=1)
    it.switch(1, 21, APP)
    it.mark(1, 22, "B|300|bindApplication")
    it.event(1, 25, "cpu_frequency", state=1_000_000, cpu_id=1)
    it.event(1, 35, "cpu_frequency", state=2_000_000, cpu_id=1)
    disk = {"dev": 0xFE00, "sector": 4096, "nr_sector": 8, "rwbs": "R"}
    it.event(1, 60, "block_rq_issue", **disk)
    it.switch(1, 61, 0, DISK)
    it.event(1, 81, "irq_handler_entry", HARDIRQ, irq=24, name="ufshcd")
    it.event(1, 81.001, "block_rq_complete", HARDIRQ, **disk)
    it.wakes(1, 81.002, APP, 1, HARDIRQ)
    it.event(1, 81.003, "irq_handler_exit", HARDIRQ, irq=24, ret=1)
    it.switch(1, 82, APP)
    it.mark(1, 83, "E|300")
    it.event(1, 84, "task_newtask", pid=RENDER, comm=NAMES[RENDER], clone_flags=CLONE_THREAD)
    it.event(1, 84, "sched_wakeup_new", comm=NAMES[RENDER], pid=RENDER, prio=120, target_cpu=0)
    it.switch(0, 85, RENDER)
    it.switch(0, 86, 0)
    it.slice(1, 88, 90, APP, "activityStart")
    it.slice(1, 90, 99, APP, "activityResume")
    it.mark(1, 100, "B|300|Choreographer#doFrame 77")
    it.wakes(1, 120, RENDER, 0)
    it.switch(0, 121, RENDER)
    it.mark(0, 122, "B|300|DrawFrames 77")
    it.mark(1, 130, "E|300")
    it.slice(1, 131, 132, APP, "reportFullyDrawn() for {com.example.calendar/.Main}")
    it.mark(0, 150, "E|300")
    it.wakes(0, 151, SYSTEM, 0)
    it.switch(0, 152, SYSTEM)
    it.mark(0, 155, "F|100|launchingActivity#1|0")
    it.mark(0, 156, "I|100|launchingActivity#1:completed-cold:com.example.calendar")
    it.switch(0, 157, 0)
    it.mark(1, 160, "B|300|Choreographer#doFrame 78")
    it.wakes(1, 162, RENDER, 0)
    it.switch(0, 163, RENDER)
    it.slice(0, 164, 170, APP, "DrawFrames 78")
    it.mark(1, 165, "E|300")
    it.switch(0, 171, 0)
    it.switch(1, 172, 0)
    return it


def frames(it):
    """Frames 200 to 211 every 16 ms, each 10 ms long, but 205, which waits 30 ms for a lock."""
    start = 200
    for number in range(200, 212):
        length = 40 if number == 205 else 10
        it.wakes(0, start, OTHER, 1, HARDIRQ)
        it.switch(1, start + 0.1, OTHER)
        it.mark(1, start + 1, f"B|400|Choreographer#doFrame {number}")
        if number == 205:
            it.event(1, start + 1.9, "sys_enter", id=FUTEX, args=[0x7F00, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0])
            it.switch(1, start + 2, HOLDER)
            it.wakes(1, start + 32, OTHER, 1)
            it.switch(1, start + 32.5, OTHER)
        it.wakes(1, start + length - 4, DRAWER, 0)
        it.switch(0, start + length - 3.9, DRAWER)
        it.mark(0, start + length - 3, f"B|400|DrawFrames {number}")
        it.mark(1, start + length - 2, "E|400")
        it.switch(1, start + length - 1, 0)
        it.mark(0, start + length, "E|400")
        it.switch(0, start + length + 0.5, 0)
        start += 48 if number == 205 else 16


def process_tree(trace):
    tree = trace.packet.add().process_tree
    for pid, parent, name in [
        (KTHREADD, 0, "kthreadd"),
        (SYSTEM, ZYGOTE, "system_server"),
        (ZYGOTE, 1, "zygote64"),
        (OTHER, ZYGOTE, "com.example.other"),
        (20, KTHREADD, "kworker/0:1"),
    ]:
        tree.processes.add(pid=pid, ppid=parent, cmdline=[name])
    for tid in [DRAWER, HOLDER]:
        tree.threads.add(tid=tid, tgid=OTHER, name=NAMES[tid])
    # Seen when the app had its name.
    later = trace.packet.add().process_tree
    later.processes.add(pid=APP, ppid=ZYGOTE, cmdline=["com.example.calendar"])
    later.threads.add(tid=RENDER, tgid=APP, name=NAMES[RENDER])


def main():
    file, how = sys.argv[1:]
    recording = launch()
    frames(recording)
    save(recording, file, how, process_tree)


main()
