"""Shapes of lines that were first met in logs that somebody simulated; the logs here are invented."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.log_reader import LogReader


def run_of(lines):
    reader = LogReader(paths=["a.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()


def test_frames_that_are_counted_make_a_rate_a_time():
    rate = "fps step: 90000 fps step and policy inference: 80000 fps total"
    lines = [f"{rate}: {32000 + n % 3 * 10} epoch: {n}/400 frames: {(n - 1) * 16000}" for n in range(1, 61)]
    report = explain(run_of(["Started to train", *lines]))
    assert report.run.format.name == "rl_games"
    assert report.ledger.step.typical_s == pytest.approx(0.5, rel=0.01)
    assert report.forecast.remaining_s == pytest.approx(170, rel=0.02)


def test_samples_out_of_all_samples_are_a_share():
    lines = ["Training for 200 kimg...", ""]
    lines += [
        f"tick {n:<5} kimg {4.0 * n:<8.1f} time {n + 1}m 00s       sec/tick 60.{n % 4}    sec/kimg 15.00   "
        f"maintenance 0.1    cpumem 4.10   gpumem 9.20   augment 0.010"
        for n in range(21)
    ]
    report = explain(run_of(lines))
    assert report.run.settings.count("max_steps") == 50
    assert report.forecast.remaining_s == pytest.approx(30 * 60.2, rel=0.03)


def test_an_early_stop_is_short_of_the_total_by_design():
    lines = [line for epoch in range(1, 8) for line in iterations(epoch, 0.05, 0.052 if epoch == 1 else 0.135)]
    report = explain(run_of(["Args: Namespace(train_epochs=10)", *lines, "Early stopping"]))
    assert report.state.value == "finished"
    assert not [check for check in report.reading.checks if check.code == "R05" and check.verdict == "disagrees"]


def iterations(epoch, speed, first):
    """What the Time-Series-Library prints of an epoch of 250 iterations."""
    yield f"\titers: 100, epoch: {epoch} | loss: 0.{900 - epoch}1234"
    yield f"\tspeed: {first:.4f}s/iter; left time: 50.1000s"
    yield f"\titers: 200, epoch: {epoch} | loss: 0.{899 - epoch}1234"
    yield f"\tspeed: {speed:.4f}s/iter; left time: 49.1000s"
    yield f"Epoch: {epoch} cost time: {250 * speed:.10f}"
    yield f"Epoch: {epoch}, Steps: 250 | Train Loss: 0.8123456 Vali Loss: 0.9123456 Test Loss: 0.9523456"
    yield "Validation loss decreased (0.920000 --> 0.912346).  Saving model ..."


def test_a_timer_that_runs_on_over_the_end_of_an_epoch_holds_its_evaluation():
    # 50 iterations of the epoch before, 6 s of validation and 100 iterations, divided by 100
    lines = [line for epoch in range(1, 8) for line in iterations(epoch, 0.05, 0.052 if epoch == 1 else 0.135)]
    report = explain(run_of(["Args: Namespace(train_epochs=10)", ">>>>>>>start training : a_0>>>>>>>", *lines]))
    run = report.run
    assert run.format.name == "time_series_library"
    assert int(run.steps.step[-1]) == 7 * 250
    assert run.settings.count("max_steps") == 10 * 250
    assert report.ledger.step.typical_s == pytest.approx(0.05, rel=0.03)
    evaluation = report.ledger.seconds("evaluation")
    assert evaluation == pytest.approx(7 * 6, rel=0.15)


@pytest.mark.parametrize(
    ("row", "saved"),
    [
        ("Época {n}/30 - pérdida: {loss} - duración: {took} segundos", "modelo guardado en modelos/{n}.pt"),
        ("Epoche {n}/30: Verlust {loss}, Zeit {took} Sekunden", "gespeichert: modell_{n}.pt"),
        ("Époque {n}/30 ; perte = {loss} ; durée = {took} secondes", "modèle enregistré : m{n}.pt"),
        ("Epoch {n}/30: train loss {loss} ({took}s)", "saved m{n}.pt"),
    ],
)
def test_an_epoch_a_line_in_words_is_read_and_believed(row, saved):
    """A line for every epoch with its time and the unit behind it: no second clock is needed to be sure enough."""
    lines = ["Dispositivo: cuda:0", ""]
    for n in range(1, 31):
        lines.append(row.format(n=n, loss=f"{2 / n + 0.1:.4f}", took=f"{42 + n % 4 * 0.7:.1f}"))
        if n % 10 == 0:
            lines.append(saved.format(n=n))
    report = explain(run_of(lines))
    assert report.run.steps.step[-1] == 30
    assert report.ledger.step.typical_s == pytest.approx(43, rel=0.02)
    assert report.reading.confidence > 0.5


def test_tabs_that_syslog_wrote_out_are_tabs():
    """SageMaker's logs of XGBoost, as CloudWatch exports them."""
    lines = ["2026-04-11T18:20:31.000+00:00 [2026-04-11:18:20:31:INFO] Single node training."]
    lines += [
        f"2026-04-11T18:{21 + n // 20:02d}:{n % 20 * 3:02d}.250+00:00 [{n}]#011train-rmse:{9 - n / 50:.5f}"
        f"#011validation-rmse:{9.4 - n / 50:.5f}"
        for n in range(200)
    ]
    report = explain(run_of(lines))
    assert report.run.format.name == "xgboost"
    assert report.ledger.step.typical_s == pytest.approx(3.0)


