#!/bin/sh
# Runs the whole program in a phone with an ARM kernel, and the unit tests of all libraries and
# unjank-backoff's tests under load as programs for aarch64, under qemu-user.
# Needs qemu-user, QEMU for ARM, a cross compiler and Rust's standard library for aarch64.
set -eu
cd "$(dirname "$0")/.."

triple=aarch64-unknown-linux-gnu
target=${CARGO_TARGET_DIR:-target}
cargo=${CARGO:-cargo}
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || {
    echo "unjank: there is no qemu-aarch64: install qemu-user" >&2
    exit 1
}
rustup target add $triple >/dev/null 2>&1 || true

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-C target-feature=+crt-static -C strip=symbols'
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator"

tests() {
    "$cargo" test --locked --no-fail-fast --target $triple --target-dir "$target/aarch64" "$@"
}

failed=0
# It finds its C compiler by itself, and the libraries of the other tests can be used again.
UNJANK_TEST_ALL=1 "$cargo" test --locked --workspace --test needs_aarch64_lab -- \
    --test-threads 1 || failed=1
# The emulator supports neither the policies nor the ten thousand threads of the other tests.
tests --package unjank-backoff --test stress -- --skip ten_thousand || failed=1
# The extensions for other languages are left out: an interpreter loads them. The skipped tests need
# calls that qemu-user 7.2 does not emulate: serial lines of any speed, futex_waitv, sock_diag, the
# children of a thread, a parent that waits for vfork, and /proc/self/syscall. Those of program_code
# need symbols, which are stripped.
tests --workspace --lib \
    --exclude unjank-python --exclude unjank-lock-preload --exclude unjank-backoff-c "$@" -- \
    --skip energy::serial::tests \
    --skip doorbell::tests \
    --skip unread_sockets::tests::a_socket_is_listed \
    --skip pid::tests::a_helper_leads_its_group \
    --skip process::tests::a_program_that_is_not_there \
    --skip process::tests::a_helper_ends_with_its_owner \
    --skip waiting_call::tests::the_state_of_a_thread \
    --skip program_code::tests || failed=1
exit $failed
