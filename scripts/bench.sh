#!/bin/sh
# Speed and size of unjank itself, after the criterion benches: start-up, size, memory;
# calls against perf bench and unix sockets, locks against std's and parking_lot's,
# pools against rayon's, wake-up latency against cyclictest, miss-ratio curves against
# libcachesim. Prints tables without verdicts.
set -eu

unjank=${CARGO_TARGET_DIR:-target}/release/unjank

# The median time of 41 runs of a program, from start to end, in nanoseconds.
median_run() {
    i=0
    while [ $i -lt 41 ]; do
        before=$(date +%s%N)
        "$@" >/dev/null 2>&1
        after=$(date +%s%N)
        echo $((after - before))
        i=$((i + 1))
    done | sort -n | sed -n 21p
}

# The peak resident memory of a program, in KiB: the kernel keeps it in VmHWM until
# the process ends.
peak_memory() {
    "$@" >/dev/null 2>&1 &
    peak=0
    while mark=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$!/status" 2>/dev/null); do
        [ "${mark:-0}" -gt "$peak" ] && peak=$mark
        sleep 0.05
    done
    wait $! || true
    echo "$peak"
}

nothing=$(median_run true)
help=$(median_run $unjank --help)
host=$(median_run $unjank host)
size=$(wc -c <$unjank)
memory=$(peak_memory $unjank checkup --quick --no-store --only launch,jitter,lock,ipc)
swap=$(peak_memory $unjank checkup --quick --no-store)

echo
echo "what                                         measured      goal"
awk -v nothing="$nothing" -v help="$help" -v host="$host" -v size="$size" -v memory="$memory" -v swap="$swap" 'BEGIN {
    printf "start to end of true (fork, exec)            %6.2f ms\n", nothing / 1e6
    printf "start to end of unjank --help                %6.2f ms     10 ms\n", help / 1e6
    printf "start to end of unjank host                  %6.2f ms     10 ms\n", host / 1e6
    printf "size of the program                          %6.2f MB     12 MB\n", size / 1e6
    printf "peak memory of a checkup without swap probe  %6.1f MiB    64 MiB\n", memory / 1024
    printf "peak memory of a checkup, 32 MiB of pages    %6.1f MiB    96 MiB\n", swap / 1024
}'
echo

# The cost of measuring a call (passthrough: two clock reads and a plain call), and
# calls against perf bench and unix sockets.
$unjank ipc throughput --no-store --transport passthrough --largest 16 --for 2s
$unjank ipc bench --no-store --pairs 30

# The mutex and the pool of unjank-backoff, and the paper's Sleep(0).
$unjank lock bench --no-store --strategies unjank,sleep0
$unjank lock bench --no-store --pool

if [ "$(id -u)" -eq 0 ]; then
    bench/rt_set.py $unjank
    $unjank lock bench --no-store --strategies unjank --environment quota \
        --threads 2,4,8 --section 0,1us,20us
    $unjank ipc inversion --no-store --transport unix,pi --count 600
    UNJANK=$unjank "$(dirname "$0")/bench-why.sh"
    for condition in "" --dma-latency; do
        # shellcheck disable=SC2086  # one option or none
        $unjank jitter bench --no-store --pairs 30 --trial 1s $condition
    done
else
    echo "unjank jitter bench needs root: run 'sudo $unjank jitter bench' for cyclictest's side"
fi

echo
"$(dirname "$0")/bench-mrc.py" $unjank
echo
"$(dirname "$0")/bench-caffeine.sh"
echo
"$(dirname "$0")/bench-binder.sh"
echo
"$(dirname "$0")/bench-tier.sh"
