"""Seconds that libcachesim takes for an oracleGeneral trace.

Argument: the trace. Each line of input names a policy, a cache size and a
hashpower; the answer is a line with seconds and the miss ratio. The time
includes opening the trace and making the cache.
"""

import sys
import time

import libcachesim

for line in sys.stdin:
    policy, size, hashpower = line.split()
    begin = time.perf_counter()
    reader = libcachesim.TraceReader(
        sys.argv[1],
        libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    cache = getattr(libcachesim, policy)(int(size), hashpower=int(hashpower))
    ratio, _ = cache.process_trace(reader)
    print(time.perf_counter() - begin, ratio, flush=True)
