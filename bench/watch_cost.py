#!/usr/bin/env python3
"""What `unjank watch` costs: pairs of trials while it records and while it is paused.

    sudo bench/watch_cost.py target/release/unjank [--pairs 20] [--seconds 2] [--idle 60] [--json]

Three workloads: two threads of two processes that wake each other over pipes on one CPU, as fast as
they can; launches of a shell with a child; and nothing. For the first two, a pair is a trial while the
service records and one while it is paused, in random order. Prints the median of the pairs' relative
differences with a 95 % interval (bootstrap), and the cost of one context switch, from which follows
that of 100,000 a second. For the third, the CPU time and the wake-ups of the service's threads, and its
memory with the buffers of the kernel.
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


def ping_pong(seconds):
    """Round trips a second between two processes on one CPU; each is two switches."""
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
    return trips / took


def launches(seconds):
    """Launches a second of a shell that launches another program."""
    done, begun = 0, time.monotonic()
    end = begun + seconds
    while time.monotonic() < end:
        subprocess.run(["sh", "-c", "ls / > /dev/null; :"], check=True)
        done += 1
    return done / (time.monotonic() - begun)


def interval(values, rng):
    """The 95 % interval of the median by 2,000 resamples."""
    medians = sorted(
        statistics.median(rng.choices(values, k=len(values))) for _ in range(2_000)
    )
    return [medians[49], medians[1949]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unjank")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2, help="of a trial")
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
    for name, work in (("ping-pong", ping_pong), ("launches", launches)):
        differences, per_switch, rates = [], [], []
        for pair in range(options.pairs):
            rate = {}
            order = ["resume", "pause"]
            rng.shuffle(order)
            for state in order:
                ask(state)
                rate[state] = work(options.seconds)
            differences.append(rate["pause"] / rate["resume"] - 1)
            rates.append(rate["pause"])
            per_switch.append((1 / rate["resume"] - 1 / rate["pause"]) / 2)
            print(f"{name} {pair + 1}: {differences[-1]:+.2%}", file=sys.stderr)
        result[name] = {
            "n": options.pairs,
            "rate_paused": statistics.median(rates),
            "slower": statistics.median(differences),
            "interval": interval(differences, rng),
        }
        if work is ping_pong:
            result[name]["seconds_per_switch"] = statistics.median(per_switch)
            result[name]["share_at_100k"] = statistics.median(per_switch) * RATE
            result[name]["share_interval"] = [it * RATE for it in interval(per_switch, rng)]
    ask("resume")
    if options.json:
        print(json.dumps(result))
        return
    idle = result["idle"]
    print(
        f"idle for {idle['seconds']:.0f} s: {idle['cpu_share']:.3%} of a CPU, "
        f"{idle['wakeups_per_second']:.2f} wake-ups a second, {idle['resident'] / 2**20:.1f} MiB "
        f"and {idle['buffers'] / 2**20:.0f} MiB of buffers"
    )
    for name in ("ping-pong", "launches"):
        row = result[name]
        low, high = row["interval"]
        print(
            f"{name}: {row['slower']:+.2%} ({low:+.2%} to {high:+.2%}), n = {row['n']} pairs, "
            f"{row['rate_paused']:.0f} a second while paused"
        )
    row = result["ping-pong"]
    low, high = row["share_interval"]
    print(
        f"a switch costs {row['seconds_per_switch'] * 1e9:.0f} ns: {row['share_at_100k']:.2%} "
        f"({low:.2%} to {high:.2%}) of a CPU at 100,000 a second"
    )


if __name__ == "__main__":
    main()
