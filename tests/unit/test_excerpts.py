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
