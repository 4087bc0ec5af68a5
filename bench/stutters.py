#!/usr/bin/env python3
"""Stutters of known kinds, and what `unjank watch` says of them.

    sudo bench/stutters.py target/release/unjank [--count 40] [--apart 4] [--seed 1] [--json]

Starts the service with a store of its own. Then it makes stutters of known kinds at random moments,
in a victim with a name of its own, and marks each one second after it ended. Prints for each kind how
many were noticed (the incident is about the victim) and how many have the right cause, with 95 %
intervals (Wilson). Between two stutters nothing is marked. With `--pressure`, incidents that nobody
marked are listed at the end: those at other times than the stutters' are false alarms.
"""

import argparse
import atexit
import ctypes
import json
import math
import mmap
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict

PR_SET_NAME = 15
VICTIM = "victim"
NO_PRESSURE = ["--cpu-pressure", "0", "--memory-pressure", "0", "--io-pressure", "0"]
LENGTH = 0.6  # of a stutter, in seconds


def named(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


def child(name, work):
    """Runs `work` in a child process of this name; returns its process id."""
    process = os.fork()
    if process:
        return process
    try:
        named(name)
        work()
    finally:
        os._exit(0)


def end(*processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(process, 0)


def busy():
    while True:
        pass


def cpu_hog(_):
    """A victim with little weight wakes every 5 ms on a CPU that six hogs take."""

    def victim():
        os.sched_setaffinity(0, {0})
        os.nice(19)
        while True:
            time.sleep(0.005)

    def hog():
        os.sched_setaffinity(0, {0})
        os.nice(-15)
        busy()

    sleeper = child(VICTIM, victim)
    time.sleep(0.2)
    hogs = [child("hog", hog) for _ in range(6)]
    time.sleep(LENGTH)
    end(*hogs)
    time.sleep(0.1)
    end(sleeper)


def fsync_storm(directory):
    """A victim syncs a few bytes beside three writers of large files."""
    block = os.urandom(16 << 20)

    def writer(number):
        with open(os.path.join(directory, f"storm{number}"), "wb") as file:
            while True:
                file.seek(0)
                file.write(block)
                file.flush()
                os.fsync(file.fileno())

    def victim():
        with open(os.path.join(directory, "few"), "wb") as file:
            while True:
                file.write(b"x")
                file.flush()
                os.fsync(file.fileno())
                time.sleep(0.002)

    writers = [child("writer", lambda: writer(number)) for number in range(3)]
    processes = [*writers, child(VICTIM, victim)]
    time.sleep(LENGTH)
    end(*processes)


def pages_in(directory):
    return os.path.join(directory, "pages")


def write_pages(directory):
    """Writes the file of `page_in`, which is no stutter that is counted."""
    with open(pages_in(directory), "wb") as file:
        file.write(os.urandom(64 << 20))
        file.flush()
        os.fsync(file.fileno())


def page_in(directory):
    """A victim touches the pages of a file that was dropped from memory."""
    path = pages_in(directory)

    def victim():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            pages.madvise(mmap.MADV_RANDOM)
            for place in range(0, len(pages), 1 << 16):
                pages[place]

    process = child(VICTIM, victim)
    os.waitpid(process, 0)


def server_stopped(_):
    """A victim calls a server that a signal stops."""
    to_server, from_victim = os.pipe()
    to_victim, from_server = os.pipe()

    def server():
        while os.read(to_server, 1):
            os.write(from_server, b"a")

    def victim():
        while True:
            os.write(from_victim, b"a")
            os.read(to_victim, 1)
            time.sleep(0.005)

    processes = [child("server", server), child(VICTIM, victim)]
    time.sleep(0.1)
    os.kill(processes[0], signal.SIGSTOP)
    time.sleep(LENGTH)
    os.kill(processes[0], signal.SIGCONT)
    time.sleep(0.1)
    end(*processes)


def holder_stopped(_):
    """A victim waits for a lock in shared memory, whose holder a signal stops."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = mmap.mmap(-1, 4096)
    semaphore = ctypes.c_char.from_buffer(memory)
    libc.sem_init(ctypes.byref(semaphore), 1, 1)

    def holder():
        while True:
            libc.sem_wait(ctypes.byref(semaphore))
            time.sleep(0.05)
            libc.sem_post(ctypes.byref(semaphore))
            time.sleep(0.0005)

    def victim():
        while True:
            libc.sem_wait(ctypes.byref(semaphore))
            libc.sem_post(ctypes.byref(semaphore))
            time.sleep(0.001)

    processes = [child("holder", holder), child(VICTIM, victim)]
    time.sleep(0.1)
    os.kill(processes[0], signal.SIGSTOP)
    time.sleep(LENGTH)
    os.kill(processes[0], signal.SIGCONT)
    time.sleep(0.1)
    end(*processes)


def network_stall(_):
    """A victim calls a server over TCP, in a network of its own whose link is down for a while."""
    CLONE_NEWNET = 0x40000000

    def link(state):
        subprocess.run(["ip", "link", "set", "lo", state], check=True)

    def both():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        link("up")
        listener = socket.create_server(("127.0.0.1", 5555))

        def server():
            peer, _ = listener.accept()
            while peer.recv(1):
                peer.send(b"a")

        def victim():
            peer = socket.create_connection(("127.0.0.1", 5555))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                peer.send(b"a")
                peer.recv(1)
                time.sleep(0.005)

        processes = [child("server", server), child(VICTIM, victim)]
        time.sleep(0.2)
        link("down")
        time.sleep(LENGTH)
        link("up")
        # TCP waits twice as long before each attempt.
        time.sleep(LENGTH)
        end(*processes)

    os.waitpid(child("network", both), 0)


def ordinary_work(directory):
    """What a machine does anyway: each second, a program reads some files and another compresses."""
    text = os.path.join(directory, "text")
    with open(text, "w") as file:
        file.writelines(f"line {number}\n" for number in range(200_000))
    while True:
        subprocess.run(["grep", "-rq", "nothing like it", "/usr/share/doc"], check=False)
        subprocess.run(["gzip", "-c", text], stdout=subprocess.DEVNULL, check=True)
        time.sleep(1)


# Each kind with the threads that it holds up, and the causes that are right.
KINDS = {
    "CPU hog": (cpu_hog, {VICTIM}, r"waiting for a CPU \(hog\)"),
    # The storm holds up its writers as well.
    "fsync storm": (fsync_storm, {VICTIM, "writer"}, r"storage|device|kernel thread"),
    "page-in": (page_in, {VICTIM}, r"pages from storage|waiting for storage|device"),
    "server stopped": (server_stopped, {VICTIM}, r"server was stopped by a signal"),
    "lock holder stopped": (holder_stopped, {VICTIM}, r"holder was stopped by a signal"),
    # Each of both waits for the other.
    "network stall": (network_stall, {VICTIM, "server"}, r"network"),
}


def interval(hits, n):
    """The 95 % interval of Wilson."""
    if not n:
        return [0, 1]
    z, share = 1.96, hits / n
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unjank")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--apart", type=float, default=4, help="mean seconds between two stutters")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pressure", action="store_true", help="with triggers of pressure, too")
    parser.add_argument("--only", help="kinds that contain this text")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    place = tempfile.mkdtemp(dir="/var/tmp")
    atexit.register(shutil.rmtree, place)
    write_pages(place)
    listens, store = os.path.join(place, "watch.sock"), os.path.join(place, "watch.sqlite")
    service = subprocess.Popen(
        [options.unjank, "watch", "--socket", listens, "--store", store, "--per-hour", "3600"]
        + ["--state-dir", os.path.join(place, "journal")]
        + ([] if options.pressure else NO_PRESSURE),
        stderr=subprocess.PIPE,
        text=True,
    )
    # Also after an interrupt.
    atexit.register(service.wait)
    atexit.register(service.terminate)
    print(service.stderr.readline().strip(), file=sys.stderr)
    threading.Thread(target=lambda: list(service.stderr), daemon=True).start()
    worker = child("worker", lambda: ordinary_work(place))
    atexit.register(end, worker)
    rng = random.Random(options.seed)
    found = defaultdict(list)
    kinds = [kind for kind in KINDS if (options.only or "") in kind]
    for number in range(options.count):
        kind = kinds[number % len(kinds)]
        stutter, held_up, right = KINDS[kind]
        time.sleep(rng.expovariate(1 / options.apart))
        stutter(place)
        time.sleep(1.0)
        said = subprocess.run(
            [options.unjank, "mark", "--socket", listens], capture_output=True, text=True
        ).stdout
        line = said.splitlines()[0] if said else ""
        line = line.removeprefix("explained shortly before: ")
        thread, _, cause = line.partition(" was held up for ")
        cause = cause.partition(": ")[2]
        noticed = thread in held_up
        found[kind].append((noticed, noticed and bool(re.search(right, cause)), line))
        at = time.strftime("%H:%M:%S")
        print(f"{number + 1} {at} {kind}: {line}", file=sys.stderr)
    service.send_signal(signal.SIGTERM)
    service.wait()
    listed = subprocess.run(
        [options.unjank, "incidents", "list", "--store", store, "--json"], capture_output=True, text=True
    ).stdout
    unasked = [it for it in json.loads(listed) if it["trigger"] != "mark"]
    print(f"{len(unasked)} incidents that nobody marked:", file=sys.stderr)
    for incident in unasked:
        print(json.dumps(incident), file=sys.stderr)
    rows = []
    for kind, all_ in list(found.items()) + [("all", sum(found.values(), []))]:
        n = len(all_)
        noticed, right = (sum(it[place] for it in all_) for place in (0, 1))
        rows.append({"kind": kind, "n": n, "noticed": noticed, "right": right})
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'kind':22}{'n':>4}  noticed               right cause")
    for row in rows:
        cells = []
        for hits in (row["noticed"], row["right"]):
            low, high = interval(hits, row["n"])
            cells.append(f"{100 * hits / row['n']:5.1f} % ({100 * low:.0f}–{100 * high:.0f})")
        print(f"{row['kind']:22}{row['n']:4}  {cells[0]:22}{cells[1]}")


if __name__ == "__main__":
    main()
