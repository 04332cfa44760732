"""Several trainings, restarts and writers in one log; all lines invented."""

from __future__ import annotations

import pytest

from stepscope.report.json import document
from tests.unit.logs import report_of, run_of, training


def nanochat(first, last, *, total=None, ms=500.0):
    of = f"/{total:05d}" if total else ""
    return [
        f"step {step:05d}{of} ({step / (total or 900):.2%}) | loss: 2.5{step % 7}0311 | lrm: 1.00 | dt: {ms:.2f}ms |"
        f" tok/sec: 1,048,576 | mfu: 41.20 | total time: 0.10m"
        for step in range(first, last + 1)
    ]


def codes(report):
    return [alarm.code for alarm in report.alarms]


PHASES = [
    "Calculated number of iterations from target data:param ratio: 60",
    "Step 00000 | Validation bpb: 3.1",
    *nanochat(0, 59, total=60, ms=800),
    "Step 00059 | Validation bpb: 1.1",
    "Training mixture: 12,000 rows (MMLU x3)",
    "Step 00000 | Validation bpb: 0.9",
    *nanochat(1, 40, ms=300),
]


def test_phases_are_trainings_of_their_own():
    """nanochat counts each phase from 0: the answer is about the last one, and no work was lost."""
    report = report_of(PHASES)
    run = report.run
    assert [segment.training for segment in run.segments] == [0, 1]
    assert report.ledger.step.typical_s == pytest.approx(0.3)
    assert report.ledger.wall_s == pytest.approx(60 * 0.8 + 40 * 0.3, rel=0.01)
    assert codes(report) == ["trainings"]


def test_the_total_of_one_phase_is_not_the_next_ones():
    """Fine-tuning prints only which share of about 900 steps is done: base training's 60 must not be taken for it."""
    report = report_of(PHASES)
    assert report.run.settings.count("max_steps") == pytest.approx(900, abs=10)
    assert document(report)["forecast"]["max_steps"] > 60


def test_evaluations_belong_to_their_own_training():
    answer = document(report_of(PHASES))
    assert answer["source"]["trainings"] == [
        {"line": 3, "first_step": 0, "last_step": 59, "segments": 1},
        {"line": 66, "first_step": 1, "last_step": 40, "segments": 1},
    ]
    assert answer["cadence"]["evaluation"]["last"] == 0


def test_a_second_run_in_the_file_is_another_training():
    """The first one was done; the second has another total."""
    lines = ["max_iters = 200", *training(200, step_ms=100), "max_iters = 400", *training(150, step_ms=50)]
    report = report_of(["Overriding: max_iters = 200", *lines[1:202], "number of parameters: 1.00M", *lines[202:]])
    assert report.run.num_trainings == 2
    assert report.ledger.step.typical_s == pytest.approx(0.05)
    assert "restarted" not in codes(report)


def test_a_run_that_crashed_and_began_anew_is_one_training():
    """What was done before the crash was done twice: 81 steps of 100 ms."""
    crash = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "ValueError: no"]
    report = report_of(["Overriding: max_iters = 200", *training(80), *crash, *training(120)])
    assert report.run.num_trainings == 1
    assert len(report.run.segments) == 2
    (alarm,) = [alarm for alarm in report.alarms if alarm.code == "restarted"]
    assert alarm.message.args["count"] == 81
    assert alarm.message.args["lost"].value == pytest.approx(8.1)
    assert report.forecast.schedule.num_steps == 80


def test_a_resume_loses_what_came_after_the_checkpoint():
    """Resumed at 60 after 80, printing every fifth step: 21 steps of 100 ms were done again."""
    lines = [*training(80, every=5), "Resuming training from out", *training(100, first=60, every=5)]
    report = report_of(lines, max_steps=200)
    (alarm,) = [alarm for alarm in report.alarms if alarm.code == "restarted"]
    assert (alarm.message.args["count"], alarm.step) == (21, 60)
    assert alarm.message.args["lost"].value == pytest.approx(2.1)
    assert report.forecast.remaining_s == pytest.approx(10.0, rel=0.02)


def llama_factory(first, last, *, total, start_s=0, every=5, pace=2):
    return [
        f'{{"current_steps": {step}, "total_steps": {total}, "loss": 1.{step:04d}, "lr": 1e-05, "epoch": 0.1,'
        f' "percentage": 1.0, "elapsed_time": "0:{(start_s + (step - first + every) * pace) // 60:02d}:'
        f'{(start_s + (step - first + every) * pace) % 60:02d}", "remaining_time": "0:00:10"}}'
        for step in range(first, last + 1, every)
    ]


def test_a_resume_restarts_the_clock_but_not_the_step():
    """LLaMA-Factory's clock is the session's: the pace after a resume is still two seconds."""
    lines = [*llama_factory(5, 200, total=400), *llama_factory(205, 300, total=400)]
    report = report_of(lines)
    assert len(report.run.segments) == 2
    assert report.run.num_trainings == 1
    assert report.ledger.step.typical_s == pytest.approx(2.0)
    assert report.forecast.remaining_s == pytest.approx(200, rel=0.03)


