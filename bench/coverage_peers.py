"""How far runs of other tools agree: the share of runs whose 95 % interval, as
their output gives it (mean and standard deviation of n repetitions), holds the
median of all runs. cyclictest prints no interval: its range is shown."""

import json
import math
import pathlib
import statistics
import sys

# Two-sided 95 % points of Student's distribution.
STUDENT = {9: 2.262, 29: 2.045}


def of_hyperfine(text):
    result = json.loads(text)["results"][0]
    return result["mean"], result["stddev"], len(result["times"])


def of_benchmark(text):
    rows = {row["name"].rsplit("_", 1)[-1]: row for row in json.loads(text)["benchmarks"]}
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[rows["mean"]["time_unit"]]
    repetitions = rows["mean"]["repetitions"]
    return rows["mean"]["real_time"] * unit, rows["stddev"]["real_time"] * unit, repetitions


def worst_of_cyclictest(text):
    threads = json.loads(text)["thread"].values()
    return max(thread["max"] for thread in threads) * 1e-6


def seconds(value):
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def main():
    directory = pathlib.Path(sys.argv[1])
    for tool, read in (("hyperfine", of_hyperfine), ("benchmark", of_benchmark)):
        runs = [read(path.read_text()) for path in sorted(directory.glob(f"{tool}-*.json"))]
        if not runs:
            continue
        grand = statistics.median(mean for mean, _, _ in runs)
        held = sum(
            abs(mean - grand) <= STUDENT.get(n - 1, 1.96) * deviation / math.sqrt(n)
            for mean, deviation, n in runs
        )
        low, high = (seconds(end(mean for mean, _, _ in runs)) for end in (min, max))
        print(f"{tool}: grand median {seconds(grand)} ({low} to {high}), "
              f"held by {held} of {len(runs)} intervals ({100 * held / len(runs):.0f} %)")
    worst = [worst_of_cyclictest(path.read_text()) for path in directory.glob("cyclictest-*.json")]
    if worst:
        print(f"cyclictest: worst latency {seconds(statistics.median(worst))} in the median run, "
              f"{seconds(min(worst))} to {seconds(max(worst))}, without an interval")


main()
