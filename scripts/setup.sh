#!/bin/sh
# Installs what a target needs: `setup.sh build|java|test|dist|bench`. On Debian and
# Ubuntu, as root or with sudo, missing packages are installed; elsewhere they are
# listed.
set -eu

RUST_NEEDED=1.89
LIBCACHESIM=0.3.5
PERFETTO=0.59.1

die() {
    echo "unjank: $*" >&2
    exit 1
}

command -v "${CARGO:-cargo}" >/dev/null 2>&1 ||
    die "Rust is missing: install it from https://rustup.rs (stable, $RUST_NEEDED or newer), then run make again"

rust=$("${CARGO:-cargo}" --version | cut -d ' ' -f 2)
oldest=$(printf '%s\n%s\n' "$RUST_NEEDED" "$rust" | sort -V | head -n 1)
[ "$oldest" = "$RUST_NEEDED" ] ||
    die "Rust $rust is too old: $RUST_NEEDED or newer is needed (rustup update stable)"

missing=
need() { # command package
    command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ||
        missing="$missing $2"
}

need_python() {
    need python3 python3
    python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
}

# A package of PyPI in its own virtual environment: a peer to compare with.
need_from_pypi() { # package version
    peer="${CARGO_TARGET_DIR:-target}/$1-$2"
    [ ! -e "$peer/installed" ] || return 0
    echo "unjank: installing $1 $2 into $peer" >&2
    python3 -m venv "$peer"
    "$peer/bin/pip" install --quiet --disable-pip-version-check "$1==$2"
    : >"$peer/installed"
}

# Maven, and any JDK that is new enough for the Java library.
need_java() {
    need mvn maven
    "$(dirname "$0")/java.sh" jdks >/dev/null 2>&1 || missing="$missing default-jdk-headless"
}

need cc gcc
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
case "${1:-build}" in
java)
    need_java
    ;;
test)
    need_java
    need c++ g++
    need mkswap util-linux
    # What `jitter bench` compares unjank with.
    need cyclictest rt-tests
    # A display, and a program with a window.
    need Xvfb xvfb
    need xclock x11-apps
    need weston weston
    # Programs whose locks `lock doctor` must detect.
    need go golang-go
    need python3 python3
    # Debian has it in a directory for each version.
    ls /usr/lib/postgresql/*/bin/pgbench >/dev/null 2>&1 || missing="$missing postgresql"
    # A recorder whose files `why` reads, and a reader of those that it writes.
    need trace-cmd trace-cmd
    # A system in which a package is installed and removed, and what checks manual pages.
    need debootstrap debootstrap
    need rpmbuild rpm
    need groff groff-base
    # Compiles C programs against an installed library.
    need pkg-config pkgconf
    # The service that makes threads of ordinary users real-time, and its bus.
    need dbus-daemon dbus-daemon
    [ -x /usr/libexec/rtkit-daemon ] || [ -x /usr/lib/rtkit/rtkit-daemon ] || missing="$missing rtkit"
    # A service that lets users choose to save power.
    [ -x /usr/libexec/power-profiles-daemon ] || [ -x /usr/lib/power-profiles-daemon ] ||
        missing="$missing power-profiles-daemon"
    # unjank-backoff on another processor.
    if [ "$(uname -m)" = x86_64 ]; then
        need qemu-aarch64 qemu-user
        need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
        [ -e /usr/aarch64-linux-gnu/lib/libc.a ] || missing="$missing libc6-dev-arm64-cross"
        # A virtual phone with that processor.
        need qemu-system-aarch64 qemu-system-arm
    fi
    # The virtual phone: its emulator, and the keys and tools that fetch its kernel.
    need qemu-system-x86_64 qemu-system-x86
    need mke2fs e2fsprogs
    need dpkg-deb dpkg
    need apt-get apt
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
    need_python
    ;;
dist)
    need rpmbuild rpm
    need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need qemu-aarch64 qemu-user
    [ -e /usr/aarch64-linux-gnu/lib/libc.a ] || missing="$missing libc6-dev-arm64-cross"
    rustup target add aarch64-unknown-linux-gnu >/dev/null 2>&1 ||
        die "Rust for aarch64 is missing: rustup target add aarch64-unknown-linux-gnu"
    ;;
bench)
    need cyclictest rt-tests
    need hyperfine hyperfine
    need stress-ng stress-ng
    need c++ g++
    [ -e /usr/include/benchmark/benchmark.h ] || missing="$missing libbenchmark-dev"
    # The bindings of libublk, with which the tier's device is compared.
    ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1 || missing="$missing libclang-dev"
    need_python
    # Ubuntu has perf in a package for each kernel; there it is not installed.
    ! apt-cache show linux-perf >/dev/null 2>&1 || need perf linux-perf
    ;;
esac
peers() {
    # The simulator with which replacement policies are compared.
    case "$1" in test | bench) need_from_pypi libcachesim "$LIBCACHESIM" ;; esac
    # The classes with which exported traces are read back.
    case "$1" in test) need_from_pypi perfetto "$PERFETTO" ;; esac
}

if [ -z "$missing" ]; then
    peers "${1:-build}"
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "please install as root:$missing"
    as_root=sudo
fi
command -v apt-get >/dev/null 2>&1 || die "please install these packages, or what they are called here:$missing"
echo "unjank: installing$missing" >&2
# shellcheck disable=SC2086  # a list of package names
$as_root apt-get install -y -q $missing >/dev/null 2>&1 || {
    $as_root apt-get update -q >/dev/null
    $as_root apt-get install -y -q $missing >/dev/null
}
peers "${1:-build}"
