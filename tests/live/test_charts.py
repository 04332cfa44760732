"""Charts of the live screen: what the axis says is what the curve shows, and nothing is drawn of nothing."""

from __future__ import annotations

import pytest

from stepscope.i18n import Language, languages
from stepscope.report.live_charts import HEIGHT, Panels, charts, gpu_history
from stepscope.source.hardware import Hardware
from tests.unit.logs import report_of, training

ENGLISH = Language.load("en")


def drawn(report, width=100, panels=Panels(), language=ENGLISH):
    return [line.plain for line in charts(report, language, width, panels)]


def test_step_times_and_losses_lie_side_by_side_with_their_axes():
    lines = drawn(report_of(training(400, evaluate=100), max_steps=2000))
    assert len(lines) == HEIGHT
    assert "time per iteration" in lines[0]
    assert "loss " in lines[0]
    assert "100 ms┤" in lines[5]
    assert lines[7].split() == ["321", "400", "0", "400"]
    assert any("●" in line for line in lines[1:6])


def test_a_wider_span_begins_earlier_and_ends_with_the_log():
    report = report_of(training(400), max_steps=2000)
    begins = [int(drawn(report, panels=Panels(span=span))[7].split()[0]) for span in (1, 2, 4, 8)]
    assert begins == sorted(begins, reverse=True)
    assert begins[-1] in {0, 1}


def test_a_slow_step_is_the_top_of_the_axis():
    report = report_of([f"iter {n}: loss 2.9, time {6000 if n == 60 else 170}.00ms" for n in range(100)])
    lines = drawn(report)
    assert "6.00 s┤" in lines[1]
    assert "170 ms┤" in lines[5]


def test_equal_times_are_a_flat_line_in_the_middle():
    lines = drawn(report_of([f"iter {n}: loss 2.9, time 170.00ms" for n in range(100)]))
    dots = [any("\u2801" <= sign <= "\u28ff" for sign in line) for line in lines[1:6]]
    assert dots == [False, False, True, False, False]


def test_an_even_axis_has_one_unit():
    """From 0.8 to 1.2 s: not "800 ms" below "1.20 s"."""
    lines = drawn(report_of([f"iter {n}: loss 2.9, time {800 + 4 * n}.00ms" for n in range(100)]))
    labels = [line.split("┤")[0].strip() for line in lines[1:6] if "┤" in line]
    assert {label.split()[1] for label in labels} == {"s"}


def test_nothing_is_drawn_of_too_little():
    assert drawn(report_of(training(2))) == []
    assert drawn(report_of(training(400)), width=20) == []


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("width", [40, 60, 80, 110])
def test_no_line_is_wider_than_the_screen(code, width):
    report = report_of(training(400, evaluate=100), max_steps=2000)
    assert all(len(line) <= width for line in drawn(report, width, language=Language.load(code)))


def test_the_span_ends_where_the_log_does():
    panels = Panels()
    for _ in range(20):
        panels = panels.wider(100)
    assert panels.span == 128
    for _ in range(20):
        panels = panels.narrower()
    assert panels == Panels()


def test_the_gpus_last_minutes_are_strips_of_what_is_known():
    seen = [Hardware(utilisation=share / 10) for share in range(10)]
    lines = [line.plain for line in gpu_history(seen, ENGLISH, 60)]
    assert lines == ["▁▂▂▃▄▅▅▆▇▇  GPU load"]
    assert gpu_history(seen[:2], ENGLISH, 60) == []
