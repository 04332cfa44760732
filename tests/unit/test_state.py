"""The state of a run: one answer about its end, which the forecast, the alarms and the reports share."""

from __future__ import annotations

import datetime as dt
import os

import pytest

from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.forecast.finish import Forecast
from stepscope.lines.closing import closing_words
from stepscope.reading.reader import read
from stepscope.run.ending import find_ending
from tests.unit.logs import report_of, training

TRACEBACK = ["Traceback (most recent call last):", '  File "/srv/run.py", line 12, in work', "    return go()"]
TRAIN = ["Traceback (most recent call last):", '  File "/srv/train.py", line 12, in work', "    return go()"]


def caffe(last, every=100, total=1050):
    lines = [f"max_iter: {total}", f"display: {every}"]
    for step in range(0, last + 1, every):
        minute, second = divmod(step * 4 // 5, 60)
        lines.append(f"I0601 10:{minute:02d}:{second:02d}.000000  77 solver.cpp:228] Iteration {step}, loss = 1.0")
    return lines


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Training complete", "done"),
        ("Training COMPLETE", "done"),
        ("Optimization Done.", "done"),
        ("run complete @ step 9000: 12 min", "done"),
        ("Solving done ...", "done"),
        ("Total training time: 4:00:00", "closing"),
        ('{"key": "run_stop", "value": null, "metadata": {"lineno": 7, "status": "success"}}', "done"),
        ('{"key": "run_stop", "value": null, "metadata": {"lineno": 7, "status": "aborted"}}', None),
        ("`Trainer.fit` stopped: `max_epochs=10` reached.", "done"),
        ("Treinamento concluído com sucesso", "done"),
        ("训练完成", "done"),
        ("[train] done. best_val=2.39", "done"),
        ("3:49:24 - Training of the linear classifier on frozen features completed.", "done"),
        ("[LightGBM] [Info] Finished training", "done"),
        ("학습 종료!", "done"),
        ("Training selesai.", "done"),
        ("Обучение завершено", "done"),
        ("[EARLY STOP] No improvement, stopping training.", "early_stop"),
        ("Test accuracy: 0.91", "closing"),
        ("Models saved to out/", "closing"),
        ("Training of epoch 3 is not done", None),
        ("Done!", "closing"),
        ("Finished", "closing"),
        ("Saved final model to out/", "closing"),
        ("Process 4711 exits successfully.", "closing"),
        ("warmup done", None),
        ("evaluation complete", None),
        ("Download complete.", None),
        ("Training epoch 3 done", None),
        ("tokenizer training finished", None),
        ("Training is not finished", None),
    ],
)
def test_words_of_an_end(text, kind):
    assert closing_words(text) == kind


def test_a_last_step_that_is_not_printed_is_done_when_the_log_says_so():
    report = report_of([*caffe(1000), "I0601 10:14:00.100000  77 solver.cpp:543] Optimization Done."])
    assert report.state[:2] == ("finished", 1050)
    assert isinstance(report.forecast, Forecast)
    assert report.forecast.is_finished
    assert report.forecast.remaining_s == 0
    assert not report.alarms


def test_the_last_printed_of_steps_counted_from_0_is_not_short():
    report = report_of([*caffe(900, total=1000), "Solving done ..."])
    assert report.state[:2] == ("finished", 1000)
    assert not report.alarms


def test_without_the_words_a_step_is_left():
    report = report_of(caffe(1000))
    assert report.state.value == "unknown"
    assert not report.forecast.is_finished


def test_words_that_ended_nothing_before_end_nothing_now():
    lines = [*training(40), "Early stopping triggered after 3 epochs", *training(80, first=41)]
    report = report_of([*lines, "Early stopping triggered after 7 epochs"], max_steps=200)
    assert report.state.value == "unknown"
    assert (
        report_of([*training(80), "Early stopping triggered after 7 epochs"], max_steps=200).state.value == "finished"
    )


def test_a_stage_that_is_done_does_not_end_a_run_with_steps_left():
    assert report_of([*training(80), "Done."], max_steps=200).state.value == "unknown"
    assert report_of([*training(80), "Done."]).state.value == "finished"


