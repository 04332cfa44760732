"""Bytes as terminals, shells, editors and crashes leave them: nothing lost, nothing invented."""

from __future__ import annotations

import pytest

from stepscope.reading.log_reader import LogReader

LINES = [f"iter {step}: loss 3.{step:04d}, time {100 + step * 37 % 11}.{step % 7}0ms" for step in range(400)]
TEXT = "\n".join(LINES) + "\n"
MORE = "".join(f"iter {step}: loss 2.9, time 103.00ms\n" for step in range(400, 500))


def run_of(data, chunk=1 << 20):
    reader = LogReader(paths=["bytes.log"])
    reader.begin_file()
    for at in range(0, len(data), chunk):
        reader.feed(data[at : at + chunk])
    reader.end_file()
    return reader.run()


@pytest.mark.parametrize(
    ("data", "num"),
    [
        (TEXT.replace("\n", "\r\n").encode(), 400),
        (TEXT.replace("\n", "\r").encode(), 400),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), 400),
        (b"\xfe\xff" + TEXT.replace("\n", "\r\n").encode("utf-16-be"), 400),
        (TEXT.encode("utf-16-le"), 400),
        (TEXT.encode("utf-16-be"), 400),
        (b"\xef\xbb\xbf" + TEXT.encode(), 400),
        (TEXT.encode() + b"\xef\xbb\xbf" + MORE.encode(), 500),
        (TEXT.replace("loss", "\0loss").encode(), 400),
        (b"\0" * 8192 + TEXT.encode(), 400),
        # A log that was cut while it was written to: a hole in the middle of a line.
        (TEXT.encode()[:5000] + b"\0" * 200_000 + TEXT.encode()[5000:], 400),
        ("".join(f"\x1b[32m{line}\x1b[0m\x1b[K\n" for line in LINES).encode(), 400),
        ("".join(f"12%\b\b\b{line}\n" for line in LINES).encode(), 400),
        (TEXT.encode() + b"caf\xe9 \xc3( \xff\n" * 20 + MORE.encode(), 500),
        (TEXT.encode() + b"x" * 150_000 + b"\n" + MORE.encode(), 500),
        ("".join(f"{line} {'y' * 150_000}\n" for line in LINES[:20]).encode(), 20),
        (TEXT.encode() + b"y" * 5_000_000 + b"\n" + MORE.encode(), 500),
        (TEXT.encode() + b"y\b" * 1_000_000 + b"\n" + MORE.encode(), 500),
        (TEXT.encode() + b"\x1b[" * 1_000_000 + b"\n" + MORE.encode(), 500),
    ],
)
def test_every_step_is_read(data, num):
    assert len(run_of(data)) == num


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_the_cut_of_the_bytes_does_not_matter(chunk):
    data = TEXT.replace("\n", "\r\n").encode("utf-16-le")[: 20_000 if chunk > 1 else 4_000]
    assert run_of(data, chunk).steps.step.tolist() == run_of(data).steps.step.tolist()


def test_a_hundred_megabytes_in_one_line_are_not_kept():
    """What is held of a line is bounded, whatever its length."""
    reader = LogReader(paths=["bytes.log"])
    reader.begin_file()
    reader.feed(TEXT.encode())
    piece = b"z" * (1 << 20)
    for _ in range(100):
        reader.feed(piece)
        held = max(len(value) for value in _held(reader))
        assert held <= 3 << 20
    reader.feed(b"\n" + MORE.encode())
    reader.end_file()
    assert len(reader.run()) == 500


def _held(reader):
    """Every text or bytes that the reader and what it reads with keep."""
    for owner in (reader, reader._splitter, reader._bulk):
        for value in vars(owner).values() if owner is not None and hasattr(owner, "__dict__") else ():
            if isinstance(value, bytes | bytearray | str):
                yield value
    yield b""


LISTING = '''import os
import sys
with open(sys.argv[0]) as f:
    code = f.read()  # read the code of this file ASAP, for logging

class Trainer:
    """Prints lines such as these:

iter 0: loss 10.9, time 99999.00ms
iter 10: loss 10.9, time 99999.00ms
Traceback (most recent call last):
    """
    def step(self):
        raise ValueError("no")

KeyboardInterrupt
for step in range(100):
    print(f"iter {step}: loss {loss:.4f}, time {dt*1000:.2f}ms")
'''


def test_a_listing_at_the_top_is_no_log():
    """Speed-run trainers print their own source first; samples in its docstrings are not steps."""
    run = run_of((LISTING + "=" * 100 + "\nRunning Python 3.12\n" + "=" * 100 + "\n" + TEXT).encode())
    assert len(run) == 400
    assert not run.notices
    assert int(run.steps.line[0]) == LISTING.count("\n") + 4


def test_a_config_with_an_import_is_still_read():
    """nanoGPT echoes a config file that may import: no rule follows, so its lines count."""
    text = "import time\nmax_iters = 700\nlearning_rate = 1e-3\n\nOverriding: eval_interval = 50\n"
    run = run_of((text + TEXT).encode())
    assert len(run) == 400
    assert run.settings.count("eval_interval") == 50