def test_a_notebooks_cell_after_the_run_has_one_time():
    """Unsloth: the head of the table says how long, its rows only what was lost."""
    head = r"   \\   /|    Num examples = 51,760 | Num Epochs = 1 | Total steps = 80"
    rows = [f"{n}\t{1.7 - n / 100:.6f}" for n in range(1, 81)]
    end = ["320.4000 seconds used for training.", "5.34 minutes used for training."]
    report = explain(run_of([head, " [80/80 05:20, Epoch 0/1]", "Step\tTraining Loss", *rows, *end]))
    assert report.run.steps.step[-1] == 80
    assert report.ledger.wall_s == pytest.approx(320, rel=0.01)
    assert report.ledger.step.typical_s == pytest.approx(4.0, rel=0.02)


def test_the_words_before_the_first_step_say_how_far_the_epochs_go():
    """DeepSpeed-Chat: the epoch's heading has both counts; its steps have a number, and below it their time."""
    lines = ["***** Running training *****", "Beginning of Epoch 1/2, Total Micro Batches 400"]
    for n in range(100):
        lines.append(f"Epoch: 0, Step: {n}, Rank: 0, loss = {2.3 - n / 200:.12f}")
        lines.append(f"Model Parameters: 1.316 B, Latency: {1.3 + n % 3 / 50:.2f}s, TFLOPs: 28.1, Batch Size: 64")
    report = explain(run_of(lines))
    assert report.run.settings.count("max_steps") == 799
    assert report.forecast.remaining_s == pytest.approx(700 * 1.32, rel=0.03)


def test_evaluations_and_checkpoints_are_known_by_their_words_in_chinese():
    """The epoch's own clock and the evaluation's time have one word; only the evaluation's does not grow."""
    lines, second = [], 0

    def add(text, took=0):
        nonlocal second
        second += took
        lines.append(f"2026-11-02 13:{second // 60 % 60:02d}:{second % 60:02d} | INFO | {text}")

    for epoch in range(1, 5):
        for batch in range(100, 1001, 100):
            add(
                f"第 {epoch}/4 轮 | 批次 {batch}/1000 | 损失: {2 / epoch - batch / 9e3:.4f} | 已用时: {batch // 5}.2秒",
                20,
            )
        add(f"第 {epoch} 轮结束, 开始验证...")
        add(f"验证准确率: 0.9{epoch}1, 用时 {24 + epoch % 2}.4秒", 24 + epoch % 2)
        add("保存最佳模型到 output/best.pt")
    report = explain(run_of(lines))
    ledger = {phase["phase"]: phase for phase in report.to_dict()["ledger"]}
    assert ledger["evaluation"]["seconds"] == pytest.approx(98, rel=0.1)
    assert report.run.events.kind.count("checkpoint") == 4
    assert report.ledger.step.typical_s == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize("name", ["tokens_per_second_per_gpu", "tok/s/gpu", "samples per sec per device"])
