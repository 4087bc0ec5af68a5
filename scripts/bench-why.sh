#!/usr/bin/env bash
# How good the predictions of `unjank why` are, each predicted and measured: programs and a server
# with other programs beside them, programs whose files are not in memory, too little memory, and a
# lock that two threads want. Needs root; other programs should not run. Prints all predictions beside their outcomes at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

unjank=${UNJANK:-target/release/unjank}
work=$(mktemp -d "${CARGO_TARGET_DIR:-target}/bench-why.XXXXXX")
work=$(realpath "$work")
# The memory controller of version 1 or 2.
groups=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
[ -d $groups ] || groups=/sys/fs/cgroup limit=memory.max
narrow=$groups/unjank-bench-why
clean_up() {
    kill $(jobs -p) 2>/dev/null || true
    wait
    [ ! -e "$work/swap" ] || swapoff "$work/swap" 2>/dev/null || true
    [ ! -d $narrow ] || rmdir $narrow
    rm -rf "$work"
}
trap clean_up EXIT

cat >"$work/main.c" <<'C'
#include <regex.h>
#include <stdio.h>
int main(void) { regex_t it; return regcomp(&it, "a.*b", 0) || puts("ready") < 0; }
C
for part in one two three four; do cp "$work/main.c" "$work/$part.c"; done
printf 'all: one.o two.o three.o four.o\n%%.o: %%.c\n\tcc -O2 -c -o $@ $<\n' >"$work/Makefile"
git init -q "$work/repository"
git -C "$work/repository" -c user.name=it -c user.email=it@example.org commit -q --allow-empty -m it
seq 200000 >"$work/numbers"
cat >"$work/serve.py" <<'PYTHON'
"""A server that computes for each byte: serve.py SOCKET"""
import socket, sys
listens = socket.socket(socket.AF_UNIX)
listens.bind(sys.argv[1])
listens.listen()
while True:
    client, _ = listens.accept()
    while client.recv(1):
        sum(range(1_000_000))
        client.send(b"x")
PYTHON
cat >"$work/ask.py" <<'PYTHON'
"""Asks it eight times: ask.py SOCKET"""
import socket, sys
asks = socket.socket(socket.AF_UNIX)
asks.connect(sys.argv[1])
for _ in range(8):
    asks.send(b"x")
    asks.recv(1)
PYTHON
cat >"$work/sections.c" <<'C'
// Two threads that compute under one lock, and for a while without it: SECTION=ROUNDS sections
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int section = 4000000;
static void compute(int rounds) {
    for (volatile int round = 0; round < rounds; round++) continue;
}
static void *turns(void *nothing) {
    for (int turn = 0; turn < 20; turn++) {
        pthread_mutex_lock(&lock);
        compute(section);
        pthread_mutex_unlock(&lock);
        compute(1000000);
    }
    return nothing;
}
int main(void) {
    pthread_t other;
    const char *rounds = getenv("SECTION");
    if (rounds != NULL) section = atoi(rounds);
    if (pthread_create(&other, NULL, turns, NULL) != 0) return 1;
    turns(NULL);
    return pthread_join(other, NULL);
}
C
cc -O2 -pthread -o "$work/sections" "$work/sections.c"
cat >"$work/stopped" <<'SH'
#!/bin/sh
# Keeps processes stopped: stopped PID…
trap 'kill -CONT "$@"; exit' TERM
kill -STOP "$@"
sleep 1000 & wait
SH
chmod +x "$work/stopped"
cat >"$work/touch.py" <<'PYTHON'
"""Fills memory and reads it again: touch.py MIB"""
import sys
pages = bytearray(int(sys.argv[1]) << 20)
for turn in range(2):
    for page in range(0, len(pages), 4096):
        pages[page] = pages[page] + 1
PYTHON

prove() { # change[@condition] command…
    change=${1%%@*}
    by=${1#"$change"}
    shift
    echo "$change$by: $*" >&2
    "$unjank" why --prove="$change" ${by:+--by "${by#@}"} -n 12 --pairs "${PAIRS:-12}" --gap 200ms \
        --store "$work/runs.sqlite" -- "$@" >"$work/said" || { cat "$work/said" >&2; exit 1; }
}

# Beside two programs that compute on every CPU.
hogs=()
for _ in $(seq $((2 * $(nproc)))); do
    (while :; do :; done) &
    hogs+=($!)
done
prove cpu gzip -c "$work/numbers"
prove cpu sort "$work/numbers"
prove cpu python3 -c 'import json, decimal, asyncio'
prove cpu make -B -j2 -C "$work"
prove cpu git -C "$work/repository" log --stat
prove cpu sh -c 'gzip -c "$1" | gzip -dc | sort | tail -n 1' sh "$work/numbers"
# The others are not only second, but stopped.
prove "cpu@with:$work/stopped ${hogs[*]}" sort "$work/numbers"
prove "cpu@with:$work/stopped ${hogs[*]}" python3 -c 'import json, decimal, asyncio'
python3 "$work/serve.py" "$work/socket" &
while [ ! -S "$work/socket" ]; do sleep 0.1; done
prove servers python3 "$work/ask.py" "$work/socket"
kill $(jobs -p)
wait || true

# Files that are not in memory.
prove cache python3 -c 'import json, decimal, asyncio'
prove cache gcc -O2 -c -o "$work/main.o" "$work/main.c"
prove cache git -C "$work/repository" log --stat
prove cache perl -MPOSIX -MData::Dumper -e 'print Dumper(POSIX::floor(1.5))'
prove cache java -version

# Less memory than the program touches, and enough.
fallocate -l 512M "$work/swap"
chmod 600 "$work/swap"
mkswap "$work/swap" >/dev/null
swapon "$work/swap"
mkdir $narrow
echo 64M >$narrow/$limit
# shellcheck disable=SC2016 # The launched shell expands it.
prove "swap@$narrow/$limit=1073741824" \
    sh -c 'echo $$ >"$1/cgroup.procs" && exec python3 "$2" 96' sh $narrow "$work/touch.py"

# Half of the computing under a lock.
prove sections@env:SECTION=2000000 "$work/sections"

# Nothing to gain.
prove cpu sort "$work/numbers"

"$unjank" why --calibration --store "$work/runs.sqlite"
