"""Meters print one iteration in ten and, in brackets, the mean of all: that tells what the unprinted ones took."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from stepscope.catalogue.detect import load
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.log_reader import LogReader
from tests.fuzz.test_laws import columns
from tests.unit.logs import report_of, run_of


def meters(
    wait: Callable[[int], float],
    *,
    epochs: int = 3,
    batches: int = 400,
    every: int = 10,
    printing_s: float = 0.0,
) -> tuple[list[str], float, float]:
    """The lines of a run whose n-th batch waits `wait(n)` seconds, all its seconds, and those of the waits."""
    chance, lines, wall, waited = random.Random(1), ["=> creating model 'resnet18'"], 0.0, 0.0
    for epoch in range(epochs):
        took = data = 0.0
        for batch in range(batches):
            own_wait = wait(batch)
            step = 0.3 + own_wait + chance.random() / 100 + (printing_s if batch % every == 0 else 0.0)
            took, data, wall, waited = took + step, data + own_wait, wall + step, waited + own_wait
            if batch % every == 0:
                lines.append(
                    f"Epoch: [{epoch}][{batch:3d}/{batches}]\tTime {step:6.3f} ({took / (batch + 1):6.3f})\t"
                    f"Data {own_wait:6.3f} ({data / (batch + 1):6.3f})\tLoss 2.3000e+00 (2.4000e+00)"
                )
    return lines, wall, waited


def seconds_of(report, phase):
    return sum(total.seconds for total in report.ledger.phases if total.phase == phase)


def test_every_fourth_batch_waits_and_none_of_them_is_printed():
    lines, wall, waited = meters(lambda batch: 0.8 if batch % 4 == 3 else 0.002)
    report = report_of(lines)
    assert report.ledger.wall_s == pytest.approx(wall, rel=0.02)
    assert seconds_of(report, "data") == pytest.approx(waited, rel=0.03)
    assert report.ledger.step.typical_s == pytest.approx(0.307, rel=0.02)  # of an iteration that does not wait


def test_what_is_left_holds_the_waits_that_are_not_printed():
    lines, wall, _ = meters(lambda batch: 0.8 if batch % 4 == 3 else 0.002)
    assert report_of(lines, max_steps=2399).forecast.remaining_s == pytest.approx(wall, rel=0.05)


def test_printing_that_waits_for_the_gpu_is_no_sample_of_the_others():
    lines, wall, _ = meters(lambda _: 0.002, printing_s=0.4)
    assert report_of(lines).ledger.wall_s == pytest.approx(wall, rel=0.02)


def test_where_the_printed_ones_are_like_the_others_nothing_changes():
    lines, wall, _ = meters(lambda _: 0.002)
    report = report_of(lines)
    assert report.ledger.wall_s == pytest.approx(wall, rel=0.01)
    assert report.reading.confidence > 0.7


def test_an_epoch_that_begins_in_its_middle_has_a_mean_of_unknown_batches():
    lines, *_ = meters(lambda _: 0.002, epochs=1)
    assert not run_of([lines[0], *lines[5:]]).means
    assert len(run_of(lines).means) == 1


def test_a_part_of_the_run_keeps_the_means_of_its_own_epochs():
    lines, *_ = meters(lambda _: 0.002)
    run = run_of(lines)
    assert [mean.row for mean in run.means] == [39, 79, 119]
    assert [mean.row for mean in run.until(85).means] == [39, 79]


@pytest.mark.parametrize("meter", ["Time", "batch_time"])
def test_rows_with_means_are_read_in_bulk_and_give_the_same(monkeypatch, meter):
    added, original = [], RunAssembler.add
    monkeypatch.setattr(RunAssembler, "add", lambda self, line: added.append(line) or original(self, line))
    lines, _, _ = meters(lambda batch: 0.8 if batch % 4 == 3 else 0.002, epochs=40)
    data = "\n".join(line.replace("Time", meter) for line in lines).encode() + b"\n"

    def read(settle_bytes):
        added.clear()
        reader = LogReader(paths=["x"], format=load("imagenet"), settle_bytes=settle_bytes)
        reader.begin_file()
        reader.feed(data)
        reader.end_file()
        return reader.run(), len(added)

    (in_bulk, num_added), (by_line, num_lines) = read(1), read(len(data) + 1)
    assert len(by_line.means) == 40
    assert in_bulk.means == by_line.means
    assert columns(in_bulk) == columns(by_line)
    assert num_lines == len(lines)
    assert num_added < num_lines / 4
