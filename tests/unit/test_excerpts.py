"""Pieces of logs: what begins in the middle of a run, and what few lines can say."""

from __future__ import annotations

import pytest

import stepscope
from stepscope.lines.asides import left_in, means_in


def explained(tmp_path, text):
    path = tmp_path / "pasted.txt"
    path.write_text(text)
    return stepscope.explain(stepscope.read(str(path)), has_gpu_log=False)


@pytest.mark.parametrize(
    ("line", "step_s"),
    [
        ("Epoch 4:  18%|##8      | 22/120 [14:40<1:05:21, 40.01s/it, v_num=3, train_loss=0.811]", 40.0),
        ("Epoch 12 loss=0.204:  40%|####      | 80/200 [06:40<10:00,  5.00s/it]", 5.0),
        ("Train epoch [7/30]: 46%|####| 12/26 [00:12<00:14,  1.00s/it, loss=0.3]", 1.0),
    ],
)
def test_a_bar_of_a_later_epoch_is_timed_by_its_own_batches(tmp_path, line, step_s):
    report = explained(tmp_path, line + "\n")
    assert report.ledger.step is not None
    assert report.ledger.step.typical_s == pytest.approx(step_s, rel=0.02)


def test_a_bar_among_words_is_what_is_asked_about(tmp_path):
    question = "It says 371 hours.\nIs that normal?\n\n0%|      | 43/3000000 [00:21<371:05:56,  2.25it/s]\n\nThanks!\n"
    report = explained(tmp_path, question)
    assert int(report.run.steps.step[-1]) == 43
    assert report.reading.is_doubtful


def test_a_full_bar_among_words_is_none_of_a_training(tmp_path):
    with pytest.raises(stepscope.StepscopeError):
        explained(tmp_path, "It stops here.\nWhat now?\n100%|######| 40/40 [00:00<00:00, 890.43it/s]\nThanks!\n")


def test_one_epoch_with_its_evaluation_is_the_step(tmp_path):
    line = "60000/60000 [==============================] - 9s 153us/step - loss: 0.41 - val_loss: 0.2\n"
    report = explained(tmp_path, "Epoch 1/12\n" + line)
    assert report.ledger.step is not None
    assert report.ledger.step.typical_s == 9.0
    assert not report.ledger.seconds("evaluation")


@pytest.mark.parametrize(("epoch", "total"), [("1/30", 28_530), ("3/30", 28_530)])
def test_steps_next_to_an_epoch_are_those_of_the_epoch(tmp_path, epoch, total):
    rows = "".join(
        f"03/01/2022 10:00:{5 * n:02} - INFO - Epoch: {epoch}, Step: {n}/951, Loss: 3.{n}1, Time/step: 5.{n}\n"
        for n in range(1, 9)
    )
    assert explained(tmp_path, rows).run.settings.count("max_steps") == total


def test_a_count_of_the_run_next_to_its_epoch_stays_one(tmp_path):
    rows = "".join(
        f"03/01/2022 10:00:{5 * n:02} - INFO - Epoch: 3/10, Step: {500 + n}/2000, Loss: 3.{n}1, Time/step: 5.{n}\n"
        for n in range(1, 9)
    )
    report = explained(tmp_path, rows)
    assert report.run.settings.count("max_steps") == 2000
    assert int(report.run.steps.step[-1]) == 508


def test_the_mean_beside_a_meter_is_of_all_steps():
    text = "Epoch: [1][5760/10010]\tTime 0.427 (2.773)\tData 0.000 (2.393)\tLoss 8.4"
    assert means_in(text) == (5761, 2.773, 2.393)
    assert means_in("Epoch: [1][5760/10010] Time 0.427 Data 0.000") is None


def test_a_time_left_of_many_years_is_none():
    assert left_in("[0] step: 0 [ETA: 468568011.02s] loss: 1.05") is None
    assert left_in("[12/90] ETA: 120s") is not None


FULL = "2960/2960 [==============================] - {}s - loss: 2.3 - val_loss: 3.8\n"
PARTIAL = "1480/2960 [==============>...............] - ETA: 300s - loss: 2.1"


