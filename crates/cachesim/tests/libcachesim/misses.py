"""Misses of libcachesim on oracleGeneral traces.

Arguments: pairs of a trace and a list of cache sizes (a,b,c). Prints a line
for each trace, size and policy: trace, size, policy, misses.
"""

import sys

import libcachesim

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
    "belady": libcachesim.Belady,
}

for trace, sizes in zip(sys.argv[1::2], sys.argv[2::2]):
    for size in map(int, sizes.split(",")):
        for name, policy in POLICIES.items():
            reader = libcachesim.TraceReader(
                trace,
                libcachesim.TraceType.ORACLE_GENERAL_TRACE,
                libcachesim.ReaderInitParam(ignore_obj_size=True),
            )
            ratio, _ = policy(size, hashpower=16).process_trace(reader)
            print(trace, size, name, round(ratio * reader.get_num_of_req()))
