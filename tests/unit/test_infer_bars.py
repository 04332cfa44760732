"""Drawn bars in logs of no known format: which are the training's, which the evaluation's, and which nobody's."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.infer.bar_format import at_most
from stepscope.infer.drawn_bars import parse_bar
from stepscope.infer.infer import infer
from stepscope.infer.series_words import role_of
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.reading.recognition import HOLD_CHARS
from tests.unit.logs import run_of


def clock(seconds):
    whole = int(seconds)
    minutes = f"{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes


def bar(n, total, pace, *, label="", unit="it", post="", start=0.0):
    left = clock((total - n) * pace)
    rate = f"{1 / pace:.2f}{unit}/s" if pace < 1 else f"{pace:.2f}s/{unit}"
    return f"{label}{100 * n // total:4}%|####  | {n}/{total} [{clock(start + n * pace)}<{left}, {rate}{post}]"


def read_as(lines):
    fmt = infer(lines)
    assert fmt is not None
    reader = LogReader(paths=["a.log"], format=fmt)
    reader.begin_file()
    reader.feed("\n".join(lines).encode())
    reader.end_file()
    return reader.run()


def test_a_bar_is_taken_apart():
    found = parse_bar("2024-05-01 10:00:00 Fitting 3/9: 41%|##  | 12.9k/31k [1:02:03<1:30:00, 3.4batch/s, l=2]", 7)
    assert (found.number, found.label, found.n, found.total) == (7, "Fitting 3/9:", 12_900, 31_000)
    assert (found.elapsed_s, found.unit, found.post) == (3723, "batch", ", l=2")


@pytest.mark.parametrize(
    ("label", "unit", "post", "role"),
    [
        ("Map (num_proc=8):", "examples", "", "preparation"),
        ("Caching labels of train.txt:", "it", "", "preparation"),
        ("Tokenizing train split:", "it", "", "preparation"),
        ("Fetching 4 files:", "it", "", "preparation"),
        ("model.safetensors:", "b", "", "preparation"),
        ("Running loglikelihood requests:", "it", "", "evaluation"),
        ("Validating:", "it", "", "evaluation"),
        ("Epoch 3 val:", "it", ", loss=0.2", "evaluation"),
        ("Epoch 3 val_loss=0.41:", "it", "", "training"),
        ("Epoch 3:", "it", "", "training"),
        ("Processing epoch 3:", "it", "", "training"),
        ("", "it", ", loss=0.41", "training"),
        ("", "it", "", "unknown"),
    ],
)
def test_words_say_what_a_series_is(label, unit, post, role):
    assert role_of(label, unit, post) == role


@pytest.mark.parametrize("label", ["Filter", "Map", "Downloading shards", "Extracting features", "Resolving data"])
def test_a_bar_of_preparation_is_no_training(label):
    """Not even when the run dies after it."""
    lines = [bar(n, 900, 0.02, label=f"{label}: ", unit=" examples") for n in range(0, 901, 30)]
    lines += ["Traceback (most recent call last):", '  File "prep.py", line 3, in <module>', "OSError: no such file"]
    assert infer(lines) is None


def test_the_bar_of_the_training_is_found_behind_others():
    lines = [bar(n, 80_000, 0.0001, label="Map: ", unit=" examples") for n in range(0, 80_001, 1000)]
    lines += [bar(n, 500, 4.0, label="Training: ") for n in range(1, 101)]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1]), run.settings.count("max_steps")) == (100, 100, 500)
    assert explain(run).ledger.step.typical_s == pytest.approx(4.0, rel=0.02)


def test_a_clock_on_a_bar_is_exact_and_its_rate_is_not():
    """The rate is smoothed: here it never moves, whatever the steps do."""
    lines, now = [], 0
    for n in range(1, 301):
        now += 9 if n % 3 == 0 else 3
        lines.append(f"Training: {n // 4}%|# | {n}/400 [{clock(now)}<10:00, 9.99s/it, loss=2.1]")
    run = read_as(lines)
    assert explain(run).ledger.wall_s == pytest.approx(1500, abs=4)


def test_train_and_validation_bars_of_one_label_are_two_series():
    lines = []
    for epoch in range(4):
        lines += [bar(n, 60, 2.0, label=f"Epoch {epoch}: ", post=", acc=0.9, loss=0.2") for n in range(1, 61)]
        lines += [bar(n, 15, 1.0, label=f"Epoch {epoch}: ", post=", acc=0.9, loss=0.3") for n in range(1, 16)]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (240, 240)
    assert len(run.segments) == 1
    assert run.events.kind.count("evaluation") == 4
    assert set(run.events.took_ns.tolist()) == {15 * 10**9}
    assert explain(run).ledger.step.typical_s == pytest.approx(2.0, rel=0.02)


def test_a_bar_that_counts_through_its_validation_has_fewer_steps():
    """Lightning 1.x: 30 batches of training and 10 of validation in a bar of 40, and a bar of 10 next to it."""
    lines = []
    for epoch in range(3):
        lines += [bar(n, 40, 3.0, label=f"Epoch {epoch}: ", post=", loss=0.9") for n in range(1, 31)]
        for n in range(1, 11):
            lines.append(bar(n, 10, 2.0, label="Validating: "))
            lines.append(bar(30 + n, 40, 2.75, label=f"Epoch {epoch}: ", post=", loss=0.9"))
    run = read_as(lines)
    assert int(run.steps.step[-1]) == 90
    assert run.events.kind.count("evaluation") == 3


def test_bars_without_a_label_that_start_again_are_epochs():
    lines = []
    for epoch in range(3):
        lines += [bar(n, 50, 1.0) for n in range(1, 51)]
        lines.append(f"train loss {2.0 - epoch / 4:.3f} lr 1e-4")
    run = read_as(lines)
    assert (int(run.steps.step[-1]), len(run.segments)) == (150, 1)


def test_figures_before_a_bar_begin_with_the_epoch():
    lines = []
    for epoch in range(1, 4):
        lines += [f"  {epoch}/9  8.3G  0.0{n:02}  1.2  640: {bar(n, 40, 2.0).strip()}" for n in range(1, 41)]
    run = read_as(lines)
    assert (int(run.steps.step[-1]), run.settings.count("max_steps")) == (120, 360)


@pytest.mark.parametrize("most", [1, 9, 10, 14, 27, 99, 100, 1234])
def test_numbers_up_to_a_limit(most):
    import re

    pattern = re.compile(at_most(most))
    found = [number for number in range(0, 2 * most + 12) if pattern.fullmatch(str(number))]
    assert found == list(range(1, most + 1))


def test_numbers_of_a_label_may_be_followed_by_commas():
    def epoch(total, pace):
        return [
            bar(n, total, pace, label=f"acc: 0.{50 + n}, batch_loss: 0.7, loss: 0.{70 - n} ||:")
            for n in range(1, total + 1)
        ]

    run = read_as([line for _ in range(3) for line in [*epoch(40, 2.0), *epoch(8, 0.5)]])
    assert run.steps.step[-1] == 3 * 40
    assert "evaluation" in run.events.kind


@pytest.mark.parametrize(
    ("line", "n", "total", "elapsed_s"),
    [
        ("|249/6000[06:58<2:22:15, 0.67it/s]", 249, 6000, 418),
        ("0.11% [32/29603 1:19:55<1231:03:30]", 32, 29603, 4795),
        ("Epoch 0: :   0%|          | 614/? [23:53<00:00, v_num=1]", 614, 0, 1433),
        ("Batch | 3.23 | ━━━━━━━━━━━━ 35947/35947 2:32:13 • 0:00:00   4.33it/s", 35947, 35947, 9133),
        (" 41%|####      | 200/473 [02:12<02:58,  1.53it/s]loss so far: 2.1", 200, 473, 132),
    ],
)
def test_bars_are_drawn_in_many_styles(line, n, total, elapsed_s):
    bar = parse_bar(line)
    assert (bar.n, bar.total, bar.elapsed_s) == (n, total, elapsed_s)


def test_a_bar_that_starts_again_without_a_loss_is_no_run_of_its_own():
    """Nothing but bars may be anybody's; one of a whole training does not start again with every epoch."""
    lines = []
    for epoch in range(4):
        lines += [f"{n * 100 // 60:3d}%|##        | {n}/60 [00:{n // 2:02d}<00:10,  2.00it/s]" for n in range(61)]
        lines += [f"mean Loss of epoch {epoch} : 0.{90 - epoch}"]
    run = run_of(lines)
    assert run.format.inferred is not None
    assert int(run.steps.step[-1]) == 240
    assert run.num_trainings == 1


