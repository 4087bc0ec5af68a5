#!/bin/sh
# Runs all tests in three lanes side by side, because most of them wait most of the time: those in
# virtual phones, one phone at a time, and then those of `unjank why`; those of all other commands;
# and those of the libraries and of Java. They take about the same time.
# The phones start as soon as their programs are built. Prints the output of one lane after the
# other. All tests run, and the script fails at the end if one failed.
set -u
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
export NATIVE=debug

# The options of `cargo test` that select the tests in these files.
tests_in() {
    for file in "$@"; do
        echo "--test $(basename "${file%/main.rs}" .rs)"
    done
}

# Always of the whole workspace: the features of its libraries depend on what is built together.
run() {
    "$cargo" test --locked --workspace --no-fail-fast "$@"
}

test_phones() {
    status=0
    run --test 'needs_lab*' -- --test-threads 1 || status=1
    run --test 'needs_root_why*' || status=1
    return $status
}

test_command() {
    # shellcheck disable=SC2046 # The names have no spaces.
    run $(tests_in crates/unjank/tests/*.rs \
        | grep -v -e ' needs_lab' -e ' needs_java' -e ' needs_root_why')
}

test_libraries() {
    status=0
    # shellcheck disable=SC2046 # The names have no spaces.
    run --lib --bins --examples $(tests_in $(find crates/*/tests -maxdepth 1 -name '*.rs' \
        -not -path 'crates/unjank/*') crates/*/tests/*/main.rs) || status=1
    run --doc || status=1
    python3 -B bench/test_why_peers.py || status=1
    ./scripts/backoff.sh test || status=1
    ./scripts/python.sh test || status=1
    # It builds the jars anew, which the test of the command needs.
    ./scripts/java.sh test || status=1
    run --test needs_java_jitter || status=1
    return $status
}

phones=
libraries=
# shellcheck disable=SC2086 # One process each, or none.
trap 'kill $phones $libraries 2>/dev/null' EXIT INT TERM

"$cargo" build --locked --workspace --bins --examples || exit
run --no-run --test 'needs_lab*' || exit
test_phones >"$target/phones.log" 2>&1 &
phones=$!
# Cargo lets one build at a time into the directory: the phones' first, which has nothing to build.
while kill -0 $phones 2>/dev/null && ! grep -q ' Running ' "$target/phones.log"; do sleep 0.1; done

"$cargo" build --locked --workspace --lib --bins --examples --tests || exit
./scripts/java.sh build || exit
test_libraries >"$target/libraries.log" 2>&1 &
libraries=$!

failed=0
test_command || failed=1
wait $libraries || failed=1
libraries=
cat "$target/libraries.log"
wait $phones || failed=1
phones=
cat "$target/phones.log"
exit $failed