def test_a_finished_run_without_a_total_is_not_asked_for_one():
    report = report_of([*training(80), "run complete @ step 81"])
    assert report.forecast.reason.key == "reason-over-state-words"
    assert str(report).startswith("Finished: iteration 80")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([*TRACEBACK, "ValueError: bad"], "crashed"),
        ([*TRACEBACK, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB"], "out_of_memory"),
        (["slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***"], "interrupted"),
        (["./go.sh: line 7: 90210 Killed                  python train.py"], "killed"),
    ],
)
def test_deaths(words, value):
    report = report_of([*training(80), *words], max_steps=200)
    assert report.state[:2] == (value, 80)
    assert report.has_ended
    assert not report.forecast.is_finished


def test_several_messages_about_one_death_are_one_alarm():
    lines = [
        *training(80),
        *TRACEBACK,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB",
        *TRACEBACK,
        "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.",
        "srun: error: n12: task 0: Exited with exit code 1",
    ]
    report = report_of(lines, max_steps=200)
    assert [alarm.code for alarm in report.alarms if alarm.code != "ended_early"] == ["oom"]


def test_ray_quotes_the_exception_of_its_worker():
    lines = [
        *training(80),
        *TRACEBACK,
        "ray.exceptions.RayTaskError(ValueError): ray::Runner.run() (pid=3, ip=10.0.0.1)",
        '  File "/srv/b.py", line 3, in run',
        "ValueError: shape mismatch",
    ]
    assert "shape mismatch" in str(next(alarm for alarm in report_of(lines).alarms if alarm.code == "crash").message)


def test_a_warning_that_quotes_a_traceback_is_no_crash():
    head = "W0530 14:48:26.433000 77 site-packages/torch/_dynamo/convert_frame.py:1233] "
    quoted = [head + text for text in ("WON'T CONVERT forward", *TRACEBACK, "torch.exc.Failed: backend raised:")]
    assert not report_of([*quoted, *training(80)], max_steps=80).alarms


def test_an_interruption_of_an_earlier_launch_is_not_the_end():
    lines = [*training(80), "KeyboardInterrupt", *training(120, first=0)]
    assert "interrupted" not in {alarm.code for alarm in report_of(lines, max_steps=200).alarms}


@pytest.mark.parametrize(
    "words",
    [
        [*TRAIN, "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB"],
        [*TRAIN, "KeyError: 'config'"],
        ["[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)"],
        ["loading 4 GPU shards", "learning rate 0.1, batch size 4", "training", "Segmentation fault (core dumped)"],
    ],
)
def test_a_death_before_the_first_step_is_an_answer(tmp_path, words):
    log = tmp_path / "err.log"
    log.write_text("\n".join(["starting", *words]) + "\n")
    report = explain(read(str(log)))
    assert report.state.value in {"crashed", "out_of_memory"}
    assert report.alarms
    assert not report.has_times
    assert report.to_dict()["state"]["step"] is None


@pytest.mark.parametrize("words", [["hello"], ["flask up", *TRACEBACK, "KeyError: 'user'"]])
def test_a_text_without_a_training_stays_none(tmp_path, words):
    log = tmp_path / "web.log"
    log.write_text("\n".join(words) + "\n")
    with pytest.raises(InputError):
        read(str(log))


@pytest.mark.parametrize(("age_s", "value"), [(5, "running"), (600, "unknown"), (90_000, "stopped")])
def test_a_log_that_just_stops_is_judged_by_how_long_ago(tmp_path, age_s, value):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(80)) + "\n")
    os.utime(log, (1_700_000_000, 1_700_000_000))
    present = dt.datetime.fromtimestamp(1_700_000_000 + age_s).astimezone()
    assert explain(read(str(log)), fallback_now=present).state.value == value


def test_text_glued_to_the_last_bar_is_a_line_of_its_own():
    lines = []
    for step in range(1, 41):
        clock = f"{step // 60:02d}:{step % 60:02d}"
        lines.append(f"{step * 100 // 40}%|####      | {step}/40 [{clock}<00:00,  1.00s/it]")
        if step % 10 == 0 and step < 40:
            lines.append(f"{{'loss': 0.5, 'grad_norm': 0.3, 'learning_rate': 1e-05, 'epoch': 0.{step}}}")
    report = report_of("\n".join(lines) + "loggerlib: something happened\n")
    assert report.state[:2] == ("finished", 40)


