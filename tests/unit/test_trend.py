"""Whether a series gets slower: steady, drifting, changed once, two speeds, or scattered."""

from __future__ import annotations

import numpy as np
import pytest

import stepscope
from stepscope.analysis.trend import find_trend
from stepscope.i18n import Language
from stepscope.report.page_head import cards_of
from tests.consistency import breaches
from tests.unit.logs import full
from tests.unit.logs import report_of as report_of_lines


def trend(values, **options):
    found = find_trend(np.array(values, dtype=float), np.arange(100, 100 * len(values) + 1, 100), **options)
    assert found is not None
    return found


def test_nothing_has_no_trend():
    assert find_trend(np.array([]), np.array([])) is None


def test_one_value_shows_none():
    assert trend([3.1]).kind == "one"


def test_even_values_are_steady_within_their_spread():
    found = trend([1.51, 1.52, 1.50, 1.51, 1.53, 1.52])
    assert found.kind == "steady"
    assert found.within < 0.02


def test_one_slow_step_is_no_lack_of_steadiness():
    assert trend([1.36, 1.37, 1.36, 2.7, 1.36, 1.37, 1.36, 1.35, 1.36]).kind == "steady"


def test_steps_that_double_bit_by_bit_drift():
    found = trend([2.6, 3.0, 3.5, 4.3, 4.4, 4.8, 5.6])
    assert (found.kind, found.first, found.last) == ("drift", 2.6, 5.6)


def test_a_level_that_changes_once_says_since_when():
    found = trend([3.03, 2.72, 2.86, 2.95, 2.83, 3.32, 3.51, 3.28, 3.39])
    assert (found.kind, found.since) == ("jump", 600)
    assert found.change == pytest.approx(0.17, abs=0.03)


def test_a_last_row_far_above_the_others_is_a_new_level():
    found = trend([0.0190, 0.0195, 0.0200, 0.0198, 0.0202, 1.51])
    assert (found.kind, found.since) == ("jump", 600)


def test_steps_of_two_kinds_are_two_speeds():
    found = trend([3, 420, 2.5, 4, 3.1, 510, 2.8, 3.3, 470, 3.6])
    assert found.kind == "two speeds"
    assert found.other == (200, 600, 900)


def test_of_rates_the_lower_ones_are_the_slow_ones():
    found = trend([28.7, 14.9, 27.6, 11.9, 26.4, 13.2, 13.6, 22.3], is_high_slow=False)
    assert found.other == (200, 400, 600, 700)


def test_values_without_order_scatter():
    assert trend([5.9, 3.7, 2.9, 4.3]).kind == "scatter"


def test_a_long_steady_series_stays_steady():
    noise = np.random.default_rng(3).normal(1, 0.03, 5000)
    assert trend(0.2 * noise).kind == "steady"


def said(report):
    return full(report)


def report_of(tmp_path, text):
    path = tmp_path / "pasted.txt"
    path.write_text(text)
    return stepscope.explain(stepscope.read(str(path)))


def test_rates_without_a_batch_size_give_a_relative_change(tmp_path):
    rows = [201, 188, 184, 184, 185, 183, 178, 177, 175, 175, 171, 174]
    text = "".join(
        f"INFO:root:Epoch[0] Batch [{10 * i}]\tSpeed: {rate}.07 samples/sec\n" for i, rate in enumerate(rows, 1)
    )
    found = report_of(tmp_path, text).to_dict()["trend"]
    assert found["rate_unit"] == "samples"
    assert found["change"] == pytest.approx(-0.13, abs=0.03)
    assert "falls from 201 to 174 samples per second" in found["message"]


def test_the_report_answers_slower_and_slower(tmp_path):
    text = "".join(f"iter {i}: loss 3.1, time {300 + 12 * i}.00ms, mfu 20.00%\n" for i in range(3, 20))
    report = report_of(tmp_path, text)
    assert "Iterations get slower: from 336 ms to 528 ms" in said(report)
    assert "No single iteration stands out" in said(report)


def test_a_cliff_that_the_bar_confirms_is_the_speed_of_the_rest(tmp_path):
    rows = [(2100, "00:42", "09:18"), (2200, "00:44", "09:16"), (2300, "00:46", "09:14"), (2400, "00:48", "09:12")]
    rows += [(2500, "00:50", "09:10"), (2600, "00:54", "15:38"), (2700, "03:25", "10:37:00")]
    text = "".join(
        f"Training progress: {n // 300:3d}%|##    | {n}/30000 [{spent}<{left}, 1.0it/s, Loss=0.1]\n"
        for n, spent, left in rows
    )
    report = report_of(tmp_path, text)
    assert report.trend.trend.kind == "jump"
    assert 30_000 < report.forecast.remaining_s < 52_000


