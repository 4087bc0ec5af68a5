#!/bin/sh
# Compares unjank-binder with rsbinder in the virtual phone. Appends a line of JSON
# for each run to FILE, and prints a table of all lines. The two swap devices after
# each run.
#
#     scripts/bench-binder.sh [RUNS [CALLS [FILE]]]
#
# RUNS for each placement (default 6, the fewest that give an interval), of CALLS each.
set -eu

cd "$(dirname "$0")/.."
runs=${1:-6}
calls=${2:-10000}
lines=${3:-}
if [ -z "$lines" ]; then
    lines=$(mktemp)
    trap 'rm -f "$lines"' EXIT
fi
target=${CARGO_TARGET_DIR:-$PWD/target}
program=$target/bench/release/unjank-bench-rsbinder

if [ "$(uname -m)" != x86_64 ] || ! command -v qemu-system-x86_64 >/dev/null 2>&1; then
    echo "unjank-binder against rsbinder needs an x86-64 machine and qemu-system-x86_64: skipped"
    exit 0
fi

"${CARGO:-cargo}" build --release --locked --quiet \
    --manifest-path bench/rsbinder/Cargo.toml --target-dir "$target/bench"

# Every run has its own phone, so nothing is left of the run before.
run() { # devices, and the CPU of the servers
    "$target/release/unjank" lab run --no-store --add "$program" -- \
        unjank-bench-rsbinder "$1" "$2" "$calls" 0 "$3" | grep '^{' >>"$lines"
}

i=0
while [ "$i" -lt "$runs" ]; do
    for server in 0 1; do
        if [ $((i % 2)) -eq 0 ]; then
            run /dev/binder /dev/hwbinder "$server"
        else
            run /dev/hwbinder /dev/binder "$server"
        fi
    done
    i=$((i + 1))
done
"$program" table <"$lines"
