#!/bin/sh
# The tests of unjank-backoff that `cargo test` does not run:
#   backoff.sh test      loom's models, and a build without an operating system
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
    # Without optimisation, loom takes five times as long.
    RUSTFLAGS='--cfg loom' "$cargo" test --quiet --locked --package $package --test loom \
        --config 'profile.dev.package."*".opt-level=1' \
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

case "${1:-test}" in
test)
    # Runs all of them, and fails at the end if one failed.
    failed=0
    for part in models no_std; do
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
