#!/bin/sh
# The Python package:
#   python.sh wheel   builds wheels for x86-64 and aarch64 in target/wheels
#   python.sh test    installs a wheel into a virtual environment, and runs the tests and the
#                     notebooks there; UNJANK names the command. NATIVE=debug packs the native half
#                     that cargo has built with the whole workspace; else maturin builds the wheel
#   python.sh bench   measures the package beside libcachesim, and a sweep on Dask
# NATIVE=debug takes cargo's debug directory for the command.
set -eu
cd "$(dirname "$0")/.."

MATURIN=1.16.0
# The oldest C library that the wheels run with: that of Debian 10, RHEL 8 and Ubuntu 20.04.
OLDEST=manylinux_2_28

target=${CARGO_TARGET_DIR:-target}
case "$target" in /*) ;; *) target=$PWD/$target ;; esac

# A virtual environment with packages, made once.
environment() { # name packages…
    place=$target/$1
    shift
    if [ ! -e "$place/installed" ]; then
        python3 -m venv --clear "$place"
        "$place/bin/pip" install --quiet --disable-pip-version-check "$@"
        : >"$place/installed"
    fi
}

maturin() {
    environment "maturin-$MATURIN" "maturin[zig]==$MATURIN"
    # Zig, which brings the headers of old C libraries, is in the environment.
    (cd python && PATH="$target/maturin-$MATURIN/bin:$PATH" CARGO_TARGET_DIR="$target" \
        exec maturin "$@")
}

wheel() {
    for architecture in x86_64 aarch64; do
        triple=$architecture-unknown-linux-gnu
        if ! rustup target list --installed 2>/dev/null | grep -qx "$triple"; then
            echo "unjank: no wheel for $architecture; for one, run: rustup target add $triple" >&2
            continue
        fi
        maturin build --quiet --locked --profile unwind --zig --compatibility "$OLDEST" \
            --target "$triple" --out "$target/wheels"
    done
    ls -l "$target/wheels"
}

run_tests() {
    environment "python-tests-$(cksum <python/tests/requirements.txt | cut -d ' ' -f 1)" \
        --requirement python/tests/requirements.txt
    tests=$place
    rm -rf "$target/wheels-test"
    if [ -n "${NATIVE:-}" ]; then
        python3 -B scripts/test_wheel.py "$target/$NATIVE/lib_native.so" "$target/wheels-test"
    else
        maturin build --quiet --locked --profile dev --compatibility linux \
            --out "$target/wheels-test"
    fi
    "$tests/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        "$target"/wheels-test/*.whl
    # Root keeps no store where others can write, so not in /tmp.
    mkdir -p "$target/python-temporary"
    # Elsewhere than beside the sources: the installed package is tested.
    UNJANK=${UNJANK:-$target/${NATIVE:-release}/unjank} TMPDIR=$target/python-temporary "$tests/bin/python" -B -m pytest --quiet \
        -p no:cacheprovider --import-mode importlib --rootdir python/tests python/tests
}

bench() {
    environment python-bench-2 numpy==2.3.5 pyarrow==22.0.0 distributed==2026.8.0 libcachesim==0.3.5
    tests=$place
    rm -rf "$target/wheels-bench"
    maturin build --quiet --locked --profile unwind --compatibility linux --out "$target/wheels-bench"
    "$tests/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        "$target"/wheels-bench/*.whl
    "$tests/bin/python" -B bench/python_peers.py "$target/release/unjank"
    "$tests/bin/python" -B bench/dask_overhead.py
    "$tests/bin/python" -B bench/fleet_speed.py
}

case "${1:-}" in
wheel) wheel ;;
test) run_tests ;;
bench) bench ;;
*)
    echo "usage: python.sh wheel|test|bench" >&2
    exit 2
    ;;
esac
