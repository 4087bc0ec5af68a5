#!/bin/sh
# Builds packages of a static unjank for x86-64 and aarch64 in target/packages: .deb, .rpm and
# .tar.gz, a list of all parts (CycloneDX), and SHA256SUMS. Two builds of one commit give the same
# bytes: paths and times of the build are left out. `dist.sh x86_64` builds for one processor.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
CYCLONEDX_VERSION=0.5.9
target=${CARGO_TARGET_DIR:-$PWD/target}
out=$target/packages
CARGO_TARGET_DIR=$target
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export CARGO_TARGET_DIR SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar

registry=${CARGO_HOME:-$HOME/.cargo}
hidden="--remap-path-prefix=$PWD=. --remap-path-prefix=$registry=cargo"
# Parts in C have paths, too.
export CFLAGS="-ffile-prefix-map=$PWD=. -ffile-prefix-map=$registry=cargo -ffile-prefix-map=$target=target"

build() { # processor name-in-packages
    triple=$1-unknown-linux-gnu
    RUSTFLAGS="-C target-feature=+crt-static $hidden --remap-path-prefix=$target=target" \
        "$cargo" build --profile dist --locked --package unjank --target "$triple"
    # For programs that are not static.
    RUSTFLAGS="$hidden --remap-path-prefix=$target=target" CARGO_TARGET_DIR=$target/shared \
        "$cargo" build --profile dist --locked --package unjank-lock-preload --target "$triple"
    BINARY=$target/$triple/dist/unjank
    LIBRARY=$target/shared/$triple/dist/libunjank_lock.so
    [ "$1" = "$(uname -m)" ] && RUN=$BINARY || RUN="qemu-$1 $BINARY"
    export BINARY RUN LIBRARY
    ./scripts/package.sh "$2" "$out"
}

bill_of_materials() {
    cargo cyclonedx --version 2>/dev/null | grep -qF "$CYCLONEDX_VERSION" ||
        "$cargo" install cargo-cyclonedx --locked --quiet --version "$CYCLONEDX_VERSION" --debug
    "$cargo" cyclonedx --manifest-path crates/unjank/Cargo.toml --format json --override-filename bom
    mv crates/unjank/bom.json "$out/unjank.cdx.json"
    git clean -fqx -- 'crates/*/bom.json'
}

rm -rf "$out"
mkdir -p "$out"
for cpu in ${1:-x86_64 aarch64}; do
    case $cpu in
    x86_64) build x86_64 amd64 ;;
    aarch64) build aarch64 arm64 ;;
    *)
        echo "usage: $0 [x86_64|aarch64]" >&2
        exit 2
        ;;
    esac
done
bill_of_materials
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