def test_a_bar_of_whole_seconds_shows_no_two_speeds(tmp_path):
    lines = [
        f"steps: {step // 16:3d}%|###| {step}/1600 [{int(step * 1.31) // 60:02d}:{int(step * 1.31) % 60:02d}<20:00,  "
        f"1.31s/it, avr_loss=0.09]"
        for step in range(1, 401)
    ]
    path = tmp_path / "bar.log"
    path.write_text("\n".join(lines) + "\n")
    found = stepscope.explain(stepscope.read(path)).trend
    assert found is not None
    assert found.trend.kind == "steady"
    assert found.trend.first == pytest.approx(1.31, rel=0.02)


def test_a_level_by_a_coarse_clock_is_no_tick_of_it(tmp_path):
    """By whole seconds, steps of 1.3 and 1.7 s show as 1 s or 2 s: "2.0 times slower" would be the ticks' factor."""
    spent = [0.0]
    for step in range(1600):
        spent.append(spent[-1] + (1.3 if step < 800 else 1.7))
    lines = [
        f"steps: {step // 40:3d}%|###| {step}/4000 [{int(spent[step]) // 60:02d}:{int(spent[step]) % 60:02d}<20:00,  "
        f"1.31s/it, avr_loss=0.09]"
        for step in range(1, 1601)
    ]
    report = report_of(tmp_path, "\n".join(lines) + "\n")
    assert report.trend.trend.kind == "jump"
    assert report.trend.trend.change == pytest.approx(0.31, abs=0.06)
    assert "90% take" not in full(report)
    speed = next(card for card in cards_of(report, Language.load("en")) if card.kind == "speed")
    assert "90%" not in speed.note


def test_a_normal_iteration_of_two_speeds_is_one_that_happened(tmp_path):
    seconds = [646, 195, 2.9, 14.2, 2.7, 2.3, 2.5, 1.8, 248, 245, 244, 2.6]
    lines = [f"INFO:tensorflow:global step {665 + n}: loss = 1.4688 ({s:.3f} sec/step)" for n, s in enumerate(seconds)]
    report = report_of(tmp_path, "\n".join(lines) + "\n")
    assert report.ledger.step.typical_s == pytest.approx(2.7, rel=0.1)
    assert "Two speeds" in full(report)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([257.0, 355.0, 1148.0], "drift"),
        ([0.617, 6.1], "drift"),
        ([345.0, 319.0, 296.0], "drift"),
        ([175.0, 166.0], "steady"),  # no more than a tenth
        ([3.0, 9.0, 4.0], "scatter"),  # not one way
    ],
)
def test_two_or_three_values_change_where_each_goes_on(values, kind):
    assert trend(values).kind == kind


def run_with(*levels_ms):
    """A report of 300 iterations at each of these levels."""
    times = [level + step % 3 for level in levels_ms for step in range(300)]
    return report_of_lines([f"iter {step}: loss 2.9, time {time:.2f}ms" for step, time in enumerate(times)])


def test_a_run_that_is_fast_again_is_no_slower_one():
    assert trend([100.0] * 40 + [200.0] * 30 + [101.0] * 12).kind != "jump"
    again = run_with(100, 250, 100, 100, 100)
    assert again.to_dict()["trend"]["message"] == "Iterations 300 to 599 took 251 ms, most others 101 ms."
    assert again.to_dict()["trend"]["kind"] == "scatter"
    short = run_with(*[100] * 12, 250, *[100] * 12).to_dict()["trend"]
    assert "except for iterations 3,600 to 3,899, which were slower" in short["message"]
    assert [one.code for one in again.findings] == ["slower"]
    assert breaches(again) == []


def test_trend_alarm_and_finding_tell_of_one_slowdown():
    """Three levels, each slower: one place where it began, one level before and one since."""
    report = run_with(100, 100, 140, 200)
    alarm = next(one for one in report.alarms if one.code == "slowdown").message.args
    finding = next(one for one in report.findings if one.code == "slower").message.args
    said = report.trend.message.args
    assert alarm["step"] == finding["first"] == said["step"] == 600
    assert alarm["after"] == finding["level"] == said["after"]
    assert alarm["before"] == finding["normal"] == said["before"]
    assert breaches(report) == []


def test_a_run_that_was_slow_at_first_is_faster_since():
    report = run_with(250, 100, 100, 100)
    said = report.trend.message.args
    assert said["pace"] == "faster"
    assert said["step"] == pytest.approx(300, abs=8)  # a block of lines
    assert report.trend.trend.first == pytest.approx(0.251, rel=0.01)
    assert breaches(report) == []


def test_whether_rows_come_in_turn_is_asked_of_a_million_rows_too():
    """Their number of choices has a million digits: it took a minute and a half to count them."""
    values = 1 + np.arange(1_000_000) % 3 * 0.001
    assert find_trend(values, np.arange(1_000_000)).kind == "steady"
    values[::4] = 1.3
    assert find_trend(values, np.arange(1_000_000)).kind == "two speeds"
