"""Three lines first: what leads depends on how the run is."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.out_of_memory import memory_asked
from stepscope.analysis.slow_groups import group_slow
from stepscope.i18n import Language, languages
from stepscope.report import markdown, terminal
from stepscope.report.wording.summary import summary_lines
from tests.unit.logs import report_of, training

ENGLISH = Language.load("en")
NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
OOM = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of "
    "11.75 GiB of which 512.00 MiB is free."
)
TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 301, in <module>']


def lines(report):
    return summary_lines(report, ENGLISH)


def test_a_running_one_says_when_it_will_be_done():
    report = report_of(training(400, evaluate=100), max_steps=2000).asked(now=NOW)
    state, time, loss = lines(report)
    assert state == "Running: iteration 400 of 2,000 (20%)"
    assert time.startswith("3 min ")
    assert "left (" in time
    assert "done at 12:03" in time
    assert loss.startswith("Biggest cost: ")
    assert "evaluations" in loss


def test_a_finished_one_says_what_it_took():
    state, time, _ = lines(report_of(training(400, evaluate=100), max_steps=400))
    assert state == "Finished: iteration 400 of 400 (100%)"
    assert time.startswith("Took ")
    assert "per iteration" in time


def test_out_of_memory_names_the_numbers_and_the_batch_that_keeps_the_tokens():
    report = report_of([*training(300, evaluate=100), *TRACEBACK, OOM], batch_size=12, gradient_accumulation_steps=5)
    state, memory, batch, lost = lines(report)
    assert state.startswith("Out of memory after ")
    assert "2.5 GiB more were needed, 512 MiB of 11.8 GiB were free" in memory
    assert "batch size 6 × accumulation 10" in batch
    assert lost == "Nothing is lost: the last checkpoint is of the last iteration, 300"


@pytest.mark.parametrize(
    "text",
    [
        OOM,
        "Tried to allocate 2.50 GiB (GPU 0; 11.75 GiB total capacity; 9 GiB already allocated; 512.00 MiB free; x)",
    ],
)
def test_the_figures_of_both_of_pytorchs_messages_are_read(text):
    assert memory_asked(text) == (2.5 * 2**30, 512 * 2**20, 11.75 * 2**30)


def test_a_message_without_figures_has_none():
    assert memory_asked("CUDA error: out of memory") is None


def test_a_crash_says_of_what_and_what_is_lost():
    state, cause, lost = lines(report_of([*training(340, evaluate=100), *TRACEBACK, "ValueError: bad shape"]))
    assert state.startswith("Crashed after ")
    assert cause.endswith(": ValueError: bad shape")
    assert lost.startswith("Lost: 40 iterations (")
    assert lost.endswith("since the last checkpoint, at 300")


def test_a_crash_at_the_start_has_nothing_to_lose():
    said = lines(report_of(["number of parameters: 10.65M", *TRACEBACK, "ValueError: bad shape"]))
    assert said[0] == "Crashed before the first iteration"
    assert said[2] == "No training time is lost: no iteration was done"


def test_a_loss_that_is_no_number_is_graver_than_any_cost():
    log = [*training(50), *(f"iter {step}: loss nan, time 100.00ms" for step in range(51, 90))]
    assert lines(report_of(log))[2].startswith("The loss is NaN or infinite from iteration 51 on")


def test_evaluations_at_an_interval_are_one_group():
    report = report_of(training(1000, evaluate=100, compile_ms=9000))
    groups = group_slow(report.run, report.ledger.slow)
    assert groups[0].every == 100
    assert len(groups[0].steps) == 10
    text = str(report)
    assert "every 100 (10×)" in text


def test_slow_steps_of_another_size_are_another_group():
    log = [f"iter {step}: loss 2.9, time {5000 if step in {40, 80} else 900 if step in {23, 57} else 100}ms"
           for step in range(100)]  # fmt: skip
    report = report_of(log)
    assert [[slow.step for slow in group.steps] for group in group_slow(report.run, report.ledger.slow)] == [
        [40, 80],
        [23, 57],
    ]


@pytest.mark.parametrize("code", languages())
def test_a_screen_is_24_lines_of_80_columns(code):
    log = [*training(2000, evaluate=50, compile_ms=20_000), *TRACEBACK, OOM]
    for last in (1, 30, 500, len(log)):
        text = terminal.render(report_of(log[:last], max_steps=5000), Language.load(code))
        assert len(text.splitlines()) <= 24
        assert max(map(len, text.splitlines())) <= 80


def test_a_mean_is_called_one_where_it_is_no_normal_iteration():
    """Where iterations take either of two times, the normal one is the more frequent."""
    assert "per iteration on average; finish time: pass --max-steps N" in lines(two_speeds())[1]
    assert "per iteration; finish time: pass --max-steps N" in lines(report_of(training(600)))[1]


def test_a_run_with_two_speeds_has_something_to_fix():
    report = two_speeds()
    assert report.trend.trend.kind == "two speeds"
    third = lines(report)[2]
    assert third.startswith("Two speeds: ")
    assert "Nothing to fix" not in third
    assert screen(report).count("Two speeds: ") == 1


def test_one_death_is_one_alarm():
    report = report_of([*training(300), *TRACEBACK, "ValueError: bad shard"], max_steps=2000)
    assert {alarm.code for alarm in report.alarms} == {"crash", "ended_early"}  # the document keeps both
    for text in (terminal.render(report, ENGLISH, full=True), markdown.render(report, ENGLISH)):
        assert "bad shard" in text
        assert "ended early" not in text


def test_no_row_of_the_screen_is_nothing():
    """What is written as 0.0% takes a line and says nothing; --full has it."""
    report = report_of([*training(3000, step_ms=1000.0), "iter 3001: loss 3.0, time 2400.00ms"])
    ledger = screen(report).partition("Slow iterations")[0]
    assert "unexplained" not in ledger
    assert "0.0%" not in ledger
    assert "0.0%" in terminal.render(report, ENGLISH, full=True)


def test_a_sentence_ends_once():
    noise = [f"wandb: step {number} of something in use." for number in range(200)]
    text = " ".join(screen(report_of([*noise, *training(300)])).split())
    assert "were not understood" in text
    assert ".." not in text


def test_stamps_too_coarse_to_tell_what_is_usual_are_not_quoted():
    rows = [f"2026-03-01 10:00:0{step // 100} iter {step}: loss 3.0, time 10.00ms" for step in range(400)]
    report = report_of(rows).asked(fallback_now=NOW + dt.timedelta(days=3))
    assert report.state.value == "stopped"
    assert "0 s between" not in screen(report)
    assert "last written at" in " ".join(screen(report).split())


def two_speeds():
    took = [100.0 + step % 3 if step % 4 else 900.0 + step % 5 for step in range(400)]
    return report_of([f"iter {step}: loss 3.0, time {ms:.2f}ms" for step, ms in enumerate(took)])


def screen(report):
    return terminal.render(report, ENGLISH)
