#!/usr/bin/env python3
"""A sweep on Dask beside the same units one after the other, and one worker beside two.

usage: dask_overhead.py [ROUNDS]

Units take about a second each. Prints the median times, the overhead of one worker, and how many
times as fast two workers are. Conditions alternate.
"""

import concurrent.futures
import statistics
import sys
import time

from dask.distributed import Client, LocalCluster
from unjank import cluster

PRESETS = ["games", "favourites", "background", "changing"]
GRID = cluster.Grid(
    tiers=["64MiB", "256MiB"],
    policies=["paper", "always/lru", "refault"],
    memories=["300MiB", "600MiB"],
)


class Here(concurrent.futures.Executor):
    """Runs units in this process, one after the other."""

    def submit(self, function, *arguments):
        future = concurrent.futures.Future()
        future.set_result(function(*arguments))
        return future


def timed(client) -> float:
    begin = time.perf_counter()
    cluster.sweep(client, [f"synthetic: {preset}" for preset in PRESETS], GRID)
    return time.perf_counter() - begin


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    options = dict(threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
    times = {"here": [], "one worker": [], "two workers": []}
    with LocalCluster(n_workers=1, **options) as one, LocalCluster(n_workers=2, **options) as two:
        with Client(one) as first, Client(two) as second:
            ways = {"here": Here(), "one worker": first, "two workers": second}
            for way in ways.values():
                timed(way)
            for number in range(rounds):
                names = list(ways)
                for name in names if number % 2 == 0 else reversed(names):
                    times[name].append(timed(ways[name]))
    here, single, double = (statistics.median(times[name]) for name in times)
    count = len(PRESETS) * len(GRID.memories)
    print(f"{count} units of {here / count:.2f} s, {rounds} rounds, medians")
    for name, all_times in times.items():
        low, high = min(all_times), max(all_times)
        print(f"{name:12} {statistics.median(all_times):6.2f} s ({low:.2f} to {high:.2f})")
    print(f"overhead of Dask: {single / here - 1:+.1%}; two workers beside one: {single / double:.2f}x")


if __name__ == "__main__":
    main()
