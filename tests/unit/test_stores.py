"""Files that hold a run without being its log: MLflow's database, MLPerf's events; and figures told a line ahead."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.report.terminal import render


def read_bytes(data):
    reader = LogReader(paths=["run"])
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return reader.run()


def read_lines(*lines):
    return read_bytes("".join(f"{line}\n" for line in lines).encode())


def mlflow_store(metrics):
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute("CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan)")
        store.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 0)", metrics)
        store.commit()
        return store.serialize()


def test_of_an_mlflow_database_the_run_logged_to_last_is_read():
    earlier = [("loss", 9.0, 1_700_000_000_000 + 1000 * step, "a", step) for step in range(5)]
    later = [("train_loss", 3.0, 1_800_000_000_000 + 2000 * step, "b", step) for step in range(8)]
    later.append(("val_loss", 2.5, 1_800_000_014_500, "b", 7))
    run = read_bytes(mlflow_store(earlier + later))
    assert run.format.name == "mlflow_db"
    assert run.steps.step.tolist() == list(range(8))
    assert run.steps.seconds[1:7] == pytest.approx(2.0)
    assert run.events.kind.count("evaluation") == 1


def test_a_database_without_metrics_has_no_steps():
    assert len(read_bytes(mlflow_store([]))) == 0


def event(key, at_s, **about):
    return f":::MLLOG {json.dumps({'key': key, 'metadata': about, 'value': None, 'time_ms': int(1.8e12 + at_s * 1e3)})}"


def test_mlperf_events_give_training_apart_from_evaluation():
    """Four blocks of 100 samples at half a second each, an evaluation of 7 s after each of them."""
    lines, now = [event("init_stop", 0), event("run_start", 10)], 10.0
    for block in range(1, 5):
        now += 50
        lines += [event("eval_start", now, samples_count=100 * block)]
        now += 7
        lines += [event("eval_accuracy", now, samples_count=100 * block), event("eval_stop", now)]
    lines.append(event("run_stop", now))
    run = read_lines(*lines)
    report = explain(run)
    assert run.format.name == "mlperf_events"
    assert run.steps.seconds / run.steps.span == pytest.approx(0.5)
    assert report.ledger.wall_s == pytest.approx(4 * 57)
    assert report.ledger.seconds("evaluation") == pytest.approx(3 * 7, abs=7.1)


def test_fractions_of_an_epoch_count_in_thousandths():
    lines = [event("run_start", 0)]
    for n in range(1, 6):
        lines += [event(key, 20 * n, epoch_num=1 + 0.05 * n) for key in ("eval_start", "eval_accuracy")]
    run = read_lines(*lines)
    assert run.steps.step.tolist() == [1050, 1100, 1150, 1200, 1250]
    assert run.steps.span.tolist() == [50] * 5


def test_a_clock_told_on_the_line_before_belongs_to_the_step():
    tables = [
        line
        for n in range(1, 6)
        for line in (
            f"|    time_elapsed         | {10 * n}          |",
            f"|    total_timesteps      | {2048 * n}       |",
            f"|    loss                 | {0.5 / n:.3f}       |",
        )
    ]
    run = read_lines(*tables, "| eval/ | |", "|    total_timesteps      | 99999       |")
    assert run.format.name == "sb3_table"
    assert run.steps.step.tolist() == [2048 * n for n in range(1, 6)]
    assert run.steps.seconds[1:] == pytest.approx(10 / 2048 * 2048)
    assert run.steps.loss[1] == 0.25


def test_steps_printed_as_thousands_are_counted_on():
    rows = [f"{step}" if step < 1000 else f"{step / 1000:.0f}K" for step in range(200, 4001, 200)]
    lines = [
        f"INFO 2025-03-04 05:{n // 6:02d}:{n % 6 * 10:02d} train.py:23 step:{row} smpl:5K ep:2 epch:0.2 loss:1.2 x:1"
        for n, row in enumerate(rows)
    ]
    run = read_lines(*lines)
    assert run.steps.step.tolist() == list(range(200, 4001, 200))


def test_the_clock_of_an_epoch_runs_on_through_the_run():
    bars = [
        f"Epoch {epoch}: 50%|█████     | {batch}/20 [00:{2 * batch:02d}<00:10,  0.50it/s, v_num=0, train_loss=0.5]"
        for epoch in range(3)
        for batch in (5, 10, 15, 20)
    ]
    run = read_lines(*bars)
    assert run.format.name == "lightning_bar"
    assert run.steps.step[-1] == 60
    assert run.steps.seconds.sum() == pytest.approx(120)
    assert len(run.segments) == 1


def test_the_seconds_of_a_whole_window_are_shared_among_its_steps():
    lines = ["INFO:tensorflow:loss = 2.0, step = 1"]
    lines += [f"INFO:tensorflow:loss = 1.9, step = {1 + 100 * n} (25.000 sec)" for n in range(1, 6)]
    run = read_lines(*lines)
    assert run.steps.span.tolist() == [0, 100, 100, 100, 100, 100]
    assert run.steps.seconds[1:] == pytest.approx(25)


def caffe_lines(before):
    lines = ["Solving net", "Iteration 0 (0 iter/s, 0.4s/100 iters), loss = 7"]
    lines += [f"Iteration {100 * n} (5 iter/s, 20s/100 iters), loss = 6" for n in range(1, 6)]
    return [before(n) + line for n, line in enumerate(lines)]


def test_caffes_moments_are_its_clock_and_without_them_its_own_seconds():
    """An old Caffe prints no time at all; a log without moments has only what the lines print."""
    stamped = read_lines(*caffe_lines(lambda n: f"I0304 05:06:{10 * n:02d}.000000  77 solver.cpp:218] "))
    assert stamped.steps.seconds[1:] == pytest.approx(10.0)
    bare = read_lines(*caffe_lines(lambda _: ""))
    assert bare.steps.seconds[1:] == pytest.approx(20.0)


def test_the_rows_stamps_are_their_own_whatever_else_was_stamped_before():
    """A launcher's stamp with a zone, then rows with local ones: the rows' are the clock."""
    rows = [
        f"2024-05-25 14:35:{10 * n:02d},250 Epoch[0] Batch [{20 * n}]\tSpeed: 90.1 samples/sec" for n in range(1, 6)
    ]
    run = read_lines("[2024-05-25T14:35:01Z] Epoch[0] Train-accuracy=0.1", *rows)
    assert run.steps.seconds[1:] == pytest.approx(10)


def mlflow_folder(store, run, metrics, params=(), start=1_731_600_000_000):
    folder = store / "0" / run
    for kind in ("metrics", "params"):
        (folder / kind).mkdir(parents=True)
    (folder / "meta.yaml").write_text(f"run_id: {run}\n")
    (store / "0" / "meta.yaml").write_text("name: Default\n")
    for name, values in metrics.items():
        path = folder / "metrics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{start + moment} {value} {step}\n" for moment, value, step in values))
    for name, value in params:
        (folder / "params" / name).write_text(value)
    return folder


def test_of_an_mlflow_store_the_run_logged_to_last_is_read_whole(tmp_path):
    steps = [(1000 * step + 5000 * (step >= 3), 3.5 - step, step) for step in range(6)]
    old = mlflow_folder(tmp_path, "old", {"loss": steps[:2]})
    new = mlflow_folder(
        tmp_path,
        "new",
        {"train/loss": steps, "val_loss": [(7900, 2.25, 3)], "system/cpu": [(1, 50, 0), (99_000, 50, 9)]},
        [("max_iters", "400"), ("note", "x" * 9999)],
    )
    os.utime(old / "metrics" / "loss", (1, 1))
    for folder in (tmp_path, tmp_path / "0", new):
        run = read(str(folder))
        assert run.format.name == "mlflow_run"
        assert run.steps.step.tolist() == [0, 1, 2, 3, 4, 5]
        assert run.steps.seconds.tolist() == pytest.approx([0, 1, 1, 6, 1, 1])
        assert run.events.step.tolist() == [3]
        assert run.settings.get("max_steps").value == 399


@pytest.mark.parametrize("text", ["", "no numbers\n", "1731600000000 nan\n", "9" * 400 + " 1 1\n"])
def test_an_mlflow_metric_that_is_none_does_no_harm(tmp_path, text):
    folder = mlflow_folder(tmp_path, "run", {"loss": [(500 * step, 1, step) for step in range(4)]})
    (folder / "metrics" / "odd").write_text(text)
    assert len(read(str(tmp_path))) == 4


def test_of_the_trainers_folder_the_file_with_times_is_read(tmp_path):
    state = {"global_step": 40, "log_history": [{"loss": 1.5, "step": step} for step in range(10, 50, 10)]}
    for name in ("checkpoint-20", "checkpoint-40"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trainer_state.json").write_text(json.dumps(state, indent=2))
    (tmp_path / "train_results.json").write_text('{"epoch": 1.0, "train_loss": 1.5, "train_runtime": 100.0}')
    assert read(str(tmp_path)).format.name == "hf_trainer_state"
    bars = "".join(f"\r{at * 5:3d}%|#| {at}/20 [00:{at:02d}<00:{20 - at:02d},  1.00it/s]" for at in range(1, 21))
    losses = "{'loss': 1.5, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.5}"
    (tmp_path / "console.out").write_text(f"{bars}\n{losses}\n")
    assert read(str(tmp_path)).format.name == "hf_trainer"


def test_saves_that_say_how_long_they_took_are_no_guess():
    wall, lines = 5, []
    for step in range(100, 3001, 100):
        wall += 40
        lines.append(f'train_inner | {{"epoch": 1, "loss": "9.25", "num_updates": "{step}", "wall": "{wall}"}}')
        if step % 1000 == 0:
            wall += 36
            lines.append(f'valid | {{"epoch": 1, "valid_loss": "6.75", "valid_num_updates": "{step}"}}')
            lines.append(
                f"fairseq.checkpoint_utils | Saved checkpoint c.pt (epoch 1 @ {step} updates, score 6.75) "
                "(writing took 3.25 seconds)"
            )
    report = explain(read_lines(*lines))
    save = next(total for total in report.ledger.phases if total.phase == "checkpoint")
    assert save.basis == "measured"
    assert "cannot separate" not in render(report, Language.load("en"))


def test_the_trainers_state_of_a_finished_run_tells_where_its_time_went():
    history = [{"loss": 1.5, "step": step} for step in range(10, 110, 10)]
    history += [{"eval_loss": 1.25, "eval_runtime": 12.5, "step": 100}, {"train_runtime": 125.0, "step": 100}]
    report = explain(read_bytes(json.dumps({"global_step": 100, "log_history": history}).encode()))
    seconds = {total.phase: (total.seconds, total.basis) for total in report.ledger.phases}
    assert seconds == {"evaluation": (12.5, "measured"), "step": (112.5, "inferred")}
    assert report.ledger.wall_s == 125
    assert "Where the time went" in render(report, Language.load("en"))