def deepspeed(last, skipped):
    return [
        f"[2026-02-03 04:{step // 60:02d}:{step % 60:02d},000] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, "
        f"skipped={skipped(step)}, lr=[1e-05], mom=[(0.9, 0.95)]"
        for step in range(10, last + 1, 10)
    ]


def codes(report):
    return [alarm.code for alarm in report.alarms]


def test_all_optimizer_steps_skipped():
    report = report_of(deepspeed(900, lambda step: step))
    assert codes(report) == ["skipped_steps"]
    assert report.alarms[0].message.args["count"] == report.alarms[0].message.args["total"] == 900
    assert codes(report_of(deepspeed(900, lambda step: min(step, 4)))) == []


def test_optimizer_steps_skipped_up_to_the_end():
    report = report_of(deepspeed(900, lambda step: max(0, step - 600)))
    assert codes(report) == ["skipped_steps"]
    assert report.alarms[0].step == 610
    assert codes(report_of(deepspeed(900, lambda step: min(step, 100)))) == []


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("[launch.py:90:sigkill_handler] Main process received SIGINT, exiting", "interrupted"),
        ("[launch.py:80:sigkill_handler] Killing subprocess 4711", "killed"),
        ("[utils.py:31:note] torch.OutOfMemoryError was caught, batch halved", "unknown"),
    ],
)
def test_a_launchers_last_words_count_in_the_trainers_own_lines_too(words, state):
    """DeepSpeed's launcher prints through the logger whose other lines the format passes over."""
    lines = [*deepspeed(300, lambda _: 0), f"[2026-02-03 04:05:09,000] [INFO] {words}"]
    assert report_of(lines).state.value == state


@pytest.mark.parametrize("skipped", [0, 10])
def test_skipped_iterations_of_megatron_are_counted_in_bulk_too(skipped):
    lines = [
        f" samples/sec: 85.4 | iteration {step:8d}/ 9000 | elapsed time per iteration (ms): 600.1 | learning rate: "
        f"4.2E-04 | approx flops per GPU: 55.2TFLOPS | lm_loss: 4.45E+00 | loss scale: 4096.0 | number of skipped "
        f"iterations: {skipped:3d} | number of nan iterations:   0 |"
        for step in range(10, 9001, 10)
    ]
    assert codes(report_of(lines)) == (["skipped_steps"] if skipped else [])


def test_one_line_per_skipped_step_is_counted():
    words = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}.0"
    lines = [text for step in range(80) for text in (*training(step, first=step), words.format(2 ** (step % 7)))]
    assert codes(report_of(lines, max_steps=200)) == ["skipped_steps"]
    few = [text for step in range(80) for text in (*training(step, first=step), *([words.format(step)] * (step < 5)))]
    assert codes(report_of(few, max_steps=200)) == []


def test_nan_in_lines_that_the_format_does_not_read():
    lines = [text for step in range(40) for text in (*training(step, first=step), "aux mean_loss: nan")]
    assert codes(report_of(lines, max_steps=200)) == ["nan"]
    quiet = [text for step in range(40) for text in (*training(step, first=step), "best_loss: nan", "nan_count=0")]
    assert codes(report_of(quiet, max_steps=200)) == []


def test_nan_that_passes_is_said_to():
    lines = [f"iter {step}: loss nan, time 100.00ms" for step in range(5)] + training(80, first=5)
    alarm = report_of(lines, max_steps=200).alarms[0]
    assert (alarm.code, alarm.severity, alarm.message.args["later"]) == ("nan", "warning", 5)


def test_words_of_a_stage_before_the_next_epoch_end_nothing():
    assert report_of([*training(80), "Done."]).state.value == "finished"
    assert report_of([*training(80), "Done.", "Training epoch: 2"]).state.value == "unknown"


def hf_bar(step, seconds, total=8):
    return f"{step * 100 // total}% {step}/{total} [00:{seconds:02d}<00:00,  1.10s/it]"


def hf_total(seconds):
    return (
        f"{{'train_runtime': {seconds}, 'train_samples_per_second': 0.7, 'train_steps_per_second': 0.7, "
        "'train_loss': 1.5, 'epoch': 1.0}"
    )