def test_a_label_that_shows_new_figures_with_each_step_is_the_trainings():
    lines = ["making the model", bar(1, 400, 2.0)]
    lines += [bar(n, 400, 2.0, label=f"d: {-n / 9000:.3f}; gen: {n / 700:.3f}: ") for n in range(2, 401)]
    run = read_as(lines)
    assert int(run.steps.step[-1]) == 400


def test_a_label_with_the_same_figure_in_every_line_is_no_training():
    lines = [bar(n, 400, 0.1, label="ratio: 0.25: ") for n in range(1, 401)]
    assert infer(["something else", *lines]) is None


def test_bars_of_which_only_the_end_is_kept_are_one_epoch_each():
    """A recorder of a screen keeps the last state of a bar; equally long epochs are no bar that is drawn again."""
    lines = []
    for seconds in (335, 335, 336, 334, 335, 337):
        lines += [bar(600, 600, seconds / 600), "", "", f"  train loss 0.{seconds} lr 1e-4", ""]
    run = read_as(lines)
    assert (int(run.steps.step[-1]), len(run.segments)) == (3600, 1)
    assert explain(run).ledger.wall_s == pytest.approx(2012, abs=6)


def test_the_line_before_a_bar_without_a_label_is_its_heading():
    lines = []
    for epoch in range(5):
        lines += [f"[INFO] epoch {epoch}", bar(900, 900, 0.5), "[INFO] Evaluation", bar(90, 90, 0.5)]
        lines.append(f"Error (MPJPE): {60 - epoch}.25 mm")
    run = read_as(lines)
    assert int(run.steps.step[-1]) == 4500
    assert run.events.kind.count("evaluation") == 5
    assert set(run.events.took_ns.tolist()) == {45 * 10**9}


