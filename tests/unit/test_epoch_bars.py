"""Bars of an epoch that count the batches of the validation, too."""

from __future__ import annotations

import pytest

from stepscope.catalogue import detect
from stepscope.reading.log_reader import LogReader


def _read(lines):
    reader = LogReader(format=detect.load("lightning_bar"))
    reader.begin_file()
    reader.feed("\n".join([*lines, ""]).encode())
    reader.end_file()
    return reader.run()


def _bar(epoch, batch, batches, seconds):
    clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
    return f"Epoch {epoch}:  5%|▋     | {batch}/{batches} [{clock}<00:09,  1.00it/s, loss=1.5, v_num=3]"


def _validation(done, size):
    full = "100%" if done == size else " 10%"
    return f"Validating: {full}|▋    | {done}/{size} [00:{2 * done:02d}<00:00,  2.0s/it]"


def _old(epochs):
    """Ten batches of a second and four of the validation, which take two."""
    for epoch in range(epochs):
        for batch in range(1, 11):
            yield _bar(epoch, batch, 14, batch)
        yield "Validating: 0it [00:00, ?it/s]"
        for batch in range(1, 5):
            yield _validation(batch, 4)
            if batch < 4:
                yield _bar(epoch, 10 + batch, 14, 10 + 2 * batch)
        yield _bar(epoch, 14, 14, 19)


def _new(epochs):
    for epoch in range(epochs):
        for batch in range(1, 11):
            yield _bar(epoch, batch, 10, batch)
        for batch in range(1, 5):
            yield _validation(batch, 4).replace("Validating", "Validation DataLoader 0")
        yield _bar(epoch, 10, 10, 19)


@pytest.mark.parametrize("lines", [_old, _new])
def test_batches_of_the_validation_are_no_steps(lines):
    run = _read(lines(3))
    assert run.steps.step.tolist() == list(range(1, 31))
    assert run.events.kind.count("evaluation") == 3
    assert run.events.took_ns.tolist() == [8 * 10**9] * 3


@pytest.mark.parametrize("lines", [_old, _new])
def test_the_clock_goes_on_where_the_bar_of_the_epoch_ended(lines):
    """The first step of an epoch holds the validation before it."""
    run = _read(lines(3))
    seconds = (run.steps.dur_ns * run.steps.span / 1e9).tolist()
    assert seconds[10] == seconds[20] == 10
    assert sum(seconds) == 19 * 2 + 10
