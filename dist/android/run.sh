#!/bin/sh
# Runs unjank on an Android device, over adb(1): pushes the program for the device's processor unless
# it is there already, runs the command with its output here, and passes on its exit code.
#
#   run.sh checkup --quick
#   run.sh --root why -- am start -W com.android.settings/.Settings
#   run.sh --json checkup        stores the run on this machine, too: it prints the record on stdout
#
# PROGRAM is the static program to push (by default the one that `make dist` has built), PLACE its
# directory on the device, and ANDROID_SERIAL the device, as for adb.
set -eu

PLACE=${PLACE:-/data/local/tmp}
here=$(cd "$(dirname "$0")/../.." && pwd)

die() {
    echo "unjank: $*" >&2
    exit 1
}

# A word for the device's shell.
quoted() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
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

abi=$(adb shell getprop ro.product.cpu.abi | tr -d '\r')
case $abi in
arm64-v8a) triple=aarch64-unknown-linux-gnu ;;
x86_64) triple=x86_64-unknown-linux-gnu ;;
*) die "no unjank for a processor of the kind $abi" ;;
esac
program=${PROGRAM:-$here/target/$triple/dist/unjank}
[ -f "$program" ] || die "$program is missing: run make dist, or name a static program with PROGRAM"

sum=$(sha256sum <"$program" | cut -d ' ' -f 1)
there=$(adb shell "sha256sum $PLACE/unjank 2>/dev/null" | cut -d ' ' -f 1)
if [ "$sum" != "$there" ]; then
    echo "unjank: pushing $program to $PLACE" >&2
    adb push "$program" "$PLACE/unjank.new" >/dev/null
    adb shell "chmod 755 $PLACE/unjank.new && mv $PLACE/unjank.new $PLACE/unjank"
fi

# Runs that are measured there stay there; its home directory cannot be written.
line="XDG_DATA_HOME=$PLACE/unjank-data $PLACE/unjank"
for word in "$@" ${keep:+--json}; do
    line="$line $(quoted "$word")"
done
if [ -n "$as_root" ] && [ "$(adb shell id -u | tr -d '\r')" != 0 ]; then
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
[ ! -s "$record" ] || ! command -v unjank >/dev/null 2>&1 || unjank runs import "$record" >&2
exit $code