def crash(path):
    return ["Traceback (most recent call last):", f'  File "{path}", line 88, in <module>', "OSError: no room left"]


def test_the_one_long_bar_of_a_program_with_a_trainer_in_its_messages_is_the_trainings():
    """Standard error alone: the losses are in another file."""
    shards = [bar(n, 2, 3.0, label="Loading checkpoint shards: ") for n in (1, 2)]
    steps = [bar(n, 400, 2.5) for n in range(1, 120)]
    warning = "site-packages/transformers/trainer.py:553: FutureWarning: tokenizer will go"
    run = run_of([*shards, warning, *steps, *crash("train.py")])
    assert (int(run.steps.step[-1]), run.settings.count("max_steps")) == (119, 400)
    other = [f"some other text of {word}" for word in ("one", "two", "three") for _ in range(60)]
    assert infer([*shards, *other, *steps, *crash("predict.py")]) is None


def test_a_bar_of_batches_that_starts_again_and_again_is_the_trainings():
    lines = [bar(n, 20, 1.5, label="Batch: ") for _ in range(12) for n in range(1, 21)]
    run = run_of(["reading the data", "", *lines, "", "exit", *crash("main.py")])
    assert int(run.steps.step[-1]) == 240
    once = [bar(n, 20, 4.0, label="Batch: ") for n in range(1, 21)]
    assert infer(["reading the data", "", *once, "done", "", *crash("main.py")]) is None


def test_a_bar_that_counts_as_many_epochs_as_other_lines_number_is_the_trainings():
    """Their lines come late, through a buffer."""
    lines = [bar(n, 60, 35.0) for n in range(1, 41)]
    lines += [f"Epoch {n}: Validation Accuracy: {n + 20}.27%" for n in range(1, 41)]
    lines += [bar(n, 60, 35.0) for n in range(41, 61)]
    lines += [f"Epoch {n}: Validation Accuracy: {n + 20}.27%" for n in range(41, 61)]
    report = explain(run_of(lines))
    assert report.ledger.step.typical_s == pytest.approx(35, rel=0.02)
    assert sum(stop.evaluated for stop in report.run.stops) > 0


