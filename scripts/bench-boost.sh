#!/usr/bin/env bash
# Cost and speed of `unjank launch boost`, with the real proc connector, and files of
# a fake machine as knobs. Needs root; the machine should be quiet. Prints the
# service's own figures.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked --quiet --package unjank
cargo build --release --locked --quiet --package unjank-launch --example starts
unjank=target/release/unjank
starts=target/release/examples/starts

# In memory, like sysfs.
work=$(mktemp -d -p /dev/shm)
hogs=
trap 'kill $hogs $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cp -r crates/host/fixtures/panel-exynos4210/. "$work/machine"

serve() { # options: starts the service, and waits until it is ready
    "$unjank" launch boost --root "$work/machine" --state-dir "$work/state" \
        --socket "$work/socket" --no-store --quiet "$@" 2>"$work/log" &
    service=$!
    until "$unjank" launch boost status --socket "$work/socket" >/dev/null 2>&1; do
        kill -0 "$service" || { cat "$work/log" >&2; exit 1; }
        sleep 0.1
    done
}

finish() { # what: prints the service's figures
    echo "## $1"
    "$unjank" launch boost status --socket "$work/socket" | grep -E 'start to knobs|costs|programs started'
    kill "$service"
    wait "$service"
    echo
}

serve --budget 60s
sleep "${IDLE:-20}"
finish "nothing starts"

# How late a timer wakes a thread of the same priority: the lower bound for any
# service on this machine.
floor() {
    cyclictest --quiet --priority=50 --policy=fifo --interval=1000 --loops=10000 --histogram=20000 2>/dev/null |
        awk '/^[0-9]/ { n += $2; late[$1 + 0] = $2 }
            /^# Max/ { worst = $4 + 0 }
            END {
                for (us = 0; us < 20000; us++) {
                    seen += late[us]
                    if (!p50 && seen >= n * .5) p50 = us
                    if (!p99 && seen >= n * .99) p99 = us
                }
                print "cyclictest: p50 " p50 " µs, p99 " p99 " µs, worst " worst " µs (n " n ")"
            }'
}

for _ in $(seq "$(nproc)"); do
    (while :; do :; done) &
    hogs="$hogs $!"
done
for nth in 1 2 3; do
    floor
    serve --budget 60s
    "$starts" 1000 20
    finish "1000 launches, 20 a second, all CPUs busy: $nth of 3"
done
floor
echo
kill $hogs
wait $hogs 2>/dev/null || true
hogs=

serve
"$starts" 20000 1000 led
finish "20000 programs of a build, 1000 a second"

serve
"$starts" 20000 1000
finish "20000 launches, 1000 a second, the usual budget"