def test_a_rate_of_each_device_is_no_time(name):
    """torchtune's files: what a step took does not follow from tokens a second where nobody says how many it has."""
    lines = [
        f"Step {n} | loss:{2 - n / 200:.4f} lr:0.0003 {name}:{1220 + n % 7 * 31:.2f} peak:17.3" for n in range(1, 90)
    ]
    report = explain(run_of(lines))
    assert not report.ledger.wall_s


def keras_3(num_epochs, *, steps=200, mean_s=0.15, took_s=9):
    """Keras 3 into a file: bars that are drawn again, and the figure of an epoch, validation inside."""
    for epoch in range(1, num_epochs + 1):
        first_s = 8 if epoch == 1 else mean_s
        yield f"Epoch {epoch}/{num_epochs}"
        loss = f"accuracy: 0.5012 - loss: {2 / epoch:.4f}"
        first = f"{first_s}s" if first_s >= 1 else f"{first_s * 1e3:.0f}ms"
        yield f"1/{steps} ━━━━━━━━━━━━━━━━━━━━ 26:32 {first}/step - {loss}"
        for step in (*range(40, steps, 40), steps):
            left_s = round((steps - step) * mean_s)
            yield f"{step}/{steps} ━━━━━━━━━━━━━━━━━━━━ {left_s}s {mean_s * 1e3:.0f}ms/step - {loss}"
        whole_s = first_s + (steps - 1) * mean_s + took_s
        yield (
            f"{steps}/{steps} ━━━━━━━━━━━━━━━━━━━━ {whole_s:.0f}s {whole_s / steps * 1e3:.0f}ms/step - {loss}"
            f" - val_accuracy: 0.4100 - val_loss: {2.1 / epoch:.4f}"
        )


def test_a_bar_that_is_full_before_validation_times_it():
    report = explain(run_of(list(keras_3(5))))
    assert report.ledger.step.typical_s == pytest.approx(0.15, rel=0.02)
    evaluation = next(phase for phase in report.to_dict()["ledger"] if phase["phase"] == "evaluation")
    assert evaluation["count"] == 5
    assert evaluation["seconds"] == pytest.approx(45, rel=0.1)


def test_rounding_leaves_nothing_of_a_short_validation():
    report = explain(run_of(list(keras_3(5, took_s=1))))
    evaluation = [phase for phase in report.to_dict()["ledger"] if phase["phase"] == "evaluation"]
    assert not evaluation or not evaluation[0]["seconds"]


def keras_1(num_epochs, *, draws=True):
    """Epochs of 2400 samples, in batches of 60, as Keras 1 drew them."""
    yield "Train on 2400 samples, validate on 600 samples"
    for epoch in range(1, num_epochs + 1):
        yield f"Epoch {epoch}/12"
        for done in range(60, 2400, 60) if draws else ():
            yield f"{done:4}/2400 [==>...........................] - ETA: {20 - done // 120}s - loss: 0.9{done}"
        yield f"2400/2400 [==============================] - 2{epoch % 3}s - loss: 0.8101 - val_loss: 0.9101     "


@pytest.mark.parametrize(("draws", "each"), [(True, 40), (False, 1)])
def test_bars_that_count_samples_are_counted_in_batches(draws, each):
    report = explain(run_of(list(keras_1(8, draws=draws))))
    assert int(report.run.steps.step[-1]) == 8 * each
    assert report.run.settings.count("max_steps") == 12 * each
    assert report.ledger.step.typical_s == pytest.approx(21.5 / each, rel=0.06)


