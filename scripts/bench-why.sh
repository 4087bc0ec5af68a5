#!/usr/bin/env bash
# How good the predictions of `unjank why` are: programs and a server with other programs beside
# them, and programs whose files are not in memory, each predicted and measured. Needs root; other programs
# should not run. Prints all predictions beside their outcomes at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

unjank=${UNJANK:-target/release/unjank}
work=$(mktemp -d "${CARGO_TARGET_DIR:-target}/bench-why.XXXXXX")
work=$(realpath "$work")
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

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

prove() { # change command…
    change=$1
    shift
    echo "$change: $*" >&2
    "$unjank" why --prove="$change" -n 12 --pairs "${PAIRS:-12}" --gap 200ms \
        --store "$work/runs.sqlite" -- "$@" >"$work/said" || { cat "$work/said" >&2; exit 1; }
}

# Beside two programs that compute on every CPU.
for _ in $(seq "$(nproc)"); do
    for _ in 1 2; do (while :; do :; done) & done
done
prove cpu gzip -c "$work/numbers"
prove cpu sort "$work/numbers"
prove cpu python3 -c 'import json, decimal, asyncio'
prove cpu make -B -j2 -C "$work"
prove cpu git -C "$work/repository" log --stat
prove cpu sh -c 'gzip -c "$1" | gzip -dc | sort | tail -n 1' sh "$work/numbers"
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
# Nothing to gain.
prove cpu sort "$work/numbers"

"$unjank" why --calibration --store "$work/runs.sqlite"
