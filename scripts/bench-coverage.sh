#!/bin/sh
# How far runs agree: `unjank checkup` RUNS times (default 40), in shuffled order with
# cyclictest, hyperfine and Google Benchmark, idle and beside a steady load. Prints
# how often one run's 95 % interval contains the median of all runs, and how often two
# runs give the same answer. Usage: bench-coverage.sh quick|usual
set -eu

budget=${1:-quick}
runs=${RUNS:-40}
unjank=${CARGO_TARGET_DIR:-target}/release/unjank
here=$(dirname "$0")
work=$(mktemp -d)
load=
trap 'kill $load 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM

case "$budget" in
quick) option=--quick ;;
usual) option= ;;
*) echo "usage: bench-coverage.sh quick|usual" >&2 && exit 2 ;;
esac

c++ -O2 -o "$work/sort" "$here/../bench/coverage_peer.cc" -lbenchmark -lpthread

# One measurement with each tool, in random order.
once() {
    for tool in $(shuf -e unjank cyclictest hyperfine benchmark); do
        case "$tool" in
        unjank)
            # shellcheck disable=SC2086  # no option at all for the usual budget
            "$unjank" checkup $option --store "$1/runs.sqlite" >/dev/null
            ;;
        cyclictest)
            cyclictest --quiet --policy other --interval 1000 --duration 5 --json "$1/cyclictest-$2.json" >/dev/null
            ;;
        hyperfine)
            hyperfine --style none --shell none --warmup 2 --runs 30 --export-json "$1/hyperfine-$2.json" "$work/sort --benchmark_min_time=0.001" >/dev/null
            ;;
        benchmark)
            "$work/sort" --benchmark_repetitions=10 --benchmark_min_time=0.05 --benchmark_format=json >"$1/benchmark-$2.json" 2>/dev/null
            ;;
        esac
    done
}

forty() {
    mkdir -p "$1"
    number=0
    while [ "$number" -lt "$runs" ]; do
        once "$1" "$number"
        number=$((number + 1))
        echo "coverage: $2, $number of $runs" >&2
    done
    echo
    echo "$2: unjank checkup $option"
    "$unjank" runs coverage --command checkup --limit "$runs" --store "$1/runs.sqlite"
    python3 "$here/../bench/coverage_peers.py" "$1"
}

forty "$work/idle" "idle"
# A steady load: another program wants each CPU half of the time.
stress-ng --quiet --cpu 0 --cpu-load 50 --timeout 0 &
load=$!
forty "$work/load" "beside a steady load of 50 %"
