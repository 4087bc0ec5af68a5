#!/bin/sh
# Runs unjank on an Android device, over adb(1): pushes the program for the device's processor unless
# it is there already, runs the command with its output here, and passes on its exit code.
#
#   run.sh checkup --quick
#   run.sh --root why -- am start -W com.android.settings/.Settings
#   run.sh --json checkup        prints the record on stdout, and keeps the run on this machine, too
#
# PROGRAM is the static program to push (by default the one that `make dist` has built), PLACE its
# directory on the device, and ANDROID_SERIAL the device, as for adb.
set -eu

PLACE=${PLACE:-/data/local/tmp}
ROOT_DATA=${ROOT_DATA:-/data/local}
here=$(cd "$(dirname "$0")/../.." && pwd)

die() {
    echo "unjank: $*" >&2
    exit 1
}

# A word for the device's shell.
quoted() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# The device's answer. Input is for the command.
ask() {
    adb shell "$@" </dev/null | tr -d '\r'
}

as_root=
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --root) as_root=1 ;;
    --json) keep=1 ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || die "usage: run.sh [--root] [--json] COMMAND [ARGUMENT …]"
command -v adb >/dev/null 2>&1 || die "adb is missing: install it (Debian and Ubuntu: adb)"
adb get-state >/dev/null 2>&1 || die "no device: adb devices lists those that are connected"

abi=$(ask getprop ro.product.cpu.abi)
case $abi in
arm64-v8a) triple=aarch64-unknown-linux-gnu ;;
x86_64) triple=x86_64-unknown-linux-gnu ;;
*) die "no unjank for a processor of the kind $abi" ;;
esac
program=${PROGRAM:-$here/target/$triple/dist/unjank}
[ -f "$program" ] || die "$program is missing: run make dist, or name a static program with PROGRAM"

sum=$(sha256sum <"$program" | cut -d ' ' -f 1)
there=$(ask "sha256sum $PLACE/unjank 2>/dev/null" | cut -d ' ' -f 1)
if [ "$sum" != "$there" ]; then
    echo "unjank: pushing $program to $PLACE" >&2
    adb push "$program" "$PLACE/unjank.new" >/dev/null
    ask "chmod 755 $PLACE/unjank.new && mv $PLACE/unjank.new $PLACE/unjank"
fi

# Runs that are measured there stay there. No home directory can be written, and root keeps its runs
# where nobody else can replace them.
data=$PLACE/unjank-data
if [ -n "$as_root" ]; then
    data=$ROOT_DATA
fi
line="XDG_DATA_HOME=$data $PLACE/unjank"
for word in "$@"; do
    # An option of unjank's, not of a command behind --.
    if [ "$word" = -- ] && [ "$keep" = 1 ]; then
        line="$line --json"
        keep=placed
    fi
    line="$line $(quoted "$word")"
done
if [ "$keep" = 1 ]; then
    line="$line --json"
fi
if [ -n "$as_root" ] && [ "$(ask id -u)" != 0 ]; then
    line="su 0 sh -c $(quoted "$line")"
fi
if [ -z "$keep" ]; then
    exec adb shell "$line"
fi
record=$(mktemp)
trap 'rm -f "$record"' EXIT
code=0
adb shell "$line" >"$record" || code=$?
cat "$record"
if [ -s "$record" ] && command -v unjank >/dev/null 2>&1; then
    unjank runs import "$record" >&2 || echo "unjank: the run is not kept on this machine" >&2
fi
exit $code
