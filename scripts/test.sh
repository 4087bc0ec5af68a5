#!/bin/sh
# Runs all tests, in three lanes side by side: those in virtual phones, one phone at a time, which
# keep one CPU busy; those of unjank-backoff in other builds; and all others, many of which wait.
# Prints the output of the first two lanes last. All tests run, and the script fails at the end if
# one failed. Programs that tests start are built once, without optimisation.
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
./scripts/backoff.sh test >"$target/backoff.log" 2>&1 &
backoff=$!
trap 'kill $phones $backoff 2>/dev/null' INT TERM

failed=0
UNJANK_TEST_NO_PHONE=1 "$cargo" test --locked --workspace --no-fail-fast || failed=1
# It builds the jars anew, which a test above needs.
./scripts/java.sh test || failed=1
wait $backoff || failed=1
cat "$target/backoff.log"
wait $phones || failed=1
cat "$target/phones.log"
exit $failed