def test_a_bar_between_the_training_loss_and_the_validation_loss_of_each_epoch_is_the_validations():
    lines = []
    for epoch in range(1, 9):
        lines.append(f"Epoch {epoch}, Train Loss: {2 / epoch:.4f}")
        lines += [bar(n, 155, 0.04) for n in range(5, 156, 15)]
        lines.append(f"Epoch {epoch}, Val Loss: {2.1 / epoch:.4f}, Val Acc: 0.9{epoch}")
    found = infer(lines)
    assert found is None or not found.is_timed


def test_results_are_the_evaluations_where_their_bars_are_never_full():
    """Overwritten: of each evaluation's bar only its beginning is left."""
    lines = []
    for epoch in range(1, 7):
        lines += [bar(n, 250, 0.2, label="Training: ", post=f", loss={2 / epoch:.3f}") for n in range(5, 251, 5)]
        lines += ["Validation:   0%|    | 0/17 [00:00<?, ?it/s, loss=1.07]" for _ in range(3)]
        lines.append(f"2024-02-03 10:0{epoch}:10 - pipe - INFO -   Epoch {epoch}/9: train_loss=1.1, val_loss=1.{epoch}")
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 1500
    assert sum(stop.evaluated for stop in run.stops) == 6


def test_where_bars_begin_in_a_long_log_is_looked_at_too(tmp_path):
    """Neither its beginning nor its middle nor its end has a bar that begins, and no two ends contradict one run."""
    text = []
    for _ in range(3):
        text.append("Training:   0%|    | 0/9000 [00:00<?, ?it/s]")
        text += [bar(n, 9000, 0.25, label="Training: ", post=f", loss={9 - n / 9000:.3f}") for n in range(4, 9001, 4)]
        text.append("\nEvaluating:   0%|    | 0/300 [00:00<?, ?it/s]")
        text += [bar(n, 300, 0.2, label="Evaluating: ") for n in range(5, 301, 5)]
        text.append("\n")
    text += [bar(n, 9000, 0.25, label="Training: ", post=", loss=0.8") for n in range(4, 8801, 4)]
    path = tmp_path / "bars.log"
    path.write_text("\r".join(text))
    assert path.stat().st_size > 4 * HOLD_CHARS
    run = read(str(path))
    assert (int(run.steps.step[-1]), run.num_trainings) == (3 * 9000 + 8800, 1)
    assert sum(stop.evaluated for stop in run.stops) == 3


def test_results_and_checkpoints_are_printed_over_one_bar():
    """Of a bar over all epochs: what is printed in the middle of it is within its clock."""
    lines = []
    for epoch in range(4):
        lines += [bar(n, 400, 0.5, start=20 * epoch) for n in range(100 * epoch + 10, 100 * epoch + 101, 10)]
        lines += [f"epoch {epoch}: eval_loss: {3.2 - epoch / 10:.4f}", f"saved checkpoint to epoch_{epoch}.pt"]
    run = read_as(lines)
    assert (run.events.kind.count("evaluation"), run.events.kind.count("checkpoint")) == (4, 4)
    assert run.events.val_loss[0] == pytest.approx(3.2)
    assert run.clock.runs_during("evaluation")


def test_a_bar_of_an_evaluation_that_is_wiped_away_gives_way_to_its_result():
    lines = []
    for epoch in range(1, 5):
        lines += [bar(n, 100, 0.5, label=f"Epoch {epoch}/4: ", post=", loss=0.4") for n in range(10, 101, 10)]
        lines += [bar(7, 8, 0.5, label="Validating: ")]
        lines += [f"Epoch {epoch}: loss=0.4511 val_loss={0.5 - epoch / 100:.4f}"]
    run = read_as(lines)
    evaluations = [i for i, kind in enumerate(run.events.kind) if kind == "evaluation"]
    assert [round(float(run.events.val_loss[i]), 4) for i in evaluations] == [0.49, 0.48, 0.47, 0.46]


def test_a_bar_of_an_evaluation_that_is_drawn_to_its_end_says_how_long_it_took():
    lines = []
    for epoch in range(1, 5):
        lines += [bar(n, 100, 0.5, label=f"Epoch {epoch}/4: ", post=", loss=0.4") for n in range(10, 101, 10)]
        lines += [bar(n, 8, 0.5, label="Validating: ") for n in (4, 8)]
        lines += [f"Epoch {epoch}: val_loss={0.5 - epoch / 100:.4f}"]
    run = read_as(lines)
    assert run.events.kind.count("evaluation") == 4
    assert run.events.took_ns[0] == pytest.approx(4e9)


