"""What watching costs: per new line however long the log, and per step when looking from inside.

    python bench/live.py [LINES]

1. A reader is fed a log of that many lines (10 million by default) as `watch` feeds it. Then it and a young one, which
   has seen a hundred thousand, get the same new lines in turn, a thousand at a time: the ratio of what they take,
   whatever else the machine does.
2. The recorder records steps and batches, timed alone, as a share of a 10 ms step.
3. A loop of torch steps of about 10 ms is run with and without the hooks, step by step: the ratio, with its interval.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stepscope
from stepscope.analysis.explain import explain
from stepscope.reading.log_reader import LogReader

_BLOCK = 1000
_YOUNG = 100_000
_ROUNDS = 400
_CHUNK_LINES = 16_000  # about a megabyte, as much as a look brings


def lines(first: int, num: int) -> bytes:
    """So many lines of a log from a step on."""
    return "".join(
        f"iter {step}: loss {3 + step % 97 / 100:.4f}, time {170 + step % 7}.25ms, mfu 31.20%\n"
        for step in range(first, first + num)
    ).encode()


def fed(num_lines: int) -> LogReader:
    """A reader that has seen so many lines."""
    reader = LogReader(paths=["bench"])
    reader.begin_file()
    for first in range(0, num_lines, _CHUNK_LINES):
        reader.feed(lines(first, min(_CHUNK_LINES, num_lines - first)))
    reader.run()
    return reader


def seconds_of(reader: LogReader, block: bytes) -> float:
    """CPU seconds that some new lines take."""
    began = time.process_time()
    reader.feed(block)
    return time.process_time() - began


def compare(old: LogReader, young: LogReader, num_lines: int) -> tuple[float, float]:
    """The median ratio of old to young over the rounds, and seconds of a thousand lines for the old one."""
    ratios, own = [], []
    for index in range(_ROUNDS):
        blocks = {id(old): lines(num_lines + index * _BLOCK, _BLOCK), id(young): lines(_YOUNG + index * _BLOCK, _BLOCK)}
        pair = (old, young) if index % 2 else (young, old)
        took = {id(reader): seconds_of(reader, blocks[id(reader)]) for reader in pair}
        ratios.append(took[id(old)] / took[id(young)])
        own.append(took[id(old)])
    return statistics.median(ratios), statistics.median(own)


def recorder() -> float:
    """Seconds of CPU that the recorder takes for one step: a batch, the step, now and then a write."""
    num = 20_000
    with tempfile.TemporaryDirectory() as folder:
        own = stepscope.Recorder(folder)
        batches = own.data(range(num))
        began = time.process_time()
        for index in batches:
            with own.step(index):
                pass
        return (time.process_time() - began) / num


_LOOP = """
import json, random, sys, time, torch
from torch.optim import optimizer as optim
from torch.utils.data import dataloader
torch.set_num_threads(1)
hooked = torch.nn.Module.train, dataloader._BaseDataLoaderIter.__next__, torch.autograd.backward
plain = tuple(own.__wrapped__ for own in hooked)
after = dict(optim._global_optimizer_post_hooks)
assert after

def switch(on):
    own = hooked if on else plain
    torch.nn.Module.train, dataloader._BaseDataLoaderIter.__next__, torch.autograd.backward = own
    optim._global_optimizer_post_hooks.clear()
    if on:
        optim._global_optimizer_post_hooks.update(after)

model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40000, 512)), batch_size=32))
times, dice = [], random.Random(0)
for pair in range(600):
    took = {}
    for on in dice.sample((False, True), 2):
        switch(on)
        began = time.process_time()
        (batch,) = next(batches)
        model.eval(); model.train()
        model(batch).pow(2).mean().backward()
        optimizer.step(); optimizer.zero_grad()
        took[on] = time.process_time() - began
    times.append((took[True], took[False]))
print(json.dumps(times[50:]))
"""


def ab() -> tuple[float, float, float, float]:
    """Seconds of a step without hooks; how many times as long with them: the median of pairs, and its 90 % interval."""
    inject = Path(__file__).parent.parent / "src" / "stepscope" / "live" / "inject"
    with tempfile.TemporaryDirectory() as folder:
        traced = {"PYTHONPATH": str(inject), "STEPSCOPE_TRACE": "1", "STEPSCOPE_RECORDING": folder}
        command = [sys.executable, "-c", _LOOP]
        done = subprocess.run(command, env=os.environ | traced, capture_output=True, text=True, check=True)
    pairs = json.loads(done.stdout)
    ratios = [hooked / plain for hooked, plain in pairs]
    dice = random.Random(0)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(plain for _, plain in pairs), statistics.median(ratios), medians[50], medians[949]


def main() -> None:
    num_lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    old, young = fed(num_lines), fed(_YOUNG)
    ratio, own = compare(old, young, num_lines)
    print(f"{num_lines:,} lines: a thousand more take {ratio:.2f} x what they take after {_YOUNG:,}", end="")
    print(f" ({own * 1e6 / _BLOCK:.2f} µs of CPU a line)")
    began = time.perf_counter()
    explain(old.run())
    print(f"explaining it all: {time.perf_counter() - began:.2f} s, which is at most a tenth of the time")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    taken = recorder()
    print(f"recording one step, timed alone: {taken * 1e6:.1f} µs of CPU, {taken / 0.010:.3%} of a 10 ms step")
    step, ratio, low, high = ab()
    print(f"steps of {step * 1e3:.1f} ms with hooks: {ratio:.4f} x without ({low:.4f} to {high:.4f} at 90 %)")


if __name__ == "__main__":
    main()
