#!/usr/bin/env python3
"""What `unjank watch` costs: pairs of trials while it records and while it is paused.

    sudo bench/watch_cost.py target/release/unjank [--pairs 100] [--seconds 1] [--idle 60] [--json]

Four workloads: two processes that wake each other over pipes on one CPU, as fast as they can; launches
of a shell with a child; `unjank jitter native`, which measures how late a thread wakes from a sleep,
with its default period; and nothing. For the first three, a pair is a trial while the service records
and one while it is paused, in random order. Prints the median of the pairs' relative differences with a
95 % interval (bootstrap), and the cost of one context switch, from which follows that of 100,000 a
second. For the fourth, the CPU time and the wake-ups of the service's threads, and its memory with the
buffers of the kernel.
"""

import argparse
import atexit
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RATE = 100_000  # switches a second


def ping_pong(_unjank, seconds):
    """Seconds of a switch between two processes on one CPU; a round trip has two."""
    there, from_here = os.pipe()
    here, from_there = os.pipe()
    child = os.fork()
    os.sched_setaffinity(0, {0})
    if child == 0:
        os.close(from_here)
        while os.read(there, 1):
            os.write(from_there, b"a")
        os._exit(0)
    trips, begun = 0, time.monotonic()
    end = begun + seconds
    while time.monotonic() < end:
        for _ in range(200):
            os.write(from_here, b"a")
            os.read(here, 1)
        trips += 200
    took = time.monotonic() - begun
    for fd in (from_here, there, here, from_there):
        os.close(fd)
    os.waitpid(child, 0)
    os.sched_setaffinity(0, range(os.cpu_count()))
    return {"switch": took / trips / 2}


def launches(_unjank, seconds):
    """Seconds of a launch of a shell that launches another program."""
    done, begun = 0, time.monotonic()
    end = begun + seconds
    while time.monotonic() < end:
        subprocess.run(["sh", "-c", "ls / > /dev/null; :"], check=True)
        done += 1
    return {"launch": (time.monotonic() - begun) / done}


def jitter(unjank, seconds):
    """Seconds of lateness after a sleep, of an ordinary thread and of a real-time one."""
    command = [unjank, "jitter", "native", "--for", f"{seconds / 2}s", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    late = {}
    for series in json.loads(done.stdout)["series"]:
        if "cpu" not in series["labels"]:
            policy = series["labels"]["policy"].partition(":")[0]
            late[f"late, {policy}, p50"] = series["summary"]["p50"] / 1e9
            late[f"late, {policy}, p99"] = series["summary"]["p99"] / 1e9
    return late


def interval(values, rng):
    """The 95 % interval of the median by 2,000 resamples."""
    medians = sorted(
        statistics.median(rng.choices(values, k=len(values))) for _ in range(2_000)
    )
    return [medians[49], medians[1949]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unjank")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1, help="of a trial")
    parser.add_argument("--idle", type=float, default=60, help="seconds without work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    place = tempfile.mkdtemp(dir="/var/tmp")
    atexit.register(shutil.rmtree, place)
    socket, store = os.path.join(place, "watch.sock"), os.path.join(place, "watch.sqlite")
    service = subprocess.Popen(
        [options.unjank, "watch", "--socket", socket, "--store", store, "--per-hour", "1"]
        + ["--state-dir", os.path.join(place, "journal")],
        stderr=subprocess.PIPE,
        text=True,
    )
    atexit.register(service.wait)
    atexit.register(service.terminate)
    print(service.stderr.readline().strip(), file=sys.stderr)

    def ask(*words):
        command = [options.unjank, "watch", *words, "--socket", socket]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def wakeups():
        total = 0
        for thread in os.listdir(f"/proc/{service.pid}/task"):
            with open(f"/proc/{service.pid}/task/{thread}/status") as file:
                for line in file:
                    if line.startswith("voluntary_ctxt_switches"):
                        total += int(line.split()[1])
        return total

    rng = random.Random(options.seed)
    before, woken = json.loads(ask("status", "--json")), wakeups()
    time.sleep(options.idle)
    woken = wakeups() - woken
    after = json.loads(ask("status", "--json"))
    result = {
        "idle": {
            "seconds": options.idle,
            "cpu_share": (after["cpu_time"] - before["cpu_time"]) / (options.idle * 1e9),
            "wakeups_per_second": woken / options.idle,
            "resident": after["resident"],
            "buffers": after["buffers"],
        }
    }
    for work in (ping_pong, launches, jitter):
        trials = {"resume": [], "pause": []}
        for pair in range(options.pairs):
            order = list(trials)
            rng.shuffle(order)
            for state in order:
                ask(state)
                trials[state].append(work(options.unjank, options.seconds))
            print(f"{work.__name__} {pair + 1}", file=sys.stderr)
        for name in trials["pause"][0]:
            pairs = [
                (on[name], off[name]) for on, off in zip(trials["resume"], trials["pause"])
            ]
            slower = [on / off - 1 for on, off in pairs]
            result[name] = {
                "n": options.pairs,
                "seconds_paused": statistics.median(off for _, off in pairs),
                "slower": statistics.median(slower),
                "interval": interval(slower, rng),
            }
            if work is ping_pong:
                costs = [on - off for on, off in pairs]
                result[name]["cost"] = statistics.median(costs)
                result[name]["share_at_100k"] = statistics.median(costs) * RATE
                result[name]["share_interval"] = [it * RATE for it in interval(costs, rng)]
    ask("resume")
    if options.json:
        print(json.dumps(result))
        return
    idle = result.pop("idle")
    print(
        f"idle: {idle['cpu_share']:.3%} of a CPU, {idle['wakeups_per_second']:.2f} wake-ups a second, "
        f"{idle['resident'] / 2**20:.1f} MiB and {idle['buffers'] / 2**20:.0f} MiB of buffers"
    )
    for name, of in result.items():
        low, high = of["interval"]
        print(
            f"{name}: {of['seconds_paused'] * 1e6:.2f} us while paused, {of['slower']:+.2%} "
            f"({low:+.2%} to {high:+.2%}, n = {of['n']} pairs)"
        )
        if "cost" in of:
            low, high = of["share_interval"]
            print(
                f"    {of['cost'] * 1e9:.0f} ns each: {of['share_at_100k']:.2%} of a CPU at {RATE:,} "
                f"switches a second ({low:.2%} to {high:.2%})"
            )


if __name__ == "__main__":
    main()
