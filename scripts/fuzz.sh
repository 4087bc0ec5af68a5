#!/bin/sh
# Runs each fuzz target, or the named ones, for two minutes; swap_traces for two minutes for each
# format of traces, and for the detection of formats:
#   FUZZ_SECONDS=600 scripts/fuzz.sh machine_files
#   FUZZ_FORMAT=msr scripts/fuzz.sh swap_traces
# Needs nightly Rust; installs cargo-fuzz if it is missing. With the argument `check` it only compiles
# all targets, with any Rust.
set -eu
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-120}
# As in crates/swap/src/trace/format.rs.
formats='ariadne blkparse blktrace csv ftrace mobile msr oracleGeneral parquet spc systor txt vscsi'

# fuzz TARGET CORPUS: adds new inputs to the corpus; recorded machines, traces and profiles are seeds.
fuzz() {
    mkdir -p "fuzz/corpus/$2"
    cargo +nightly fuzz run "$1" "fuzz/corpus/$2" crates/host/fixtures crates/jitter/fixtures \
        crates/swap/fixtures crates/launch/profiles -- \
        -max_total_time="$seconds" -max_len=65536 -verbosity=0
    echo "$2: nothing found in $seconds s"
}

if [ "${1:-}" = check ]; then
    # As cargo-fuzz does. Nothing is linked, so any file passes for libFuzzer, which is not compiled.
    export RUSTFLAGS='--cfg fuzzing -D warnings'
    export CUSTOM_LIBFUZZER_PATH="$PWD/fuzz/Cargo.lock"
    # A directory of its own: other flags would compile everything anew each time.
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/fuzz"
    exec "${CARGO:-cargo}" check --manifest-path fuzz/Cargo.toml --locked --quiet
fi

cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --quiet
for target in ${*:-$(cargo +nightly fuzz list)}; do
    if [ "$target" != swap_traces ] || [ -n "${FUZZ_FORMAT:-}" ]; then
        fuzz "$target" "$target${FUZZ_FORMAT:+/$FUZZ_FORMAT}"
        continue
    fi
    fuzz swap_traces swap_traces/any
    for format in $formats; do
        FUZZ_FORMAT=$format
        export FUZZ_FORMAT
        fuzz swap_traces "swap_traces/$format"
    done
    unset FUZZ_FORMAT
done
