#!/bin/sh
# Compares the device of `unjank swap tier` with the example targets of the crate libublk in the
# virtual phone: `loop` over the same disk, and `null`. Prints a table of the medians of all rounds.
#
#     scripts/bench-tier.sh
set -eu

LIBUBLK=0.4.8

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
peers=$target/bench/libublk-$LIBUBLK

if [ "$(uname -m)" != x86_64 ] || ! command -v qemu-system-x86_64 >/dev/null 2>&1; then
    echo "swap tier against libublk needs an x86-64 machine and qemu-system-x86_64: skipped"
    exit 0
fi

[ -x "$peers/bin/loop" ] || "${CARGO:-cargo}" install --quiet --locked --no-track --root "$peers" \
    --version "$LIBUBLK" --example null --example loop libublk
"${CARGO:-cargo}" build --release --locked --quiet --package unjank-swap --example tier_device

"$target/release/unjank" lab run --no-store --disk 256MiB --add "$peers/bin/null" \
    --add "$peers/bin/loop" --add "$target/release/examples/tier_device" -- tier_device speed
