"""Five threads that compute, of which one at a time has the interpreter."""

import threading


def compute():
    number = 1
    while True:
        number = number * 3 % 1_000_003


for _ in range(5):
    threading.Thread(target=compute, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
