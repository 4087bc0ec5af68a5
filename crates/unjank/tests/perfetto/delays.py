"""Calls over binder, and a shortage of memory, as a trace of Perfetto's own classes.

Arguments: the file to write, and how to write it (see recording.py).

All times are in milliseconds. The app com.example.calendar (300) calls com.example.server (500) ten
times, 30 ms apart. A call takes 3.8 ms: 1.1 ms until the server receives it, of which its thread
waits 0.9 ms for a CPU; 2 ms of work; 0.7 ms until the app has the reply, of which it waits 0.5 ms for
a CPU. In call 5 the server works 20 ms, in call 7 it calls storaged (600) in between for 1.2 ms. Then
the app sends a message without a reply, and makes a call that nobody answers.

From 400 ms on, com.example.other (400) looks for free memory for 12 ms and for 3 ms, and kswapd0 (90)
has a CPU for 7 ms and for 1 ms. Then com.example.other reads eight pages of a file.
"""

import sys

from recording import Recording, save

APP, OTHER, SERVER, SERVING, STORE, STORING, KSWAPD = 300, 400, 500, 501, 600, 601, 90
NAMES = {
    0: "swapper/0",
    APP: "xample.calendar",
    OTHER: "ple.other",
    SERVER: "example.server",
    SERVING: "binder:500_1",
    STORE: "storaged",
    STORING: "binder:600_1",
    KSWAPD: "kswapd0",
}
ONE_WAY, ACCEPT_FDS = 0x01, 0x10


def sends(it, cpu, at, number, process, reply=0, flags=ACCEPT_FDS):
    fields = {"debug_id": number, "target_node": 7, "to_proc": process, "reply": reply, "flags": flags}
    it.event(cpu, at, "binder_transaction", **fields)


def receives(it, cpu, at, number):
    it.event(cpu, at, "binder_transaction_received", debug_id=number)


def call(it, start, number):
    sends(it, 0, start, 10 * number, SERVER)
    it.wakes(0, start + 0.1, SERVING, 1)
    it.switch(0, start + 0.2, 0)
    it.switch(1, start + 1, SERVING)
    receives(it, 1, start + 1.1, 10 * number)
    end = start + (21.1 if number == 5 else 3.1)
    if number == 7:
        sends(it, 1, start + 1.2, 72, STORE)
        it.wakes(1, start + 1.3, STORING, 0)
        it.switch(0, start + 1.4, STORING)
        it.switch(1, start + 1.5, 0)
        receives(it, 0, start + 1.6, 72)
        sends(it, 0, start + 2, 73, SERVER, reply=1)
        it.wakes(0, start + 2.1, SERVING, 1)
        it.switch(0, start + 2.2, 0)
        it.switch(1, start + 2.3, SERVING)
        receives(it, 1, start + 2.4, 73)
    sends(it, 1, end, 10 * number + 1, APP, reply=1)
    it.wakes(1, end + 0.1, APP, 0)
    it.switch(1, end + 0.2, 0)
    it.switch(0, end + 0.6, APP)
    receives(it, 0, end + 0.7, 10 * number + 1)


def calls(it):
    it.switch(0, 0, APP)
    for number in range(10):
        call(it, 10 + 30 * number, number)
    sends(it, 0, 310, 100, SERVER, flags=ONE_WAY | ACCEPT_FDS)
    it.wakes(0, 310.1, SERVING, 1)
    it.switch(1, 311, SERVING)
    receives(it, 1, 311.5, 100)
    it.switch(1, 312, 0)
    sends(it, 0, 320, 110, SERVER)
    it.switch(0, 321, 0)


def shortage(it):
    it.switch(0, 400, OTHER)
    for begin, end in [(401, 413), (420, 423)]:
        it.event(0, begin, "mm_vmscan_direct_reclaim_begin", order=0)
        it.event(0, end, "mm_vmscan_direct_reclaim_end", nr_reclaimed=32)
    for begin, end in [(402, 409), (421, 422)]:
        it.switch(1, begin, KSWAPD)
        it.switch(1, end, 0)
    for page in range(8):
        file = {"i_ino": 77, "s_dev": 0xFE00, "index": page, "pfn": page + 1}
        it.event(0, 430 + page, "mm_filemap_add_to_page_cache", **file)
    it.switch(0, 440, 0)


def add_processes(trace):
    tree = trace.packet.add().process_tree
    for pid, name in [
        (APP, "com.example.calendar"),
        (OTHER, "com.example.other"),
        (SERVER, "com.example.server"),
        (STORE, "storaged"),
    ]:
        tree.processes.add(pid=pid, ppid=1, cmdline=[name])
    tree.threads.add(tid=SERVING, tgid=SERVER, name=NAMES[SERVING])
    tree.threads.add(tid=STORING, tgid=STORE, name=NAMES[STORING])


def main():
    file, how = sys.argv[1:]
    recording = Recording(NAMES)
    calls(recording)
    shortage(recording)
    save(recording, file, how, add_processes)


main()
