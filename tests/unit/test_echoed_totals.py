"""How long a run was asked to be, by the settings that its log prints before the first step; the logs are invented."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.lines.command import Asked, echoed
from stepscope.reading.log_reader import LogReader


def run_of(lines):
    reader = LogReader(paths=["a.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()


def meters(num_epochs, num_batches=200, every=20):
    """Lines of PyTorch's ImageNet example."""
    return [
        f"Epoch: [{epoch}][{batch:3}/{num_batches}]\tTime  0.{200 + (epoch + batch) % 9} ( 0.204)\t"
        f"Data  0.010 ( 0.011)\tLoss {3 - epoch / 10:.4e} (3.0e+00)"
        for epoch in range(num_epochs)
        for batch in range(0, num_batches, every)
    ]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("Namespace(arch='a', max_epoch=7, max_update=0, warmup_updates=4000)", Asked(None, 7)),
        ("{'lr': 0.1, 'num_epochs': 12, 'seed': 3}", Asked(None, 12)),
        ("  max_epochs: 8", Asked(None, 8)),
        ("trainer.num_epochs = 4", Asked(None, 4)),
        ('  "num_train_epochs": 3,', Asked(None, 3)),
        ("Command: train.py --max-updates 9000 --batch-size 64", Asked(9000, None)),
        ("max_steps: -1", Asked()),
        ("EvalArgs(interval=100, max_iters=100)", Asked()),  # of the evaluation
        ("warmup_epochs: 5, save_epochs=2", Asked()),
        ("epochs: 30.5", Asked()),
    ],
)
def test_a_setting_says_how_long_the_training_is(line, asked):
    assert echoed([line]) == asked


def test_settings_that_disagree_say_nothing():
    assert echoed(["pretrain.max_epochs: 5", "trainer.max_epochs: 8"]) == Asked()


def test_epochs_among_the_settings_are_a_total_where_an_epoch_is_known():
    run = run_of(["config:", "  lr: 0.1", "  max_epochs: 10", *meters(4)])
    assert run.settings.count("max_steps") == 10 * 200 - 1
    report = explain(run)
    assert report.forecast.remaining_s == pytest.approx(0.204 * (6 * 200 + 19), rel=0.05)


def test_so_they_are_in_a_log_of_any_length():
    run = run_of(["Namespace(epochs=90, max_epoch=90)", *meters(40, num_batches=400, every=10)])
    assert len(run) == 1600
    assert run.settings.count("max_steps") == 90 * 400 - 1


def test_a_command_that_a_script_echoes_says_it_too():
    run = run_of(["+ srun python main.py -a resnet50 --epochs 30 --lr 0.1", *meters(20, num_batches=400, every=5)])
    assert run.settings.count("max_steps") == 30 * 400 - 1


def test_fewer_epochs_than_were_run_are_no_total():
    assert run_of(["max_epochs: 2", *meters(4)]).settings.count("max_steps") is None


def test_what_comes_after_the_first_step_is_not_asked():
    lines = meters(4)
    assert run_of([*lines[:10], "max_epochs: 10", *lines[10:]]).settings.count("max_steps") is None


def test_fairseq_counts_the_updates_of_an_epoch():
    lines = ["2022-01-02 03:04:05 | INFO | fairseq_cli.train | Namespace(arch='b', max_epoch=6, max_update=0, seed=1)"]
    lines += [
        f"2022-01-02 03:{10 + n // 6:02}:{n % 6 * 10:02} | INFO | train_inner | epoch {1 + (n - 1) // 5:03}: "
        f"{1 + (n - 1) % 5 * 100:6} / 500 loss={9 - n / 100:.3f}, ppl=90.1, wps=9000, ups=10, num_updates={n * 100}, "
        f"lr=0.001, gnorm=1.1, train_wall=10, wall={n * 10}"
        for n in range(1, 21)
    ]
    run = run_of(lines)
    assert run.settings.count("max_steps") == 3000


@pytest.mark.parametrize(("setting", "epochs"), [("trainer.num_epochs = 6", 6), ("trainer.num_epochs = 5", 5)])
def test_epochs_that_count_from_0_of_5_are_six_if_a_setting_says_so(setting, epochs):
    lines = [
        f"Epoch {epoch}/5 | batch {batch}/80 | loss {2 - epoch / 10:.3f} | 0.5{(epoch + batch) % 7}0 s/batch"
        for epoch in range(3)
        for batch in range(0, 80, 5)
    ]
    assert run_of([setting, *lines]).settings.count("max_steps") == epochs * 80 - 1


def test_an_end_before_a_limit_among_the_settings_is_no_doubt():
    report = explain(run_of(["  max_epochs: 10", *meters(4), "Training done."]))
    assert report.state.value == "finished"
    assert not [check for check in report.reading.checks if check.code == "R05" and check.verdict == "disagrees"]


def counted_on(epochs, *, per_epoch=600, every=100, ends="epoch {} finished, val loss 0.4"):
    """Rows that count on through the epochs, whose ends only words say."""
    lines, at = ["batch_size: 32", "num_epochs: 12"], 0
    for epoch in range(epochs):
        for _ in range(per_epoch // every):
            at += every
            minutes, seconds = divmod(at * 9 // 100, 60)
            lines.append(f"0:{minutes:02}:{seconds:02} - Iter: {at}, train loss: {1 / (at / 100 + 1):.4f}, acc: 0.8")
        lines.append(ends.format(epoch))
    return lines


@pytest.mark.parametrize("ends", ["epoch {} finished, val loss 0.4", "{}th epoch is done", "Epoch {} - over"])
def test_words_that_end_epochs_say_how_long_they_are(ends):
    run = run_of(counted_on(5, ends=ends))
    assert run.settings.count("steps_per_epoch") == 600
    assert run.settings.count("max_steps") == 12 * 600
    assert explain(run).forecast.remaining_s == pytest.approx(7 * 600 * 0.09, rel=0.05)


@pytest.mark.parametrize("ends", ["epoch {} begins", "epoch 3 finished"])
def test_words_that_end_no_epoch_or_always_the_same_do_not(ends):
    assert run_of(counted_on(5, ends=ends)).settings.count("max_steps") is None


def test_what_is_said_of_patience_is_no_evaluation():
    lines = []
    for line in counted_on(6):
        is_end = "finished" in line
        lines += (
            [line, "0:09:09 - EarlyStopping triggered, test loss is worked out after 7 epochs: 0.5"]
            if is_end
            else [line]
        )
    found = [line.pattern for line in run_of(lines).format.lines if line.kind == "evaluation"]
    assert not any("triggered" in pattern for pattern in found)


def test_a_running_clock_beside_the_results_of_evaluations_has_run_through_them():
    lines = [line.replace("acc: 0.8", "val loss: 0.61") for line in counted_on(6)]
    report = explain(run_of([*lines, "0:05:40 - test loss: 0.52, test acc: 0.81"]))
    assert report.reading.confidence > 0.5 * report.run.format.inferred.confidence
    assert report.run.clock.runs_during("evaluation")
    found = {phase.phase: phase for phase in report.ledger.phases}
    assert found["step"].high_s < 1.05 * 3600 * 0.09
