#!/usr/bin/env python3
"""Compares `unjank swap mrc FILE --policy P --sizes 20000p`, as a user waits for it, with
libcachesim's `process_trace` on the same file: 4 M Zipf requests over 400,000 pages, in turns, best
of three.

    scripts/bench-mrc.py [UNJANK]

The time of unjank is that of the whole command: reading the file, numbering pages, simulating. That
of libcachesim is the call's alone, without Python's start and the opening of the trace, with the
better of two sizes of its hash table. Needs target/libcachesim-VERSION (`make bench` makes it).
"""

import itertools
import random
import struct
import subprocess
import sys
import time
from bisect import bisect_left
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target"
SIZE = 20_000
POLICIES = [("lru", "LRU"), ("sieve", "Sieve"), ("arc", "ARC"), ("s3-fifo", "S3FIFO")]

PEER = """
import sys, time, libcachesim
trace, policy, size, hashpower = sys.argv[1:]
reader = libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE,
                                 libcachesim.ReaderInitParam(ignore_obj_size=True))
cache = getattr(libcachesim, policy)(int(size), hashpower=int(hashpower))
begin = time.perf_counter()
ratio, _ = cache.process_trace(reader)
print(time.perf_counter() - begin, ratio)
"""


def trace():
    """The requests as libCacheSim's oracleGeneral, made once."""
    file = TARGET / "tmp" / "zipf-4M.oracleGeneral"
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    random.seed(1)
    pages = 400_000
    shares = list(itertools.accumulate(1 / rank for rank in range(1, pages + 1)))
    names = list(range(pages))
    random.shuffle(names)
    pack = struct.Struct("<IQIq").pack
    with open(file.with_suffix(".new"), "wb") as out:
        for number in range(4_000_000):
            rank = bisect_left(shares, random.random() * shares[-1])
            out.write(pack(number // 1000, names[rank] * 7919 + 13, 4096, -1))
    file.with_suffix(".new").rename(file)
    return file


def main():
    unjank = sys.argv[1] if len(sys.argv) > 1 else TARGET / "release" / "unjank"
    python = next(iter(sorted(TARGET.glob("libcachesim-*/bin/python"))), None)
    if python is None:
        sys.exit("libcachesim is missing: scripts/setup.sh bench")
    file = trace()
    print("| policy | unjank | libcachesim | times as fast |\n|---|--:|--:|--:|")
    for ours, theirs in POLICIES:
        own, peer = [], []
        for _ in range(3):
            begin = time.perf_counter()
            options = ["--policy", ours, "--sizes", f"{SIZE}p", "--no-store"]
            command = [unjank, "swap", "mrc", file, *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            own.append(time.perf_counter() - begin)
            for hashpower in ["17", "20"]:
                command = [python, "-c", PEER, file, theirs, str(SIZE), hashpower]
                printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                peer.append(float(printed.split()[0]))
        print(f"| {ours} | {min(own):.3f} s | {min(peer):.3f} s | {min(peer) / min(own):.2f} |")


if __name__ == "__main__":
    main()
