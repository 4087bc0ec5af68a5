#!/bin/sh
# Two minutes for each fuzz target, or for those that are named:
#   FUZZ_SECONDS=600 scripts/fuzz.sh machine_files
# Needs nightly Rust; installs cargo-fuzz if it is not there.
set -eu
cd "$(dirname "$0")/.."

cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --quiet
for target in ${*:-$(cargo +nightly fuzz list)}; do
    corpus=fuzz/corpus/$target
    mkdir -p "$corpus"
    # New inputs go into the corpus; recorded machines and traces are seeds.
    cargo +nightly fuzz run "$target" "$corpus" crates/host/fixtures crates/swap/fixtures -- \
        -max_total_time="${FUZZ_SECONDS:-120}" -max_len=8192 -verbosity=0
    echo "$target: nothing found in ${FUZZ_SECONDS:-120} s"
done
