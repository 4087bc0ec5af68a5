#!/usr/bin/env python3
"""What the hop through unjank costs a Wayland client (`--ready window`).

    bench/wayland_hop.py target/release/unjank [--pairs 10] [--calls 5000] [--json]

Starts weston without a screen. A client asks it for a `wl_display.sync` and waits for the answer, again
and again: the shortest round trip of the protocol. In each pair, one client is connected to weston, and
one to the proxy that `unjank launch bench --ready window` puts between. Prints the medians of both, and
the median of the pairs' differences with a 95 % interval (bootstrap).
"""

import argparse
import atexit
import json
import os
import random
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time


def client(calls, out):
    """Makes round trips, and writes their median in nanoseconds to a file."""
    place = os.path.join(os.environ["XDG_RUNTIME_DIR"], os.environ["WAYLAND_DISPLAY"])
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.connect(place)
    callback, display = 2, 1
    sync = struct.pack("=III", display, 12 << 16, callback)
    times = []
    for _ in range(calls):
        begun = time.perf_counter_ns()
        server.sendall(sync)
        # `wl_callback.done` and `wl_display.delete_id`, 12 bytes each.
        left = 24
        while left:
            left -= len(server.recv(left))
        times.append(time.perf_counter_ns() - begun)
    with open(out, "w") as file:
        file.write(str(statistics.median(times)))


def interval(values, rng):
    """The 95 % interval of the median by 2,000 resamples."""
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2_000))
    return [medians[49], medians[1949]]


def main():
    if sys.argv[1:2] == ["--client"]:
        client(int(sys.argv[2]), sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("unjank")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    place = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, place)
    name, out = "wayland-hop", os.path.join(place, "median")
    environment = {**os.environ, "XDG_RUNTIME_DIR": place, "WAYLAND_DISPLAY": name}
    environment.pop("DISPLAY", None)
    weston = subprocess.Popen(
        ["weston", "--backend=headless-backend.so", "--no-config", "--idle-time=0", f"--socket={name}"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(weston.wait)
    atexit.register(weston.kill)
    while not os.path.exists(os.path.join(place, name)):
        time.sleep(0.01)
    own = [sys.executable, os.path.abspath(__file__), "--client", str(options.calls), out]
    launch = [options.unjank, "launch", "bench", "--pairs", "1", "--warm-up", "0", "--no-store"]
    proxied = [*launch, "--ready", "window", "--"]

    def median(command):
        if os.path.exists(out):
            os.remove(out)
        # The client shows no window, so that the launch never ends: only its round trips count.
        subprocess.run(command, env=environment, capture_output=True, check=False)
        with open(out) as file:
            return float(file.read())

    rng = random.Random(options.seed)
    direct, through = [], []
    for _ in range(options.pairs):
        order = [(direct, own), (through, proxied + own)]
        rng.shuffle(order)
        for figures, command in order:
            figures.append(median(command))
    differences = [after - before for before, after in zip(direct, through)]
    low, high = interval(differences, rng)
    result = {
        "pairs": options.pairs,
        "calls": options.calls,
        "direct_ns": statistics.median(direct),
        "through_ns": statistics.median(through),
        "difference_ns": statistics.median(differences),
        "interval_ns": [low, high],
    }
    if options.json:
        print(json.dumps(result))
        return
    micros = {key: value / 1000 for key, value in result.items() if key.endswith("_ns") and key != "interval_ns"}
    print(
        f"direct {micros['direct_ns']:.1f} µs, through unjank {micros['through_ns']:.1f} µs: "
        f"{micros['difference_ns']:+.1f} µs ({low / 1000:+.1f} to {high / 1000:+.1f}), "
        f"{options.pairs} pairs of {options.calls} round trips"
    )


if __name__ == "__main__":
    main()
