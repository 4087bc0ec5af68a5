#!/bin/sh
# Installs unjank-backoff for C and C++ below $DESTDIR$PREFIX: header, static library, shared library
# and a file for pkg-config(1). `install-c.sh uninstall` removes these files.
#
# LIBRARIES is the directory of the built libraries, and LIBDIR where they go, by default $PREFIX/lib.
set -eu
cd "$(dirname "$0")/.."

PREFIX=${PREFIX-/usr/local}
LIBDIR=${LIBDIR:-$PREFIX/lib}
LIBRARIES=${LIBRARIES:-${CARGO_TARGET_DIR:-target}/release}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
headers=${DESTDIR:-}$PREFIX/include
libraries=${DESTDIR:-}$LIBDIR
shared=libunjank_backoff.so

# What programs ask for at run time, as the crate's build script has named it.
soname() {
    major=${version%%.*}
    minor=${version#*.}
    # Before 1.0, a minor version may break what the one before it promised.
    if [ "$major" -eq 0 ]; then echo "$shared.0.${minor%%.*}"; else echo "$shared.$major"; fi
}

place() { # mode source file
    mkdir -p "$(dirname "$3")"
    # Not in place: running programs keep their library.
    install -m "$1" "$2" "$3.new"
    mv -f "$3.new" "$3"
}

pkg_config() {
    cat <<END
prefix=$PREFIX
includedir=$PREFIX/include
libdir=$LIBDIR

Name: unjank_backoff
Description: Mutex, condition variable, signal, back-off and thread pool that spin while it is cheap
Version: $version
Cflags: -I\${includedir} -pthread
Libs: -L\${libdir} -lunjank_backoff
Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl
END
}

install_all() {
    for file in libunjank_backoff.a $shared; do
        [ -e "$LIBRARIES/$file" ] || {
            echo "unjank: $LIBRARIES/$file is missing: run make c first" >&2
            exit 1
        }
    done
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    pkg_config >"$made/pc"
    place 644 crates/backoff-c/include/unjank_backoff.h "$headers/unjank_backoff.h"
    place 644 "$LIBRARIES/libunjank_backoff.a" "$libraries/libunjank_backoff.a"
    place 755 "$LIBRARIES/$shared" "$libraries/$shared.$version"
    ln -sf "$shared.$version" "$libraries/$(soname)"
    ln -sf "$(soname)" "$libraries/$shared"
    place 644 "$made/pc" "$libraries/pkgconfig/unjank_backoff.pc"
    # The dynamic linker finds new libraries in its cache.
    if [ -z "${DESTDIR:-}" ]; then
        [ "$(id -u)" = 0 ] && ldconfig 2>/dev/null ||
            echo "unjank: sudo ldconfig, or LD_LIBRARY_PATH=$libraries, lets programs find it" >&2
    fi
}

uninstall_all() {
    rm -f "$headers/unjank_backoff.h" "$libraries/libunjank_backoff.a" \
        "$libraries/$shared" "$libraries/$(soname)" "$libraries/$shared.$version" \
        "$libraries/pkgconfig/unjank_backoff.pc"
}

case "${1:-install}" in
install) install_all ;;
uninstall) uninstall_all ;;
*)
    echo "usage: $0 [install|uninstall]" >&2
    exit 2
    ;;
esac
