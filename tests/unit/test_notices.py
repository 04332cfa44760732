"""How a run ended, by the words of trainers, shells, launchers and schedulers; nothing else counts as an end."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepscope.lines import closing, notices
from stepscope.lines.notices import classify
from tests.unit.logs import report_of, training


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2026-01-02 DUE TO TIME LIMIT ***", "interrupted"),
        ("slurmstepd: error: *** STEP 4711.0 ON n12 CANCELLED AT 2026-01-02 DUE TO PREEMPTION ***", "interrupted"),
        ("/lib/call.py:54: UserWarning: Detected KeyboardInterrupt, attempting graceful shutdown...", "interrupted"),
        ("Detected KeyboardInterrupt, attempting graceful shutdown ...", "interrupted"),
        ('rank_zero_warn("Detected KeyboardInterrupt, attempting graceful shutdown...")', None),
        ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", "interrupted"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some tasks have been OOM Killed.", "oom"),
        ("srun: error: n12: task 3: Out Of Memory", "oom"),
        ("srun: error: n12: task 3: Killed", "killed"),
        ("srun: error: n12: task 0: Exited with exit code 1", "killed"),
        ("=>> PBS: job killed: walltime 3641 exceeded limit 3600", "interrupted"),
        ("=>> PBS: job killed: mem 65012kb exceeded limit 65000kb", "oom"),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.", "interrupted"),
        ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "oom"),
        ("Killed", "killed"),
        ("./go.sh: line 7: 90210 Killed                  python train.py --compile=False", "killed"),
        ("Bus error (core dumped)", "killed"),
        ("Segmentation fault (core dumped)", "killed"),
        ("traceback : Signal 9 (SIGKILL) received by PID 90210", "killed"),
        ("traceback : Signal 15 (SIGTERM) received by PID 90210", "interrupted"),
        ("[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(x=1)", "hang"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "oom"),
        ("RuntimeError: CUDA error: device-side assert triggered", "error"),
        ("torch.distributed.DistBackendError: NCCL error in: init.cpp:12", "error"),
        ("Training of experiment is done and the best AP is 12.30", "done"),
        ("[after training is done] datetime: 2026-01-02 03:04:05", "done"),
        ("120 epochs completed in 3.201 hours.", "done"),
        ("Epoch 41: early stopping", "early_stop"),
        ("Early stopping triggered after 5 evaluations", "early_stop"),
        ("stopping_early: wallclock_cap train_time:600038ms step:13780/20000", "early_stop"),
        ("[INFO] [launch.py:295:sigkill_handler] Main process received SIGINT, exiting", "interrupted"),
        ("[INFO] [launch.py:286:sigkill_handler] Killing subprocess 4711", "killed"),
        ("[ERROR] [launch.py:320:sigkill_handler] Process 4711 exits with return code = -9", "killed"),
        ("RuntimeError: DataLoader worker (pid 47) is killed by signal: Terminated.", "interrupted"),
        ("job 4711 exceeded hard wallclock time", "interrupted"),
        ("    reason: OOMKilled", "oom"),
        ("ResourceExhaustedError: OOM when allocating tensor with shape[64,128]", "oom"),
        ("mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 9 (Killed).", "killed"),
        ("(raylet) A worker died or was killed while executing a task by an unexpected system error.", "killed"),
        ("wandb: Waiting for W&B process to finish... (failed 1). Press Control-C to abort syncing.", "killed"),
        ("wandb: Waiting for W&B process to finish... (success).", "closing"),
        ("Process finished with exit code 0", "closing"),
        ("Check failed: error == cudaSuccess (2 vs. 0)  out of memory", "oom"),
        ("Check failed: error == cudaSuccess (77 vs. 0)  an illegal memory access was encountered", "killed"),
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "killed"),
        # Words that merely name such things:
        ("kill_on_oom = True", None),
        ("NCCL_TIMEOUT=600", None),
        ("except KeyboardInterrupt:", None),
        ("raise RuntimeError('out of memory')", None),
        ("early_stopping_patience = 3", None),
        ("Evaluation done in 3 s", None),
        ("Training complete in 3 s for epoch 4", None),
        ("Finished training: 4096 merges completed", None),
        ("# RuntimeError: is raised when", None),
        ("handlers for SIGTERM installed", None),
        ("exit code: 0", "closing"),
        ("this will be killed by signal handling", None),
        ("the wall time limit is 4 h", None),
    ],
)  # fmt: skip
def test_what_a_line_says_of_the_end(text, kind):
    assert classify(text) == kind


def codes(lines, **flags):
    return {alarm.code: alarm for alarm in report_of(lines, **flags).alarms}


def test_a_time_limit_is_an_interrupt_and_an_early_end():
    words = "slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***"
    found = codes([*training(80), words], max_steps=200)
    assert set(found) == {"interrupted"}


def test_words_after_which_training_went_on_are_no_early_end():
    words = "slurmstepd: error: *** STEP 4711.0 ON n12 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***"
    found = codes([*training(80), words, *training(120, first=81)], max_steps=200)
    assert "ended_early" not in found


def test_an_exception_without_a_traceback_at_the_end_is_a_crash():
    found = codes([*training(80), "RuntimeError: CUDA error: an illegal memory access was encountered"], max_steps=200)
    assert set(found) == {"crash"}


def test_an_exception_that_training_survived_is_none():
    found = codes([*training(40), "ValueError: bad sample, skipped", *training(80, first=41)], max_steps=200)
    assert not found


def test_an_exception_that_python_ignored_is_no_crash():
    lines = [
        *training(80),
        "Exception ignored in: <function Manager.__del__ at 0x7f00>",
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in __del__',
        "AttributeError: 'NoneType' object has no attribute 'close'",
    ]
    assert not codes(lines, max_steps=80)


def test_a_crash_after_the_last_step_is_no_early_end():
    lines = [*training(80), "Traceback (most recent call last):", '  File "a.py", line 3', "OSError: disk full"]
    found = codes(lines, max_steps=80)
    assert set(found) == {"crash"}
    assert found["crash"].severity == "warning"


def test_a_collective_that_timed_out_is_a_hang():
    words = "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(x)"
    found = codes([*training(80), words], max_steps=200)
    assert set(found) == {"hang"}


def yolox(first, last):
    return [
        f"2026-01-02 03:{batch // 60:02d}:{batch % 60:02d}.000 | INFO     | yolox.core.trainer:after_iter:253 - epoch: "
        f"1/2, iter: {batch}/100, mem: 100Mb, iter_time: 1.000s, data_time: 0.001s, total_loss: 9.{batch}, lr: 1e-3"
        for batch in range(first, last + 1, 10)
    ]


YOLOX_DONE = (
    "2026-01-02 03:09:00.000 | INFO     | yolox.core.trainer:after_train:195 - Training of experiment is done and the "
    "best AP is 0.00"
)


def test_done_after_a_crash_is_not_believed():
    """YOLOX prints its closing line from a `finally`."""
    crash = ["Traceback (most recent call last):", '  File "t.py", line 3, in train', "RuntimeError: cuDNN error"]
    found = codes([*yolox(10, 100), YOLOX_DONE, *crash])
    assert {"false_done", "crash"} <= set(found)
    assert found["false_done"].step == 100


def test_done_one_step_early_is_not_believed():
    """Data that ran out: 199 of 200, and every step is printed."""
    found = codes([*training(199), "Done training"], max_steps=200)
    assert set(found) == {"false_done"}


def test_done_at_the_last_printed_step_is_believed():
    assert not codes([*training(195, every=5), "Done training"], max_steps=199)
    assert not codes([*training(200), "Done training"], max_steps=200)


def test_early_stopping_is_no_false_done():
    assert not codes([*training(120), "Early stopping triggered after 5 evaluations", "Done training"], max_steps=200)


def test_a_launch_that_closed_without_a_step_is_told():
    crash = ["Traceback (most recent call last):", '  File "t.py", line 3, in train', "RuntimeError: cuDNN error"]
    found = codes([YOLOX_DONE, *crash, *yolox(10, 100)])
    assert found["false_done"].line == 1
    assert "ended_early" not in found


@pytest.mark.parametrize("notice", notices._NOTICES, ids=lambda notice: notice[0])
def test_no_pattern_matches_a_line_without_its_words(notice):
    """The words are looked for first: a match without any of them would be lost."""
    _, words, pattern = notice

    @given(st.from_regex(re.compile(pattern, re.ASCII)))
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    def check(text):
        if re.search(pattern, text.strip()):
            assert any(word in text for word in words)

    check()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (closing._DONE, closing._DONE_WORDS),
        (closing._CLOSING, closing._CLOSING_WORDS),
        (closing._EARLY_STOP, closing._STOP_WORDS),
    ],
    ids=["done", "closing", "early stop"],
)
def test_no_closing_words_are_lost_for_want_of_a_word(pattern, words):
    @given(st.from_regex(re.compile(pattern, re.ASCII)))
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    def check(text):
        # Odd mixtures of cases are not written by anybody.
        if re.search(pattern, text.strip()) and text in (text.lower(), text.upper(), text.capitalize()):
            assert any(word in text for word in words)

    check()