@pytest.mark.parametrize(("end", "state"), [("\n", "unknown"), ("Killed\n", "killed"), ("已杀死\n", "killed")])
def test_a_second_fit_is_as_far_as_its_bar_says(tmp_path, end, state):
    report = explained(tmp_path, "Epoch 1/1\n" + FULL.format(641) + "Epoch 1/1\n" + PARTIAL + end)
    assert report.run.num_trainings == 2
    assert int(report.run.steps.step[-1]) == 1480
    assert report.run.steps.seconds[-1] == pytest.approx(300, rel=0.01)
    assert report.state.value == state


def test_the_bar_of_an_epoch_under_way_goes_on_from_the_one_before(tmp_path):
    report = explained(tmp_path, "Epoch 1/10\n" + FULL.format(641) + "Epoch 2/10\n" + PARTIAL + "\n")
    assert int(report.run.steps.step[-1]) == 4440
    assert report.run.num_trainings == 1


def test_the_bar_of_an_evaluation_is_no_epoch_under_way(tmp_path):
    text = "Epoch 1/10\n" + FULL.format(641) + " 40/80 [======>.......] - ETA: 30s - loss: 2.1\n"
    assert int(explained(tmp_path, text).run.steps.step[-1]) == 2960


def test_fits_that_follow_each_other_are_trainings_of_their_own(tmp_path):
    report = explained(tmp_path, "".join("Epoch 1/1\n" + FULL.format(seconds) for seconds in (641, 643, 640)))
    assert report.run.num_trainings == 3
    assert report.ledger.wall_s == pytest.approx(1924, abs=2)


def test_epochs_that_no_line_numbers_follow_each_other(tmp_path):
    bars = ((64, 3, 54), (68, 4, 53), (16, 1, 53), (55, 3, 53), (195, 11, 55))
    rows = "".join(f"{n}/{n} ━━━━━━━━━━━━━━━━━━━━ {s}s {ms}ms/step - accuracy: 0.2 - loss: 4.0\n" for n, s, ms in bars)
    report = explained(tmp_path, rows)
    assert report.run.steps.step.tolist() == [64, 132, 148, 203, 398]
    assert report.ledger.step.typical_s == pytest.approx(0.0535, rel=0.03)


def test_a_row_that_is_cut_off_gives_no_time(tmp_path):
    rows = [
        f"[2026-02-03 04:05:{6 * n:02}] iteration {40 + n:8}/   12000 | consumed samples: {n:12} | "
        "elapsed time per iteration (ms): 6000.4 | learning rate: 1.0E-05 | lm loss: 8.9 |"
        for n in range(1, 5)
    ]
    report = explained(tmp_path, "\n".join([*rows[:3], rows[3][:60]]) + "\n")
    assert report.ledger.wall_s == pytest.approx(18, abs=0.5)
    assert not report.ledger.seconds("unattributed")


def test_a_bar_that_counts_on_is_timed_by_its_rest(tmp_path):
    text = (
        "> Filling replay memory\n> 100%|█████████▊| 24897/25000.0 [00:30<00:00, 820.30it/s]\n> Running\n"
        ">   1%|          | 27500/3000000 [04:10<82:33:20, 10.00it/s]\n\nWhy so slow?\n"
    )
    report = explained(tmp_path, text)
    assert int(report.run.steps.step[-1]) == 27_500
    assert report.ledger.step.typical_s == pytest.approx(0.1, rel=0.01)
    assert report.forecast.rough.seconds == pytest.approx(297_200, rel=0.01)


def test_a_logger_s_line_right_behind_a_bar_leaves_the_bar(tmp_path):
    text = (
        "[INFO|trainer.py:2321] 2026-12-05 17:59:40,777 >>   Total optimization steps = 2,220\n"
        "{'loss': 2.6946, 'grad_norm': 12.5, 'learning_rate': 4.5e-06, 'epoch': 0.45}\n"
        "{'loss': 1.5301, 'grad_norm': 8.5, 'learning_rate': 9.0e-06, 'epoch': 0.9}\n"
        " 10%|████    | 222/2220 [06:18<56:07,  1.69s/it][INFO|trainer.py:4117] 2026-12-05 18:05:58,823 >> \n"
    )
    report = explained(tmp_path, text)
    assert int(report.run.steps.step[-1]) == 222
    assert report.ledger.step.typical_s == pytest.approx(1.7, rel=0.01)


