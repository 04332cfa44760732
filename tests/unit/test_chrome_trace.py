"""Traces of profilers: which events are steps, and what an evaluation inside one is."""

from __future__ import annotations

import json

import pytest

from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import find_document
from stepscope.formats.chrome_trace import to_lines
from stepscope.reading.reader import read

BASE_NS = 1_780_000_000 * 10**9


class Trace:
    """Writes events as PyTorch's profiler does; moments in seconds."""

    def __init__(self) -> None:
        self.events: list[dict[str, object]] = []
        self.now = 1.0

    def span(self, name: str, begin: float, end: float, **more: object) -> None:
        event = {"ph": "X", "cat": "user_annotation", "name": name, "pid": 7, "tid": 7, "ts": begin * 1e6}
        self.events.append(event | {"dur": (end - begin) * 1e6} | more)

    def step(self, name: str, seconds: float, *stops: tuple[str, float], **more: object) -> None:
        """A step that loads, computes and then stops for each of `stops`."""
        begin = self.now
        self.span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, begin + 0.01)
        self.span("aten::mm", begin + 0.01, begin + seconds, cat="cpu_op")
        self.span("Optimizer.step#AdamW.step", begin + seconds - 0.02, begin + seconds)
        self.now += seconds
        for kind, took in stops:
            self.span(kind, self.now, self.now + took)
            self.now += took
        if name:
            self.span(name, begin, self.now, **more)

    def text(self) -> str:
        head = {"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": BASE_NS}
        return json.dumps(head | {"traceEvents": self.events}, indent=2)


def trained(mark: str = "ProfilerStep#{}", **more: object) -> Trace:
    trace = Trace()
    for number in range(100, 140):
        stops = (("evaluation", 1.5), ("save_checkpoint", 0.4)) if number % 10 == 9 else ()
        trace.step(mark.format(number), 0.1, *stops, **{key: {"step_num": str(number)} for key in more})
    return trace


def ledger(tmp_path, text: str) -> dict[str, float]:
    path = tmp_path / "worker0.pt.trace.json"
    path.write_text(text)
    report = explain(read(str(path)))
    assert report.run.format.name == "chrome_trace"
    return {total.phase: round(total.seconds, 3) for total in report.ledger.phases}


def test_marks_of_the_profiler_are_steps_and_stops_inside_them_are_not(tmp_path):
    found = ledger(tmp_path, trained().text())
    assert found == {"step": pytest.approx(3.6, abs=0.03), "evaluation": 6.0, "checkpoint": 1.6, "data": 0.4}
    assert read(str(tmp_path / "worker0.pt.trace.json")).steps.step[[0, -1]].tolist() == [100, 139]


def test_jax_numbers_its_steps_in_an_argument(tmp_path):
    found = ledger(tmp_path, trained("train", args=True).text())
    assert found["evaluation"] == 6.0


def test_without_marks_a_step_ends_with_the_optimizers(tmp_path):
    """The last evaluation comes after the last step, 39 of 40 steps are known."""
    found = ledger(tmp_path, trained("").text())
    assert found["evaluation"] == pytest.approx(6.0, rel=0.01)
    assert found["checkpoint"] == 1.6
    assert found["step"] + found["data"] == pytest.approx(3.9, rel=0.01)


def test_events_that_begin_and_end_apart_and_lists_without_a_head_are_read():
    events = []
    for number in range(5):
        both = {"name": "train_step", "pid": 1, "tid": 1}
        events += [{"ph": "B", "ts": number * 1e6, **both}, {"ph": "E", "ts": number * 1e6 + 5e5, **both}]
    blob = json.dumps(events).encode()
    assert find_document(blob).name == "chrome_trace"
    assert [line.split(" unix_ms")[0] for line in to_lines(blob)] == [f"chrome_trace: step {at}" for at in range(5)]
    assert all("dur_ms 500.0" in line for line in to_lines(blob))


@pytest.mark.parametrize("share", [0.3, 0.77])
def test_a_torn_trace_has_the_steps_that_it_has(share):
    text = trained().text()
    whole, torn = list(to_lines(text.encode())), list(to_lines(text[: int(len(text) * share)].encode()))
    assert 0 < len(torn) < len(whole)
    assert {line for line in torn if ": step" in line} <= set(whole)


@pytest.mark.parametrize("value", ["NaN", "-5", "1e300", '"x"', "true", "null", "[]"])
def test_moments_that_no_clock_shows_are_passed_over(value):
    row = '{"ph": "X", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": %s, "dur": %s}'
    for text in (row % (value, 5), row % (5, value)):
        assert list(to_lines(f'{{"traceEvents": [{text}]}}'.encode())) == []