def test_an_epoch_of_samples_under_way_counts_its_batches():
    lines = list(keras_1(5))
    run = run_of(lines[:-10])
    assert int(run.steps.step[-1]) == 4 * 40 + 30


def test_samples_are_counted_in_the_batches_that_rate_and_time_make():
    lines = ["Params:", "  epochs: 5", "  world_size: 4"]
    lines += [
        f"Train Epoch: {epoch} [{512 * batch:>6}/103000 ({batch // 2}%)] Data (t): 0.010 "
        f"Batch (t): 0.{500 + batch % 7}, {512 / 0.503:#g}/s LR: 0.0001 Loss: {8 - epoch}.5000 (8.7000)"
        for epoch in range(3)
        for batch in (1, 21, 41, 61, 81, 101, 121, 141, 161, 181, 201)
    ]
    report = explain(run_of(lines))
    assert report.run.format.name == "open_clip"
    assert int(report.run.steps.step[-1]) == 2 * 201 + 201
    assert report.run.settings.count("max_steps") == 5 * 201 - 1
    assert report.ledger.step.typical_s == pytest.approx(0.503, rel=0.01)


def test_a_log_that_begins_in_the_middle_of_an_epoch_finds_the_batch_too():
    line = "Train Epoch: 1 [{:>6}/103000 (9%)] Data (t): 0.010 Batch (t): 0.5{}, 1017.0/s LR: 0.1 Loss: 8.5 (8.7)"
    run = run_of([line.format(512 * batch, batch % 7) for batch in range(41, 201, 20)])
    assert run.settings.count("steps_per_epoch") == 201
    assert int(run.steps.step[0]) == 201 + 41


def test_a_level_and_a_name_before_the_moment_are_no_part_of_the_line():
    lines = ["INFO flwr 2024-01-02 03:00:00,100 | app.py:146 | Starting Flower server, config: num_rounds=20, x"]
    lines += [
        f"INFO flwr 2024-01-02 03:{n:02}:0{n % 3},100 | server.py:119 | fit progress: ({n}, {2 - n / 50}, "
        f"{{'accuracy': 0.{300 + n}}}, {n * 60 + n % 3}.5)"
        for n in range(1, 11)
    ]
    report = explain(run_of(lines))
    assert report.run.format.name == "flower"
    assert report.ledger.step.typical_s == pytest.approx(60, rel=0.03)
    assert report.forecast.remaining_s == pytest.approx(600, rel=0.03)


def test_rows_of_epochs_without_iterations_are_chainers_too():
    head = ["# epoch: 30", "epoch       main/loss   validation/main/loss  main/accuracy  elapsed_time"]
    rows = [
        f"{n:<12}0.{9000 - n * 11:<10}0.{9100 - n * 10:<20}0.{500 + n:<13}{n * 20.5 + n % 2:<12}" for n in range(1, 13)
    ]
    report = explain(run_of([*head, *rows]))
    assert report.run.format.name == "chainer_epochs"
    assert report.run.settings.count("max_steps") == 30
    assert report.ledger.step.typical_s == pytest.approx(20.5, rel=0.06)


def test_gensims_own_sum_is_an_end():
    head = "2024-01-02 03:{:02}:{:02},100 : INFO : "
    lines = [
        head.format(n, n % 3) + f"EPOCH - {n} : training on 812000 raw words (601200 effective words) took "
        f"{59 + n % 3}.{n % 7}s, 9900 effective words/s"
        for n in range(1, 9)
    ]
    end = (
        head.format(8, 30)
        + "training on a 6496000 raw words (4809600 effective words) took 480.5s, 9000 effective words/s"
    )
    assert explain(run_of(lines)).state.value != "finished"
    assert explain(run_of([*lines, end])).state.value == "finished"
