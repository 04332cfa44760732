"""Three lines first: what leads depends on how the run is."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.analysis.out_of_memory import memory_asked
from stepscope.analysis.slow_groups import group_slow
from stepscope.i18n import Language, languages
from stepscope.report import markdown, terminal
from stepscope.report.wording.summary import summary_lines
from tests.unit.logs import report_of, run_of, training

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


def test_the_time_left_of_an_assumed_total_says_that_it_is_assumed():
    """nanoGPT's default of 600,000 iterations is few people's total."""
    report = explain(run_of(training(50)), config={"batch_size": 12})
    assert report.run.settings["max_steps"].origin == "default"
    assert "if it runs the trainer’s default of 600,000 iterations" in lines(report)[1]
    assert "default" not in lines(report_of(training(50), max_steps=5000))[1]
    for code in languages():
        assert "600" in summary_lines(report, Language.load(code))[1]


def test_a_total_time_alone_gives_no_range_that_begins_at_zero():
    """`train_runtime` and no time of a step: saves and a start may be in it, and all that is known is that it is not
    more."""
    log = [f"{{'loss': 2.{9 - epoch}, 'learning_rate': 4e-05, 'epoch': {epoch}.0}}" for epoch in range(1, 5)]
    log += ["{'train_runtime': 3200.5, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.6, "
            "'train_loss': 1.9, 'epoch': 4.0}"]  # fmt: skip
    text = screen(report_of(log))
    assert "≤ 53 min" in text
    assert "0–53" not in text


def test_evaluations_inside_the_iterations_are_said_to_be_there():
    """Keras prints one time for an epoch with its validation; where a clock stands still for them, it does not."""
    log = []
    for epoch in range(1, 10):
        log += [
            f"Epoch {epoch}/9",
            "300/300 [==============================] - 995s 3s/step - loss: 1.8 - val_loss: 1.6",
        ]
    for code, words in (
        ("en", "part of training"),
        ("de", "im Training enthalten"),
        ("es", "dentro del"),
        ("fr", "dans l"),
    ):
        assert words in terminal.render(report_of(log), Language.load(code), full=True)
    assert "That includes the evaluations" in terminal.render(report_of(log), Language.load("en"), full=True)
    assert "That includes" not in terminal.render(
        report_of(training(600, evaluate=100)), Language.load("en"), full=True
    )


def test_a_finished_one_says_what_it_took():
    state, time, _ = lines(report_of(training(400, evaluate=100), max_steps=400))
    assert state == "Finished: iteration 400 of 400 (100%)"
    assert time.startswith("Took ")
    assert "per iteration" in time


def test_out_of_memory_names_the_numbers_and_the_batch_that_keeps_the_tokens():
    report = report_of([*training(300, evaluate=100), *TRACEBACK, OOM], batch_size=12, gradient_accumulation_steps=5)
    state, memory, batch, lost = lines(report)
    assert state.startswith("Out of memory after ")
    assert "Tried to allocate 2.5 GiB with 512 MiB of 11.8 GiB free" in memory
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


def stamped(num: int, between_s: float) -> list[str]:
    """One line in ten iterations of 100 ms, so far apart."""
    start = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    times = (start + dt.timedelta(seconds=between_s * number) for number in range(num))
    return [f"{at:%Y-%m-%d %H:%M:%S} iter {10 * n}: loss 2.9, time 100.00ms" for n, at in enumerate(times)]


def modded(last: int, evaluate: int) -> list[str]:
    """A clock that stops for evaluations, as modded-nanogpt prints it."""
    found = []
    for step in range(last + 1):
        mean = f"train_time:{100 * step}ms step_avg:{100 if step else float('nan'):.2f}ms"
        if step % evaluate == 0:
            found.append(f"step:{step}/{last} val_loss:{4 - step / 1000:.4f} {mean}")
        if step < last:
            found.append(f"step:{step + 1}/{last} train_time:{100 * step + 100}ms step_avg:100.00ms")
    return found


def test_what_the_log_does_not_account_for_leads_where_it_is_most():
    report = report_of(stamped(200, 3))
    assert report.ledger.seconds("unlogged") > 300
    assert lines(report)[2].startswith("Biggest cost: 6 min 38 s (67%) that the log does not account for")


def test_of_a_small_cost_and_much_outside_the_log_the_larger_leads():
    """A slow start is no answer to where most of the time went."""
    report = report_of(["2026-02-28 23:59:57 iter 0: loss 2.9, time 20000.00ms", *stamped(200, 3)[1:]])
    assert report.findings
    assert report.ledger.seconds("unlogged") > report.findings[0].seconds
    assert "that the log does not account for" in lines(report)[2]


def test_evaluations_without_a_time_are_not_called_free():
    report = report_of(modded(400, 100))
    assert lines(report)[2] == "Nothing to fix in what the log times; not timed: 5 evaluations"


def test_iterations_that_were_not_recognised_are_said_once_and_how_to_teach_them():
    log = [f"editing took {12 + n % 7}.{n}1 s" for n in range(60)]
    report = report_of(["number of parameters: 123.59M", "step 0: train loss 4.2743, val loss 4.2781", *log])
    state, time, third = lines(report)
    assert state == "Perhaps still running: no iteration was recognised"
    assert "Lines like “editing took" in time
    assert third.endswith("stepscope formats try LOG --suggest")
    assert screen(report).count("Lines like") == 1


def test_a_run_that_died_says_what_came_after_its_best_too():
    log = past_its_best([3.0, 2.0, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0])
    report = report_of([*log, *TRACEBACK, "KeyboardInterrupt"])
    assert report.state.value == "interrupted"
    assert "The validation loss was lowest at iteration 200" in screen(report)


def past_its_best(losses: list[float]) -> list[str]:
    log = []
    for number, loss in enumerate(losses):
        first = 100 * number
        log += [f"step {first}: train loss 2.0000, val loss {loss:.4f}", f"iter {first}: loss 2.9, time 2100.00ms"]
        log += [f"iter {step}: loss 2.9, time {100 + step % 5:.2f}ms" for step in range(first + 1, first + 100)]
    return log


def test_no_iteration_is_normal_where_there_are_two_speeds():
    text = screen(two_speeds())
    assert "A normal iteration" not in text
    assert "The median iteration takes" in text


def test_no_level_is_normal_where_a_slower_stretch_names_another():
    slow = [f"iter {step}: loss 2.9, time {200 + step % 5:.2f}ms" for step in range(300, 900)]
    fast = [f"iter {step}: loss 2.9, time {100 + step % 5:.2f}ms" for step in range(300)]
    text = screen(report_of([*fast, *slow]))
    assert "A normal iteration takes 20" not in text


def test_savings_say_what_they_are_saved_on():
    text = screen(report_of(training(400, evaluate=20), max_steps=4000))
    assert "What to change (savings over the rest of this run)" in text
    text = screen(report_of(training(400, evaluate=20), max_steps=400))
    assert "What to change next time (savings on a run like this)" in text


def test_a_mean_is_called_one_where_it_is_no_normal_iteration():
    """Where iterations take either of two times, the normal one is the more frequent."""
    assert "each on average; finish time needs --max-steps N" in lines(two_speeds())[1]
    assert "per iteration; finish time needs --max-steps N" in lines(report_of(training(600)))[1]


def test_a_run_with_two_speeds_has_something_to_fix():
    report = two_speeds()
    assert report.trend.trend.kind == "two speeds"
    third = lines(report)[2]
    assert third.startswith("Two speeds: ")
    assert "Nothing to fix" not in third
    assert screen(report).count("Two speeds: ") == 1


def test_one_death_is_one_alarm():
    report = report_of([*training(300), *TRACEBACK, "ValueError: bad shard"], max_steps=2000)
    assert {alarm.code for alarm in report.alarms} == {"crash"}
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
    assert "Last line: " in " ".join(screen(report).split())


def two_speeds():
    took = [100.0 + step % 3 if step % 4 else 900.0 + step % 5 for step in range(400)]
    return report_of([f"iter {step}: loss 3.0, time {ms:.2f}ms" for step, ms in enumerate(took)])


def screen(report):
    return terminal.render(report, ENGLISH)


def test_what_is_lost_is_counted_from_the_end_of_the_save():
    """The row that holds the save also holds the evaluation before it: neither has to be done again."""
    log = []
    for step in range(341):
        if step and not step % 100:
            log += [f"step {step}: train loss 2.9, val loss 3.0", "saving checkpoint to out"]
        took = 5000.0 if step and not step % 100 else 100.0
        log.append(f"iter {step}: loss 2.9, time {took:.2f}ms")
    lost = lines(report_of([*log, *TRACEBACK, "ValueError: bad shape"]))[2]
    assert lost.startswith("Lost: 40 iterations (4.1")


def test_a_death_without_a_checkpoint_says_that_all_may_be_lost():
    log = [f"iter {step}: loss 2.9, time 1000.00ms" for step in range(300)]
    lost = lines(report_of([*log, *TRACEBACK, "ValueError: bad shape"]))[2]
    assert lost == "The log shows no checkpoint: without one, all 5 min 0 s are lost".replace("5 min 0 s", "5 min")


def test_only_the_last_iteration_is_all_of_it():
    assert lines(report_of(training(400), max_steps=401))[0].endswith("iteration 400 of 401 (99%)")


def test_the_words_of_a_scheduler_begin_where_they_do():
    words = "iter 51: loss slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***"
    assert ": slurmstepd: error: *** JOB 7 ON n1 CANCELLED" in lines(report_of([*training(50), words]))[1]


def test_of_an_exception_in_a_worker_its_own_words_are_the_cause():
    wrapped = "KeyError: Caught KeyError in DataLoader worker process 0."
    report = report_of([*training(50), *TRACEBACK, wrapped, *TRACEBACK, "KeyError: 'image_column'"])
    assert lines(report)[1].endswith(": KeyError: 'image_column'")


def test_a_slowdown_is_said_once_with_its_cost():
    log = [f"iter {step}: loss 2.9, time {100 if step < 200 else 200 + step % 3}.00ms" for step in range(600)]
    text = " ".join(screen(report_of(log, max_steps=600)).split())
    assert "Biggest cost: slower iterations 200" in text
    assert "slower since" not in text
    assert "no slowdown" not in text


def test_lines_in_a_row_are_a_stretch_not_an_interval():
    log = [f"iter {10 * step}: loss 2.9, time {900 + step if 50 <= step < 55 else 100}.00ms" for step in range(120)]
    report = report_of(log)
    assert "500–540 (5×)" in screen(report)


def test_a_cut_row_of_slow_iterations_drops_whole_parts():
    text = screen(report_of(training(1000, evaluate=100, compile_ms=9000)))
    assert "…" not in text.partition("Slow iterations")[2].partition("What to change")[0]


def test_a_finished_run_is_changed_next_time():
    assert "What to change next time" in screen(report_of(training(400, evaluate=20), max_steps=400))
    assert "next time" not in screen(report_of(training(400, evaluate=20), max_steps=4000))


def test_iterations_that_get_slower_are_no_healthy_run():
    log = [f"iter {step}: loss 2.9, time {100 + step / 50:.2f}ms" for step in range(500)]
    assert "slower" in lines(report_of(log, max_steps=500))[2]


def test_what_was_not_understood_is_not_called_nothing():
    """Sixty lines with a time each may have been iterations: who knows."""
    crash = [*TRACEBACK, "ValueError: no such key"]
    many = [f"editing took {12 + n % 7}.{n}1 s" for n in range(60)]
    state, *_, last = lines(report_of([*many, *crash]))
    assert state == "Crashed; no iteration was recognised"
    assert "Lines like" in last
    state, *_, last = lines(report_of(["loading the model", *crash]))
    assert state == "Crashed before the first iteration"
    assert last == "No training time is lost: no iteration was done"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("step 2 loss 5.22", "Out of memory; no iteration was recognised"),
        ('{"epoch": 0, "step": 5, "loss": 7.12}', "Out of memory; no iteration was recognised"),
        ("step 0 | validation loss 9.31", "Out of memory before the first iteration"),
        ("max_steps 500, label_smoothing 0.1", "Out of memory before the first iteration"),
    ],
)
def test_a_named_step_with_its_loss_was_an_iteration_though_none_was_read(line, said):
    death = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    loss.backward()"]
    death += ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"]
    report = report_of(["loading model", line, *death])
    assert lines(report)[0] == said
