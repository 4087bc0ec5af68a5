#!/usr/bin/env python3
"""unjank from Python beside libcachesim: misses of one trace under the policies that both have.

usage: python_peers.py UNJANK [ROUNDS]

Writes a synthetic trace with the command UNJANK, simulates it with both in turn, each reading the
file, in one thread, and prints the median time of each and their ratio. The misses must be equal
where both implement the same policy. Also prints the time of a call, and of reading the trace
through Arrow beside the command.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import libcachesim
import pyarrow as pa
from unjank import cache, traces

POLICIES = {
    "fifo": libcachesim.FIFO,
    "lru": libcachesim.LRU,
    "clock": libcachesim.Clock,
    "sieve": libcachesim.Sieve,
    "s3-fifo": libcachesim.S3FIFO,
    "2q": libcachesim.TwoQ,
    "arc": libcachesim.ARC,
    "lirs": libcachesim.LIRS,
    "slru:segments=4": libcachesim.SLRU,
    "lfu": libcachesim.LFU,
    "w-tinylfu": libcachesim.WTinyLFU,
}
# Those whose misses are equal; the others differ in details (docs/method/swap.md).
EQUAL = {"fifo", "lru", "clock", "sieve", "lfu", "slru:segments=4"}


def timed(call):
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def main() -> None:
    unjank, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    place = Path(tempfile.mkdtemp())
    source, trace = place / "trace.parquet", place / "trace.oracleGeneral"
    run([unjank, "swap", "synth", "many-games", source, "--seed", "1"])
    run([unjank, "swap", "convert", source, trace])
    requests = traces.open(trace).requests()
    # libcachesim divides the cache into whole segments.
    size = requests.footprint // 40 * 4
    print(f"{len(requests):,} requests, {requests.footprint:,} pages, {size:,} fit; {rounds} rounds")

    def ours(policy):
        return round(traces.open(trace).requests().miss_ratio(policy, size) * len(requests))

    def again(policy):
        return round(requests.miss_ratio(policy, size) * len(requests))

    def theirs(policy):
        kind, options = libcachesim.TraceType.ORACLE_GENERAL_TRACE, libcachesim.ReaderInitParam
        reader = libcachesim.TraceReader(str(trace), kind, options(ignore_obj_size=True))
        ratio, _ = POLICIES[policy](size, hashpower=18).process_trace(reader)
        return round(ratio * reader.get_num_of_req())

    print("Seconds for one size: libcachesim, which reads the trace for each; unjank with reading it,")
    print("and unjank for each further size.")
    print(f"{'policy':16} {'libcachesim':>11} {'unjank':>14} {'further size':>14}  misses")
    for policy in POLICIES:
        ways = [theirs, ours, again]
        times = {way: [] for way in ways}
        misses = {}
        for number in range(rounds):
            for way in ways if number % 2 == 0 else reversed(ways):
                elapsed, misses[way] = timed(lambda: way(policy))
                times[way].append(elapsed)
        peer, whole, further = (statistics.median(times[way]) for way in ways)
        equal = misses[ours] == misses[theirs]
        assert equal or policy not in EQUAL, (policy, misses)
        assert misses[ours] == misses[again]
        note = "equal" if equal else f"{misses[ours]:,}, libcachesim {misses[theirs]:,}"
        shown = [f"{time:6.3f} {peer / time:5.1f}x" for time in (whole, further)]
        print(f"{policy:16} {peer:11.3f} {shown[0]:>14} {shown[1]:>14}  {note}")

    lru = cache.Cache("lru", 10, 100)
    lru.request(1)
    calls = range(1_000_000)
    request = lru.request
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in calls:
            request(1)
        middle = time.perf_counter()
        for _ in calls:
            pass
        empty = time.perf_counter() - middle
        times.append((middle - begin - empty) / len(calls) * 1e9)
    print(f"a call: {statistics.median(times):.0f} ns")

    for file in [source, trace]:
        arrow, command = [], []
        for _ in range(rounds):
            arrow.append(timed(lambda: pa.table(traces.open(file)).num_rows)[0])
            convert = [unjank, "swap", "analyze", file, "--no-store", "--json"]
            command.append(timed(lambda: run(convert))[0])
        one, other = statistics.median(arrow), statistics.median(command)
        print(f"{file.suffix}: through Arrow {one:.3f} s, swap analyze {other:.3f} s")


def run(command) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
