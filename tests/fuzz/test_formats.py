"""Every format, its own samples mangled: an answer or a clear error, never an exception."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import catalogue
from stepscope.core.errors import InputError
from stepscope.i18n import Language
from stepscope.reading.log_reader import LogReader
from stepscope.report import json as as_json
from stepscope.report import terminal

FORMATS = {fmt.name: fmt for fmt in catalogue()}
ENGLISH = Language.load("en")


def answer(data: bytes) -> None:
    reader = LogReader(paths=["x.log"], settle_bytes=700)
    reader.begin_file()
    try:
        reader.feed(data)
        reader.end_file()
        run = reader.run()
    except InputError:
        return
    report = explain(run)
    json.loads(as_json.render(report, ENGLISH))
    assert terminal.render(report, ENGLISH)
    assert sum(total.ns for total in report.ledger.phases) == report.ledger.wall_ns


def mangled(name: str, seed: int) -> bytes:
    """The samples in any order, many times, with numbers changed and characters lost."""
    dice = random.Random(seed)
    samples = [sample.text for sample in FORMATS[name].samples]
    lines = []
    for _ in range(dice.randint(5, 300)):
        line = dice.choice(samples)
        if dice.random() < 0.5:
            line = "".join(
                dice.choice("0123456789") if char.isdigit() and dice.random() < 0.3 else char for char in line
            )
        if dice.random() < 0.1 and line:
            cut = dice.randrange(len(line))
            line = (
                line[:cut] + dice.choice(["", "\x1b[K", "\r", "nan", "9" * 40, "-"]) + line[cut + dice.randint(0, 3) :]
            )
        lines.append(line)
    return dice.choice(["\n", "\r\n"]).join(lines).encode()


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_mangled_samples_never_raise(name, seed):
    answer(mangled(name, seed))


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.document is not None])
@settings(max_examples=20)
@given(data=st.binary(max_size=2000))
def test_any_bytes_can_be_written_as_lines(name, data):
    fmt = FORMATS[name]
    assert fmt.document.sniff(data) in {True, False}
    with contextlib.suppress(InputError):  # a sentence about the damage will do
        assert all(isinstance(line, str) for line in fmt.document.to_lines(data))
