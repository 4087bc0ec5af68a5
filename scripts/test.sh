#!/bin/sh
# Runs all tests. Those in virtual phones, one phone at a time, run beside the others: a phone
# keeps one CPU busy, and many of the others wait. Prints the output of the phones' tests last. All
# tests run, and the script fails at the end if one failed. Programs that tests start are built once,
# without optimisation.
set -u
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
export NATIVE=debug

"$cargo" build --locked --workspace --lib --bins --examples --tests || exit
./scripts/java.sh build || exit

"$cargo" test --locked --workspace --no-fail-fast --test 'needs_lab*' -- --test-threads 1 \
    >"$target/phones.log" 2>&1 &
phones=$!
trap 'kill $phones 2>/dev/null' INT TERM

failed=0
UNJANK_TEST_NO_PHONE=1 "$cargo" test --locked --workspace --no-fail-fast || failed=1
./scripts/backoff.sh test || failed=1
./scripts/java.sh test || failed=1
wait $phones || failed=1
cat "$target/phones.log"
exit $failed
