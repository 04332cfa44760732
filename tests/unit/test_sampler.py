"""Looks at the program's own functions become spans, and join what hooks have timed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from stepscope.integrations import Recorder
from stepscope.source.sampled_spans import Sampled, unseen, with_sampled
from stepscope.source.span_file import read_lanes

from _stepscope.sampler import Sampler  # isort: skip (made importable by the integrations)

MS = 1_000_000
TICK = 10 * MS


class Program:
    """A program's functions; each is looked at a number of times, a tick apart."""

    def __init__(self, recorder: Recorder) -> None:
        self.steps = 0
        recorder.spans.note("probe", "begun")
        self.sampler = Sampler(recorder.spans, lambda: self.steps)
        self.at = 1_000 * MS

    def look(self, num: int) -> None:
        for _ in range(num):
            self.at += TICK
            self.sampler.look(sys._getframe(), self.at)

    def step(self, num: int = 5) -> None:
        self.look(num)
        self.sampler.trained(self.at)
        self.steps += 1

    def validate(self, num: int) -> None:
        self.look(num)

    def save_checkpoint(self, num: int) -> None:
        self.look(num)

    def evaluate_and_save(self, num: int) -> None:
        self.look(num)
        self.save_checkpoint(num)
        self.look(num)

    def validate_while_training(self) -> None:
        self.look(5)
        self.step()
        self.look(5)

    def get_batch(self, num: int) -> None:
        self.look(num)

    def batches(self, num: int):
        for each in range(2):
            self.look(num * each)
            yield each

    def draw(self, num: int) -> None:
        for _ in self.batches(num):
            pass

    def inline(self, val_loader: list[int], num: int) -> None:
        for _ in val_loader:
            self.look(num)

    def in_block(self, step: int, eval_interval: int, num: int) -> None:
        if step % eval_interval == 0:
            self.look(num)


@pytest.fixture
def recorded(tmp_path):
    def record(*calls):
        recorder = Recorder(tmp_path / "r")
        program = Program(recorder)
        program.look(3)
        for name, *given in calls:
            getattr(program, name)(*given)
        program.look(3)
        program.sampler.close()
        recorder.close()
        (lane,) = read_lanes(tmp_path / "r")
        return {
            kind: [round((end - begin) / MS) for begin, end in table.tolist()] for kind, table in lane.spans.items()
        }

    return record


@pytest.mark.parametrize(
    ("calls", "spans"),
    [
        ([("step",), ("validate", 20), ("step",)], {"evaluation": [200]}),
        ([("step",), ("save_checkpoint", 30), ("step",)], {"checkpoint": [300]}),
        # A save in an evaluation is both; the ledger counts it as the save.
        ([("step",), ("evaluate_and_save", 10), ("step",)], {"evaluation": [300], "checkpoint": [100]}),
        ([("step",), ("get_batch", 50), ("step",)], {"data": [500]}),
        # A generator is drawn from; where all steps take a while there, what is beyond that counts.
        ([("step",), ("draw", 50), ("step",)], {"data": [500]}),
        (
            [*(call for _ in range(9) for call in (("get_batch", 5), ("step",))), ("get_batch", 50), ("step",)],
            {"data": [450]},
        ),
        ([("step",), ("inline", [0, 1, 2], 10), ("step",)], {"evaluation": [300]}),
        # What is under a condition may be an evaluation and a save: it says nothing.
        ([("step",), ("in_block", 10, 10, 20), ("step",)], {}),
        # Too short to be worth a span.
        ([("step",), ("validate", 1), ("step",)], {}),
        # A function that trains is no evaluation, the second time neither.
        ([("validate_while_training",), ("validate_while_training",)], {}),
        # What is in most steps is part of them: only the first few are kept.
        ([call for _ in range(40) for call in (("validate", 4), ("step",))], {"evaluation": [40] * 4}),
    ],
)
def test_what_the_own_functions_say(recorded, calls, spans):
    assert recorded(*calls) == spans


def test_a_stretch_ends_where_a_step_shows_that_it_is_over(recorded):
    """The look after it comes late: the step has passed already."""
    assert recorded(("validate", 20), ("step", 0), ("look", 1)) == {"evaluation": [195]}


def test_a_loop_goes_round_where_its_line_goes_back(tmp_path):
    recorder = Recorder(tmp_path / "r")
    sampler = Sampler(recorder.spans, lambda: 0)
    seen = []
    for number in range(1, 4):
        sampler.look(sys._getframe(), 100 * number + 10)  # above the step
        sampler.stepped()
        seen.append(sampler.last_after_step(100 * number))
        sampler.look(sys._getframe(), 100 * number + 50)  # below it
        seen.append(sampler.last_after_step(100 * number))
    assert seen == [0, 0, 0, 250, 0, 350]  # from the second step on, the loop is known
    sampler.here()
    assert sampler.last_after_step(400) > 400
    recorder.close()


@pytest.mark.parametrize(
    ("timed", "sampled", "expected"),
    [
        ([], [(100, 200, 5)], [[100, 200]]),
        ([[110, 190]], [(100, 200, 5)], [[110, 190]]),  # within what looks are apart, the hook knows better
        ([[110, 190]], [(50, 400, 5)], [[50, 400]]),
        ([[110, 150], [160, 190]], [(50, 192, 5)], [[50, 190]]),
        ([[100, 200]], [(120, 150, 5)], [[100, 200]]),
        ([[100, 200]], [(300, 400, 5)], [[100, 200], [300, 400]]),
        ([[100, 101]], [(108, 400, 5)], [[100, 400]]),  # a short call, and the first look after it
        # Looks that were far apart, on a busy machine, are of the one that they overlap.
        ([[100, 200], [300, 400]], [(310, 900, 300)], [[100, 200], [300, 400]]),
    ],
)
def test_what_is_timed_and_what_is_seen_is_one(timed, sampled, expected):
    table = np.array(timed, dtype=np.int64).reshape(-1, 2)
    assert with_sampled(table, [Sampled(*own) for own in sampled]).tolist() == expected


def test_a_wait_that_a_hook_has_timed_is_not_seen_again():
    timed = np.array([[100, 190]], dtype=np.int64)
    assert unseen([Sampled(95, 200, 5), Sampled(300, 400, 5)], timed) == [Sampled(300, 400, 5)]
