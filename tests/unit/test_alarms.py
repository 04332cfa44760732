"""Alarms are raised by what happened, and by nothing that merely names it."""

from __future__ import annotations

import pytest

from tests.unit.logs import report_of, training

RUN = training(200, evaluate=50)


def codes(lines):
    return {alarm.code for alarm in report_of(lines).alarms}


def test_a_nan_loss():
    report = report_of([*RUN, "iter 201: loss nan, time 100.00ms", "iter 202: loss inf, time 100.00ms"])
    alarm = next(alarm for alarm in report.alarms if alarm.code == "nan")
    assert (alarm.step, alarm.severity) == (201, "error")
    assert alarm.message.args["count"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.46 GiB.",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB",
    ],
)
def test_out_of_memory(line):
    lines = [*RUN, "Traceback (most recent call last):", '  File "train.py", line 1, in <module>', line]
    assert codes(lines) == {"oom"}


def test_a_traceback():
    lines = [*RUN, "Traceback (most recent call last):", "  File", "ZeroDivisionError: division by zero"]
    assert codes(lines) == {"crash"}


@pytest.mark.parametrize(
    "line",
    [
        "KeyboardInterrupt",
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15",
    ],
)
def test_an_interrupt(line):
    assert codes([*RUN, "Traceback (most recent call last):", "  File", line]) == {"interrupted"}


def test_a_finished_run_did_not_end_early():
    lines = ["Overriding: max_iters = 200", *RUN, "Traceback (most recent call last):", "  File", "OSError: disk full"]
    assert codes(lines) == {"crash"}


@pytest.mark.parametrize(
    "line",
    [
        "grad_norm_skip_threshold = inf",
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1",
        "oom_retries = 3",
        "ENV[PYTORCH_CUDA_ALLOC_CONF] = expandable_segments:True  # avoids CUDA out of memory",
        "on KeyboardInterruptHandler installed",
        "loss_nan_check: enabled",
        "skip_nan = True",
        "exception_policy: Killed workers are restarted",
    ],
)
def test_words_are_no_alarm(line):
    """Before, between and after the steps."""
    assert codes([line, *RUN[:50], line, *RUN[50:], line]) == set()


def test_a_loss_that_does_not_move_is_not_ours():
    assert codes([f"iter {i}: loss 3.0000, time 100.00ms" for i in range(300)]) == set()


def test_a_log_that_merely_stops_has_not_ended():
    assert codes(["Overriding: max_iters = 100000", *RUN]) == set()


def test_a_lasting_slowdown():
    assert codes(training(500) + training(1000, first=501, step_ms=140)) == {"slowdown"}
    assert codes(training(500) + training(1000, first=501, step_ms=115)) == set()


def test_a_torn_traceback_names_no_exception():
    """A word that happens to stand where the exception should is not shown as one."""
    report = report_of(
        [*RUN, "Traceback (most recent call last):", '  File "x"', "torch", "iter 201: loss 3.0, time 100.00ms"]
    )
    assert "torch" not in {alarm.message.args.get("text") for alarm in report.alarms}


def test_an_evaluation_before_the_first_step_contradicts_no_interval():
    """llm.c evaluates before step 1 and then every 50 steps: the first spacing is 49."""
    lines = ["| val_loss_every        | 50                                                 |", "val loss 11.000000"]
    for step in range(1, 171):
        lines.append(
            f"step {step:4d}/400 | loss {9 - step / 100:.6f} (+nanz)| norm 1.0000 (+nanz)| lr 1.00e-04 | 100.00 ms | "
            "20.0% bf16 MFU | 52000 tok/s"
        )
        if step % 50 == 0:
            lines.append("val loss 9.000000")
    report = report_of(lines)
    assert report.run.format.name == "llm_c"
    assert not [alarm for alarm in report.alarms if alarm.code == "contradiction"]
    assert report.run.settings.count("eval_interval") == 50