def test_results_of_what_came_before_the_bars_are_none_of_theirs():
    before = [f"Acc@1 7{n}.20 Acc@5 9{n}.10" for n in range(4)]
    lines = [*before, *(bar(n, 300, 0.5, label="Train: ", post=f", loss={3 - n / 300:.3f}") for n in range(5, 300, 5))]
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 295
    assert not any(stop.evaluated for stop in run.stops)


def nested_in_one_clock(every, num_outer=40, num_inner=90):
    """A bar of steps whose clock runs on while another bar without a label is drawn inside some of them."""
    lines, spent = ["Loading data", "loss scale: 2.0", f"  0%|    | 0/{num_outer} [00:00<?, ?it/s]"], 0.0
    for step in range(1, num_outer + 1):
        if step % every == 1 or every == 1:
            lines += [bar(n, num_inner, 2.0) for n in range(num_inner + 1)]
            lines.append(f"score = {0.5 - step / 100:.4f}, loss = {1.5 - step / 100:.4f}")
            spent += 2.0 * num_inner
        spent += 5.0
        lines.append(f"loss = {1.5 - step / 100:.4f}")
        lines.append(f"{100 * step // num_outer:4}%|#   | {step}/{num_outer} [{clock(spent)}<10:00, 5.00s/it]")
    return lines


def test_a_bar_that_few_steps_of_another_hold_is_an_evaluation():
    run = read_as(nested_in_one_clock(every=10))
    assert int(run.steps.step[-1]) == 40
    report = explain(run)
    assert run.events.kind.count("evaluation") == 4
    assert report.ledger.seconds("evaluation") == pytest.approx(4 * 180, rel=0.05)
    assert report.ledger.step.typical_s == pytest.approx(5.0, rel=0.05)


def nested(num_epochs, *, done, steps=50, pace=2.0):
    """A bar of epochs, and inside each of its steps one of batches; an evaluation's words between them."""
    whole_s = steps * pace + 8
    lines = [bar(0, num_epochs, whole_s, label="Epoch:")]
    for epoch in range(done):
        lines += [bar(n, steps, pace, label="Iteration:") for n in range(1, steps + 1)]
        lines += [f"EmbeddingSimilarity: on dev after epoch {epoch}:", "Cosine: Pearson: 0.81 Spearman: 0.80"]
        lines.append(bar(epoch + 1, num_epochs, whole_s, label="Epoch:"))
    return lines


@pytest.mark.parametrize("done", [2, 4])
def test_a_bar_inside_each_step_of_another_counts_the_batches_of_its_epochs(done):
    report = explain(read_as(nested(4, done=done)))
    assert report.run.steps.step[-1] == 50 * done
    assert report.run.settings.count("max_steps") == 200
    assert report.ledger.step.typical_s == pytest.approx(2.0, rel=0.05)


def test_a_bar_like_the_evaluations_after_the_last_epoch_is_a_test():
    lines = []
    for epoch in range(1, 4):
        lines.append(f"Going into epoch {epoch}")
        lines += [bar(n, 90, 1.0, post=f", train_loss={2 / epoch:.2f}") for n in range(1, 91)]
        lines += [bar(n, 30, 0.5) for n in range(1, 31)]
        lines.append(f"epoch: {epoch}, lr: 1.00e+00 - train loss: 1.90 - valid loss: 1.80")
        lines.append(f"Saved an end-of-epoch checkpoint in results/CRDNN/1986/save/CKPT+2026-01-0{epoch}+10-00-00")
    lines += [bar(n, 40, 1.5) for n in range(1, 41)]
    lines.append("test loss: 1.02, test WER: 22.18")
    report = explain(read_as(lines))
    evaluation = next(phase for phase in report.to_dict()["ledger"] if phase["phase"] == "evaluation")
    assert evaluation["seconds"] == pytest.approx(3 * 15 + 60, abs=3)
    assert report.ledger.wall_s == pytest.approx(3 * 105 + 60, rel=0.03)
