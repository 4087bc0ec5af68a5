#!/usr/bin/env python3
"""The time to add up 100,000 made-up runs, in one thread and on Dask.

usage: fleet_speed.py [RUNS]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from unjank import fleet

DEVICES, DAYS = 200, 10


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    place = Path(tempfile.mkdtemp())
    make(place, count)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    begin = time.perf_counter()
    buckets = fleet.read(place)
    read = time.perf_counter()
    fleet.quantiles(buckets, by=["model", "kernel"])
    summed = time.perf_counter()
    found = fleet.regressions(buckets, between="kernel", before="k0", after="k1")
    end = time.perf_counter()
    print(f"{count:,} runs of {DEVICES} devices, one thread: read {read - begin:.2f} s, "
          f"quantiles {summed - read:.2f} s, regressions {end - summed:.2f} s, "
          f"together {end - begin:.2f} s; {found.num_rows} comparisons")
    from dask.distributed import Client, LocalCluster

    options = dict(threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        begin = time.perf_counter()
        again = fleet.read(place, client=client)
        print(f"two workers of Dask: read {time.perf_counter() - begin:.2f} s")
        assert sum(again["count"].to_pylist()) == sum(buckets["count"].to_pylist())


def make(place: Path, count: int) -> None:
    random = np.random.default_rng(1)
    each = count // (DEVICES * DAYS)
    for device in range(DEVICES):
        for day in range(DAYS):
            runs = np.repeat(np.arange(each), 60)
            rows = len(runs)
            # 60 buckets a run, as a series of some thousand samples has.
            at = (random.gamma(4, 10_000, rows).astype(np.uint64) | np.uint64(511))
            same = lambda text: pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(rows, dtype=np.int32)), pa.array([text])
            ).dictionary_decode()
            table = pa.table({
                "run": pa.array([f"{device}-{day}-{run}" for run in range(each)]).take(pa.array(runs)),
                "started_at": same(f"2026-11-{day + 10}T00:00:00Z"),
                "device": same(f"d{device}"), "model": same(f"m{device % 8}"),
                "kernel": same(f"k{day * 2 // DAYS}"), "architecture": same("aarch64"),
                "tool": same("0.1.0"), "name": same("jitter/native/fifo/wakeup"),
                "labels": same(""), "unit": same("ns"),
                "at": at, "count": random.integers(1, 99, rows).astype(np.uint64),
            })
            file = place / "buckets/command=jitter-native" / f"date=2026-11-{day + 10}"
            file.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, file / f"d{device}.parquet", compression="zstd")


if __name__ == "__main__":
    main()