def test_a_command_over_several_lines_states_the_total(tmp_path):
    rows = "".join(f"  step {n}00 lr 1 step-time 0.07s wps 83.14K ppl 545.74\n" for n in range(1, 6))
    report = explained(tmp_path, "python -m nmt.nmt \\\n    --src=vi \\\n    --num_train_steps=12000 \\\n\n" + rows)
    assert report.run.settings.count("max_steps") == 12_000


def test_steps_in_turn_are_two_speeds(tmp_path):
    rows = "".join(
        f"iter {n}: loss 3.1, time {(620 if n % 2 else 505) + n % 5}.00ms, mfu 20.00%\n" for n in range(100, 124)
    )
    trend = explained(tmp_path, rows).trend
    assert trend is not None
    assert (trend.trend.kind, trend.every) == ("two speeds", 2)


def test_a_rough_estimate_is_not_denied_below(tmp_path):
    from stepscope.i18n import Language
    from stepscope.report import terminal

    text = terminal.render(
        explained(tmp_path, "  1%|     | 30/3000 [05:00<8:15:00, 10.00s/it, loss=0.3]\n"), Language.load("en")
    )
    assert "left" in text
    assert "No finish time" not in text


def test_hours_and_minutes_that_only_rise_are_no_duration(tmp_path):
    at = [31_021 + 414 * n for n in range(8)]
    rows = "".join(
        f"Elapsed [{s // 3600}:{s // 60 % 60:02}:{s % 60:02}.05{n}768] batch: {37_350 + 498 * n}  d_loss: 0.1{n}\n"
        for n, s in enumerate(at)
    )
    report = explained(tmp_path, rows)
    assert report.ledger.step.typical_s == pytest.approx(414 / 498, rel=0.02)
    assert report.ledger.wall_s == pytest.approx(at[-1], rel=0.01)


@pytest.mark.parametrize(
    "row", ["| Device=xla:0/{} Step={} Loss=0.0{} Time=07:29:{:02}", "Step={1} Loss=0.0{2} Time=07:29:{3:02}"]
)
def test_a_time_of_day_that_is_called_time_is_none_of_a_step(tmp_path, row):
    rows = "".join(row.format(n % 4, 280 + 20 * n, 90 - n, 10 + 3 * n) + "\n" for n in range(12))
    report = explained(tmp_path, rows)
    assert report.ledger.step.typical_s == pytest.approx(0.15, rel=0.05)
    assert report.ledger.wall_s < 60


def test_durations_of_hours_that_rise_and_fall_stay_durations(tmp_path):
    rows = "".join(f"Epoch {n}/20 loss: 0.{90 - n} time: 1:0{n % 3}:{20 + 7 * (n % 4)}\n" for n in range(1, 9))
    report = explained(tmp_path, rows)
    assert report.ledger.step.typical_s == pytest.approx(3_690, rel=0.05)


def test_a_second_run_whose_clock_began_later_is_no_slower_writer(tmp_path):
    rows = [("09:00:20", 50, 16), ("09:00:35", 100, 31), ("09:00:50", 150, 46)]
    rows += [("09:05:14", 50, 42), ("09:05:46", 100, 74), ("09:06:18", 150, 106)]
    text = "".join(
        f"[2019-05-02 {at},100 INFO] Step {step}/40000; acc:   1.50; ppl: 20568.27; xent: 9.93; lr: 1.00000; "
        f"21006/20669 tok/s;     {elapsed} sec\n"
        for at, step, elapsed in rows
    )
    report = explained(tmp_path, text)
    assert report.run.steps.step.tolist() == [50, 100, 150, 50, 100, 150]
    assert report.ledger.step.typical_s == pytest.approx(0.64, rel=0.02)


def test_a_time_left_that_was_cut_off_is_not_read(tmp_path):
    row = "train_opt_callback: iter={:6} sample={}/2608 sched=0.4 loss=4.84 dt=00:03:09 eta=03:{:02}:12 |-->"
    rows = [row.format(n, n + 2, 50 - 3 * n) for n in range(1, 6)]
    whole, cut = (explained(tmp_path, "\n".join([*rows, last])) for last in (rows[-1], rows[-1][: -len(":12 |-->")]))
    assert whole.run.asides.left_s == cut.run.asides.left_s == 3 * 3600 + 35 * 60 + 12
