#!/bin/sh
# The tests of unjank-backoff that `cargo test` does not run:
#   backoff.sh test      loom's models; a build without an operating system; its tests on aarch64,
#                        under an emulator
#   backoff.sh miri      its tests under Miri (needs nightly Rust with the component miri)
#   backoff.sh tsan      its tests under the thread sanitizer (needs nightly Rust with rust-src)
# Tests that this machine cannot run are skipped, or fail with UNJANK_TEST_ALL=1.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
cargo=${CARGO:-cargo}
package=unjank-backoff

# Whether a Rust target is installed or can be fetched.
has_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] && return 0
    command -v rustup >/dev/null 2>&1 && rustup target add "$1" >/dev/null 2>&1
}

skip() {
    echo "unjank: $1: skipped, it needs $2" >&2
    [ -z "${UNJANK_TEST_ALL:-}" ] || exit 1
}

models() {
    RUSTFLAGS='--cfg loom' "$cargo" test --quiet --locked --release --package $package --test loom \
        --target-dir "$target/loom"
}

no_std() {
    bare=thumbv7em-none-eabihf
    if ! has_target $bare; then
        skip "the build without an operating system" "rustup target add $bare"
        return 0
    fi
    "$cargo" build --quiet --locked --package $package --no-default-features --target $bare \
        --target-dir "$target/backoff"
}

aarch64() {
    triple=aarch64-unknown-linux-gnu
    emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
    if [ "$(uname -m)" = aarch64 ]; then
        return 0
    elif [ -z "$emulator" ] || ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
        skip "aarch64" "qemu-user and gcc-aarch64-linux-gnu"
    elif ! has_target $triple; then
        skip "aarch64" "rustup target add $triple"
    else
        # The emulator supports neither the policies nor the ten thousand threads of the other tests.
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator -L /usr/aarch64-linux-gnu" \
            "$cargo" test --quiet --locked --package $package --target $triple \
            --target-dir "$target/backoff" --lib --test stress -- --skip ten_thousand
    fi
}

case "${1:-test}" in
test)
    # Runs all of them, and fails at the end if one failed.
    failed=0
    for part in models no_std aarch64; do
        ($part) || failed=1
    done
    exit $failed
    ;;
miri)
    # Miri supports the C library's system calls, not those that rustix makes directly.
    RUSTFLAGS='--cfg rustix_use_libc' MIRIFLAGS='-Zmiri-disable-isolation' \
        "$cargo" +nightly miri test --quiet --package $package --lib --target-dir "$target/miri"
    ;;
tsan)
    triple=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS='-Zsanitizer=thread' "$cargo" +nightly test --quiet -Zbuild-std --package $package \
        --target "$triple" --target-dir "$target/tsan" --lib --test stress -- --skip ten_thousand
    ;;
*)
    echo "scripts/backoff.sh test, miri or tsan" >&2
    exit 2
    ;;
esac