def test_totals_stated_again_without_a_step_between_are_trainings_of_their_own():
    """Short trainings in a row, of which a notebook keeps the closing bar only."""
    times = (11.31, 9.34, 9.33, 9.32)
    lines = [text for seconds in times for text in (hf_total(seconds), hf_bar(8, int(seconds)))]
    assert report_of(lines).run.num_trainings == 4


def test_a_bar_drawn_again_when_it_closes_is_no_training():
    lines = [hf_bar(step, step) for step in range(1, 9)]
    loss = "{'loss': 0.5, 'grad_norm': 0.3, 'learning_rate': 1e-05, 'epoch': 0.5}"
    lines = [*lines[:4], loss, *lines[4:], hf_total(8.4), hf_bar(8, 8)]
    run = report_of(lines).run
    assert (run.num_trainings, len(run.segments), len(run)) == (1, 1, 8)


def imagenet(epochs, batches, every=10):
    """An evaluation after each epoch; its last batches are not printed."""
    lines = []
    for epoch in range(epochs):
        lines += [
            f"Epoch: [{epoch}][{batch}/{batches}]\tTime 0.200 (0.200)\tData 0.001 (0.001)\tLoss 2.1 (2.2)"
            for batch in range(0, batches, every)
        ]
        lines += ["Test: [0/20]\tTime 0.500 (0.500)\tLoss 1.9 (1.9)", " * Acc@1 61.000 Acc@5 83.000"]
    return lines


def test_a_run_whose_last_row_and_last_evaluation_are_there_is_finished():
    """No further row would be printed: 25 of 30 batches is the last that is."""
    lines = ["Namespace(epochs=4, lr=0.1)", *imagenet(4, 29)]
    assert report_of(lines).state.value == "finished"
    assert report_of(lines[:-2]).state.value == "unknown"  # the evaluation is still to come


@pytest.mark.parametrize(
    ("last", "evaluate", "value"), [(400, 50, "finished"), (400, 4, "stopped"), (410, 50, "stopped")]
)
def test_a_log_that_falls_silent_after_a_rare_evaluation_is_over(tmp_path, last, evaluate, value):
    """An evaluation in every fourth row is no sign, and neither is a log that ends between two of them."""
    lines = []
    for step in range(1, last + 1):
        lines.append(f"step {step} loss 2.5 time 0.4s")
        if step % evaluate == 0:
            lines.append("val loss 2.61")
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines) + "\n")
    os.utime(log, (1_700_000_000, 1_700_000_000))
    present = dt.datetime.fromtimestamp(1_700_090_000).astimezone()
    assert explain(read(str(log)), fallback_now=present).state.value == value
    assert explain(read(str(log)), fallback_now=present - dt.timedelta(seconds=89_995)).state.value == "running"


def test_a_test_that_comes_once_ends_a_run():
    assert report_of([*training(80), "Test accuracy: 0.91"]).state.value == "finished"
    often = [line for step in range(80) for line in (*training(step, first=step), "Test accuracy: 0.9")]
    assert report_of(often).state.value == "unknown"


@pytest.mark.parametrize("after", [0, 2, 9])
def test_a_job_that_is_cancelled_may_still_print_a_row_or_two(after):
    lines = [
        f"2024-05-06 11:{n // 6:02d}:{n % 6 * 10:02d} step {n * 10}/5000 loss: {2 - n / 99:.4f}" for n in range(1, 70)
    ]
    lines.insert(len(lines) - after, "slurmstepd: error: *** JOB 4711 ON node7 CANCELLED AT 2024-05-06T11:11:20 ***")
    report = report_of(lines)
    ended = find_ending(report.run)
    is_end = after < 9
    assert (ended is not None and ended.value == "interrupted") == is_end
    assert ("interrupted" in {alarm.code for alarm in report.alarms}) == is_end
    assert not is_end or "ended_early" not in {alarm.code for alarm in report.alarms}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Finish Training", "done"),
        ("fairseq_cli.train | done training in 86.2 seconds", "done"),
        ("Early stopping", "early_stop"),
        ("EarlyStopping counter: 2 out of 3", None),
        ("[EARLY STOP] Validation did not improve for 10 epochs.", "early_stop"),
        ("[EARLY STOP] no improvement 3/10", None),
        ("-------------train finish-------------", "done"),
        ("Finish training epoch 3", None),
        ("we train finish lines", None),
    ],
)
def test_the_end_in_other_words(text, kind):
    assert closing_words(text) == kind
