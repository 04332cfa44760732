"""What a training did, in its own words: begin and end of each phase on the monotonic clock, as lines of JSON."""

import gc
import hashlib
import json
import os
import time

# What takes its time by sleeping takes this many times as long (bench/now.py).
_TIMES = float(os.environ.get("TIMES", "1"))
_sleep = time.sleep
if _TIMES != 1:
    time.sleep = lambda seconds: _sleep(_TIMES * seconds)

# Where the text of a program is not to say what it does.
EVALUATION, CHECKPOINT = E, C = "evaluation", "checkpoint"
_FILE = open(os.environ["TRUTH"], "a", buffering=1)  # noqa: SIM115

print("begin", flush=True)


class span:  # noqa: N801
    def __init__(self, phase):
        self.phase = phase

    def __enter__(self):
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        _FILE.write(json.dumps([self.phase, self.began, time.monotonic()]) + "\n")


def mark(number):
    _FILE.write(json.dumps(["step", time.monotonic(), number]) + "\n")


def pause(phase, seconds):
    with span(phase):
        time.sleep(seconds)


def collect(num=300_000):
    """A garbage collection that takes a while."""

    class Node:
        __slots__ = ("own",)

    gc.disable()
    for _ in range(num):
        node = Node()
        node.own = node
    with span("gc"):
        gc.collect()
    gc.enable()


def result(*arrays):
    """The weights, as one word at the end of the output: the same with and without probes."""
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    print(f"\nweights {digest}", flush=True)
