#!/bin/sh
# Installs unjank below $DESTDIR$PREFIX: the program, its manual pages, what shells complete, units
# for systemd, and examples of their configuration. `install.sh uninstall` removes these files; what
# unjank has stored since then stays.
#
# BINARY is the program to install, and RUN the command that runs it, if this machine cannot. LIBRARY
# is what `unjank lock try` preloads: by default beside BINARY, if it is there.
set -eu
cd "$(dirname "$0")/.."

PREFIX=${PREFIX-/usr/local}
BINARY=${BINARY:-${CARGO_TARGET_DIR:-target}/release/unjank}
RUN=${RUN:-$BINARY}
beside=$(dirname "$BINARY")/libunjank_lock.so
[ ! -e "$beside" ] || LIBRARY=${LIBRARY:-$beside}
# Debian's zsh looks elsewhere for what packages bring.
ZSH_DIR=${ZSH_DIR:-share/zsh/site-functions}
root=${DESTDIR:-}$PREFIX

units='unjank-boost unjank-restore unjank-tier unjank-tierd unjank-watch'

place() { # mode source file-below-the-prefix
    mkdir -p "$root/$(dirname "$3")"
    # Not in place: a running unjank keeps its file.
    install -m "$1" "$2" "$root/$3.new"
    mv -f "$root/$3.new" "$root/$3"
}

install_all() {
    [ -x "$BINARY" ] || {
        echo "unjank: $BINARY is missing: run make build first" >&2
        exit 1
    }
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    # shellcheck disable=SC2086 # An emulator and its program.
    {
        $RUN man "$made/man" >/dev/null
        $RUN completions bash >"$made/bash"
        $RUN completions zsh >"$made/zsh"
        $RUN completions fish >"$made/fish"
    }
    place 755 "$BINARY" bin/unjank
    [ -z "${LIBRARY:-}" ] || place 644 "$LIBRARY" lib/unjank/libunjank_lock.so
    for page in "$made"/man/*.1; do
        place 644 "$page" "share/man/man1/$(basename "$page")"
    done
    place 644 "$made/bash" share/bash-completion/completions/unjank
    place 644 "$made/zsh" "$ZSH_DIR/_unjank"
    place 644 "$made/fish" share/fish/vendor_completions.d/unjank.fish
    for unit in $units; do
        sed "s|/usr/bin/unjank|$PREFIX/bin/unjank|" "crates/unjank/units/$unit.service" >"$made/unit"
        place 644 "$made/unit" "lib/systemd/system/$unit.service"
    done
    for example in dist/examples/*; do
        place 644 "$example" "share/doc/unjank/examples/$(basename "$example")"
    done
    for text in README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT; do
        place 644 "$text" "share/doc/unjank/$text"
    done
}

uninstall_all() {
    rm -f "$root/bin/unjank" "$root/share/man/man1/unjank.1" "$root"/share/man/man1/unjank-*.1 \
        "$root/share/bash-completion/completions/unjank" "$root/$ZSH_DIR/_unjank" \
        "$root/share/fish/vendor_completions.d/unjank.fish"
    for unit in $units; do
        rm -f "$root/lib/systemd/system/$unit.service"
    done
    rm -rf "$root/share/doc/unjank" "$root/lib/unjank"
}

case "${1:-install}" in
install) install_all ;;
uninstall) uninstall_all ;;
*)
    echo "usage: $0 [install|uninstall]" >&2
    exit 2
    ;;
esac
