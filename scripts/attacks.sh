#!/bin/sh
# Repeats the attacks against the release build, which differs from the one that `make test` attacks
# in its optimisation, its checks of arithmetic and its speed: files and directories of other users,
# races for a tree, hidden and covered /proc and /sys, limits on the size of files, hostile names,
# inputs without an end, and kills. Only the program is built for release: the tests are those of
# `make test`. Needs root. Arguments are passed on to the tests. All tests run, and the script fails
# at the end if one failed.
set -u
cd "$(dirname "$0")/.." || exit

if [ "$(id -u)" != 0 ]; then
    echo 'the attacks need root' >&2
    exit 1
fi
attacks='needs_root_files needs_root_homes needs_root_steering needs_root_hidden file_size_limit
    hostile_text needs_root_hostile_text endless_input kill needs_root_boost_safety
    needs_root_killed_traces needs_root_swap_record needs_root_rt needs_root_checkup restore'
tests=
for attack in $attacks; do
    tests="$tests --test $attack"
done
cargo=${CARGO:-cargo}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
"$cargo" build --release --locked --package unjank || exit
"$cargo" build --locked --workspace --bins --examples || exit
failed=0
# Of the whole workspace, as in test.py: so that nothing is built in two ways.
# shellcheck disable=SC2086 # The names have no spaces.
UNJANK_PROGRAM=$target/release/unjank \
    "$cargo" test --locked --workspace --no-fail-fast $tests -- "$@" || failed=1
# Races for sockets and trees, and damaged journals. A stripped program has no names of functions.
"$cargo" test --release --locked --package unjank-host --lib -- --skip program_code "$@" || failed=1
exit $failed