def test_a_total_changed_on_resume_is_the_one_that_counts():
    """mmaction2 showed a negative ETA; here the later total holds, and nothing is below zero."""
    lines = [*llama_factory(5, 200, total=220), *llama_factory(205, 300, total=400)]
    report = report_of(lines)
    assert report.run.settings.count("max_steps") == 400
    assert report.forecast.remaining_s == pytest.approx(200, rel=0.03)


def interleaved(one, other, every=2):
    """Lines of two writers, `every` of the first to one of the second."""
    found = []
    rest = list(other)
    for index, line in enumerate(one):
        found.append(line)
        if index % every == every - 1 and rest:
            found.append(rest.pop(0))
    return found


def test_two_untagged_writers_are_told_apart():
    """One process prints 100 ms a step, a forgotten second one 200 ms: no step counts twice."""
    lines = interleaved(training(99, step_ms=100), training(49, step_ms=200), every=2)
    report = report_of(lines)
    assert len(report.run.segments) == 1
    assert len(report.run) == 100
    assert report.run.num_other_rows == 50
    assert report.ledger.step.typical_s == pytest.approx(0.1)
    assert "writers" in codes(report)
    assert "restarted" not in codes(report)


def test_two_untagged_writers_at_the_same_pace():
    lines = interleaved(training(60, step_ms=100), training(60, step_ms=101), every=1)
    report = report_of(lines)
    assert (len(report.run.segments), len(report.run)) == (1, 61)
    assert report.ledger.wall_s == pytest.approx(6.1, rel=0.03)


def test_when_the_first_writer_ends_the_second_is_the_run():
    lines = interleaved(training(40, step_ms=100), training(200, step_ms=200), every=1)
    lines += training(200, first=41, step_ms=200)
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 200


def test_the_same_lines_twice_count_once():
    """Git conflict markers leave both sides in the file."""
    lines = [f"iter {step}: loss 3.{step:04d}, time {100 + step * 37 % 11}.{step % 7}0ms" for step in range(61)]
    run = run_of(["<<<<<<< HEAD", *lines, "=======", *lines, ">>>>>>> other"])
    assert len(run) == 61
    assert len(run.segments) == 1


def test_a_restart_with_steady_times_is_no_copy():
    """Losses come again bit for bit under a fixed seed, and a coarse clock shows the same time for every step."""
    run = run_of([*training(80), *training(120, first=60)])
    assert [segment.num_rows for segment in run.segments] == [81, 61]


def tagged(tag, ranks, last=40, slow=None):
    return [
        f"{tag.format(rank)}iter {step}: loss 3.{step:04d}, time {200 if rank == slow else 100 + rank}.00ms"
        for step in range(last + 1)
        for rank in ranks
    ]


@pytest.mark.parametrize("tag", ["[rank{}]:", "{}: ", "[default{}]:", "[rank{}] ", "rank {}: ", "[1,{}]<stdout>:"])
def test_ranks_are_lanes(tag):
    """Every rank prints every step: 41 steps, not 164, and rank 2 is the slow one."""
    report = report_of(tagged(tag, range(4), slow=2))
    answer = document(report)
    assert (len(report.run), len(report.run.segments)) == (41, 1)
    assert [rank["rank"] for rank in answer["ranks"]] == [0, 1, 2, 3]
    assert [rank["steps"] for rank in answer["ranks"]] == [41] * 4
    assert answer["ranks"][2]["typical_s"] == pytest.approx(0.2)
    assert answer["slowest_rank"] == 2
    assert "straggler" in codes(report)


def test_ranks_that_hardly_differ_have_no_slowest():
    answer = document(report_of(tagged("[rank{}]: ", range(4))))
    assert answer["slowest_rank"] is None


def test_line_numbers_are_no_ranks():
    """What `grep -n` and `cat -n` put before lines never comes again."""
    lines = [f"{number}: {line}" for number, line in enumerate(training(50), 31)]
    run = run_of(lines)
    assert (len(run), run.ranks) == (51, ())
    assert len(run_of(lines[:3])) == 3


def test_evaluations_that_every_rank_prints_count_once():
    lines = []
    for line in training(40, evaluate=10):
        lines += [f"[rank{rank}]: {line}" for rank in range(3)]
    report = report_of(lines)
    assert report.num_evaluations == 5
    assert len(report.run) == 41


def test_a_training_of_two_stamped_rows_lasts_from_one_to_the_other():
    """A short launch must not count its only interval twice: the total is that of the file."""
    lines = []
    for launch, (num, epoch_s) in enumerate(((30, 20), (2, 20), (2, 1200))):
        lines.append(f"2024-05-01 {10 + launch}:00:00 start")
        for epoch in range(num):
            minute, second = divmod(epoch_s * (epoch + 1), 60)
            moment = f"2024-05-01 {10 + launch}:{minute:02d}:{second:02d}"
            lines += [f"{moment} Training epoch: {epoch}", f"{moment} mean_loss: {2 - epoch / 50:.3f}"]
    report = report_of(lines)
    assert report.run.num_trainings == 3
    assert report.ledger.wall_s == pytest.approx(2 * 3600 + 2400, abs=21)
