#!/bin/sh
# Runs the unit tests of all libraries as programs for aarch64, under qemu-user. The phone tests run
# the whole program under an ARM kernel.
# Needs qemu-user, a cross compiler and Rust's standard library for aarch64.
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

# As crates/unjank/tests/needs_lab_aarch64.rs, whose libraries can then be used again.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar
export RUSTFLAGS='-C target-feature=+crt-static -C strip=symbols'
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator"

# The extensions for other languages are left out: an interpreter loads them. The skipped tests need
# calls that qemu-user 7.2 does not emulate: serial lines of any speed, futex_waitv, sock_diag, the children of a
# thread, a parent that waits for vfork, and /proc/self/syscall. The symbols of this program are
# stripped.
exec "$cargo" test --locked --workspace --lib --no-fail-fast --target $triple \
    --exclude unjank-python --exclude unjank-lock-preload --exclude unjank-backoff-c \
    --target-dir "$target/aarch64" "$@" -- \
    --skip energy::serial::tests \
    --skip doorbell::tests \
    --skip unread_sockets::tests::a_socket_is_listed \
    --skip pid::tests::a_helper_leads_its_group \
    --skip process::tests::a_program_that_is_not_there \
    --skip process::tests::a_helper_ends_with_its_owner \
    --skip waiting_call::tests::the_state_of_a_thread \
    --skip program_code::tests
