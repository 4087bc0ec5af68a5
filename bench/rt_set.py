#!/usr/bin/env python3
"""How long it takes to give the 500 threads of a program a real-time policy.

    sudo bench/rt_set.py target/release/unjank [ROUNDS]

unjank and chrt of util-linux take turns on one process: chrt once for each
thread, as a loop over their names has to, and once for all threads, which
looks at no name. Prints medians and their 95 % intervals (by ranks); judges
nothing. All threads sleep, and the priority is the lowest one.
"""
import ctypes
import json
import math
import os
import subprocess
import sys
import threading
import time

THREADS = 500


def program():
    """The process whose threads are changed."""
    libc = ctypes.CDLL(None)
    ready = threading.Barrier(THREADS + 1)

    def sleeps(number):
        libc.prctl(15, f"worker-{number}".encode(), 0, 0, 0)
        ready.wait()
        threading.Event().wait()

    threading.stack_size(64 << 10)
    for number in range(THREADS):
        threading.Thread(target=sleeps, args=(number,), daemon=True).start()
    ready.wait()
    print("ready", flush=True)
    sys.stdin.read()


def taken(command, **how):
    begin = time.monotonic_ns()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, **how)
    return time.monotonic_ns() - begin


def row(what, values):
    values = sorted(values)
    n = len(values)
    # Ranks of a binomial(n, 1/2), as for any quantile of independent values.
    half = 0.98 * math.sqrt(n)
    low, high = max(0, math.floor(n / 2 - half)), min(n - 1, math.ceil(n / 2 + half) - 1)
    median = (values[(n - 1) // 2] + values[n // 2]) / 2
    print(f"{what:52} {median / 1e6:8.2f} ms ({values[low] / 1e6:.2f}–{values[high] / 1e6:.2f}), n {n}")


def main():
    unjank, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 41
    child = subprocess.Popen([sys.executable, __file__, "--program"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    pid = str(child.pid)
    workers = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as name:
            if name.read().startswith("worker-"):
                workers.append(tid)
    assert len(workers) == THREADS
    loop = 'for thread; do chrt -f -p 1 "$thread"; done'
    work, whole, each, all_at_once, nothing = [], [], [], [], []

    def by_unjank():
        begin = time.monotonic_ns()
        said = subprocess.run([unjank, "rt", "set", pid, "--thread", "worker-*=fifo:1", "--keep", "--json"],
                              check=True, stdout=subprocess.PIPE).stdout
        whole.append(time.monotonic_ns() - begin)
        walked = json.loads(said.splitlines()[-1])
        assert walked["changed"] == THREADS, walked
        work.append(walked["took_ns"])
        subprocess.run([unjank, "rt", "restore", pid], check=True, stdout=subprocess.DEVNULL)

    def by_chrt():
        each.append(taken(["sh", "-c", loop, "sh", *workers]))
        subprocess.run(["chrt", "-a", "-o", "-p", "0", pid], check=True)
        all_at_once.append(taken(["chrt", "-a", "-f", "-p", "1", pid]))
        subprocess.run(["chrt", "-a", "-o", "-p", "0", pid], check=True)

    for number in range(rounds):
        for turn in [by_unjank, by_chrt] if number % 2 else [by_chrt, by_unjank]:
            turn()
        nothing.append(taken(["true"]))
    child.kill()
    row("unjank rt set: finding and changing 500 threads", work)
    row("unjank rt set, start to end, told as JSON", whole)
    row("chrt for each of the 500", each)
    row("chrt -a, which looks at no name", all_at_once)
    row("true (fork, exec)", nothing)


if sys.argv[1:] == ["--program"]:
    program()
else:
    main()
