"""Tables: which column is the step and which the clock, and that no table is read as another's."""

from __future__ import annotations

import contextlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import catalogue
from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
from stepscope.run.ending import find_ending
from tests.unit.test_tfevents import field, varint

WALL = 1731600000


def run_of(data):
    reader = LogReader(paths=["table"])
    reader.begin_file()
    reader.feed(data if isinstance(data, bytes) else data.encode())
    reader.end_file()
    return reader.run()


def table(header, *rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def objects(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("header", "rows", "name", "seconds"),
    [
        ("step,loss,elapsed", [(i, 2.5, 3 * i) for i in range(1, 6)], "csv_elapsed", 3),
        ("Step,loss,Wall time (s)", [(i, 2.5, 3 * i) for i in range(1, 6)], "csv_elapsed", 3),
        ("iter,time_elapsed_min", [(i, 0.5 * i) for i in range(1, 6)], "csv_elapsed", 30),
        ("epoch,time,train/box_loss", [(i, 30.5 * i, 1) for i in range(1, 6)], "csv_elapsed", 30.5),
        ("step,elapsed", [(i, f"0:0{i}:00") for i in range(1, 6)], "csv_elapsed", 60),
        ("step,loss,time", [(i, 2.5, 0.25) for i in range(5)], "csv_duration", 0.25),
        ("step,dt_ms", [(i, 250) for i in range(5)], "csv_duration", 0.25),
        ("step,ms/step", [(i, 250) for i in range(5)], "csv_duration", 0.25),
        ("step,steps_per_sec", [(i, 4) for i in range(5)], "csv_duration", 0.25),
        *(
            (f"{counter},loss,{name}", [(i, 2.5, value) for i in range(5)], "csv_duration", 0.25)
            for counter, name, value in [
                ("step", "step_sec", 0.25),
                ("step", "iter_ms", 250),
                ("step", "seconds", 0.25),
                ("step", "perf/step_seconds", 0.25),
                ("step", "train_step_wall_s", 0.25),
                ("epoch", "epoch_time", 0.25),
                ("epoch", "epoch_sec", 0.25),
                ("update", "update_time_ms", 250),
            ]
        ),
        # Parts of a step, and what only looks like a time.
        *(
            (f"step,loss,{name}", [(i, 2.5, 0.25) for i in range(5)], "csv_untimed", 0)
            for name in ("update_time", "optimizer_step_time", "step_min", "it_s", "rollout_sec", "tokens_per_step_s")
        ),
        ("step,timestamp,dt", [(i, WALL + i, 0.25) for i in range(5)], "csv_duration", 0.25),
        ("Wall time,Step,Value", [(WALL + 2 * i, i, 2.5) for i in range(5)], "csv_stamp", 2),
        ("step,ts", [(i, WALL * 1000 + 2000 * i) for i in range(5)], "csv_stamp", 2),
        ("step,time", [(i, f"2024-11-14 16:00:0{2 * i}") for i in range(5)], "csv_stamp", 2),
        ("step,date,loss", [(i, f"2024-11-14T16:00:0{2 * i}.5+01:00", 1) for i in range(5)], "csv_stamp", 2),
        ("step,loss", [(i, 2.5) for i in range(5)], "csv_untimed", 0),
        (",step,loss", [(i, f"{i}.0", 2.5) for i in range(5)], "csv_untimed", 0),
    ],
)
def test_the_clock_of_a_table_is_told_by_names_and_values(header, rows, name, seconds):
    run = run_of(table(header, *rows))
    assert run.format.name == name
    assert len(run) == len(rows)
    assert run.steps.dur_ns[-1] == seconds * 1_000_000_000
    assert run.num_unread == 0
    names = [name.strip() for name in header.split(",")]
    if all(names):
        as_json = run_of(objects(*(dict(zip(names, row, strict=True)) for row in rows)))
        assert as_json.format.name == name.replace("csv", "jsonl")
        assert as_json.steps.dur_ns.tolist() == run.steps.dur_ns.tolist()


def test_the_rows_of_one_step_are_one_step():
    """A logger that writes a row per call spreads a step over several."""
    run = run_of(table("epoch,step,lr-Adam,train_loss_step,val_loss", *[(0, s, 0.1, "", "") for s in (9,)]))
    assert run.steps.step.tolist() == [9]
    rows = [(0, 9, 0.1, "", ""), (0, 9, "", 4.5, ""), (0, 19, 0.1, "", ""), (0, 19, "", 4.25, ""), (0, 19, "", "", 4)]
    run = run_of(table("epoch,step,lr-Adam,train_loss_step,val_loss", *rows))
    assert run.steps.step.tolist() == [9, 19]
    assert run.steps.loss.tolist() == [4.5, 4.25]
    assert run.steps.line.tolist() == [2, 4]
    assert run.events.kind == ("evaluation",)
    assert run.events.val_loss.tolist() == [4]


def test_progress_of_stable_baselines():
    header = "time/time_elapsed,time/total_timesteps,time/iterations,train/loss,eval/mean_reward"
    run = run_of(
        table(header, (3, 1024, 1, "", ""), (6, 2048, 2, 0.5, ""), ("", 2500, "", 0.5, -7), (9, 3072, 3, 1, ""))
    )
    assert run.format.name == "sb3_progress"
    assert run.steps.step.tolist() == [1024, 2048, 3072]
    assert run.steps.seconds[1:].tolist() == pytest.approx([3, 3], abs=1e-5)
    assert run.events.step.tolist() == [2500]


def test_the_history_of_wandb_prefers_the_trainers_own_step():
    rows = [
        {"_step": i, "_timestamp": WALL + 8.5 * i, "_runtime": 8.5 * i, "iter": 100 * i, "loss": 1} for i in range(5)
    ]
    run = run_of(objects(*rows))
    assert run.format.name == "wandb_history"
    assert run.steps.step.tolist() == [0, 100, 200, 300, 400]
    assert run.steps.seconds.tolist() == pytest.approx([0, 8.5, 8.5, 8.5, 8.5])


def wandb_file(num_rows=4, filler=10):
    def item(key, value):
        text = json.dumps(value).encode()
        return field(1, field(1, key.encode()) + field(16, text))

    records = [field(17, field(1, b"id") + field(4, item("max_iters", 5000) + item("name", "small")))]
    for index in range(num_rows):
        row = item("_timestamp", WALL + 2.5 * index) + item("train/loss", 2.5) + item("note", "x" * filler)
        records.append(b"\x08" + varint(index) + field(2, row + field(2, b"\x08" + varint(10 * index))))
    data = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for payload in records:
        kinds, rest = [], payload
        while True:
            left = 32768 - len(data) % 32768
            if left < 7:
                data += b"\0" * left
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (3 if rest else 4) if kinds else (2 if rest else 1)
            kinds.append(kind)
            data += struct.pack("<IHB", 0, len(piece), kind) + piece
            if not rest:
                break
    return data


@pytest.mark.parametrize("filler", [10, 20_000, 70_000])
def test_the_run_file_of_wandb(filler):
    """Records may be cut into pieces at the ends of blocks."""
    run = run_of(wandb_file(filler=filler))
    assert run.format.name == "wandb_binary"
    assert run.steps.step.tolist() == [0, 10, 20, 30]
    assert run.steps.seconds.tolist() == pytest.approx([0, 2.5, 2.5, 2.5])
    assert run.settings.get("max_steps").value == 5000
    assert run.settings.get("name") is None


def test_a_metric_of_mlflow():
    run = run_of("".join(f"{WALL * 1000 + 500 * i} {2.5 - i} {10 * i}\n" for i in range(5)))
    assert run.format.name == "mlflow_metric"
    assert run.steps.seconds.tolist() == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    "text",
    [
        "name,price\nspoon,3\n",
        "step\n1\n2\n",
        "step,loss\n",  # no row yet
        "step,loss\nfirst,2.5\n",
        "the first step, then: the second\n1,2\n",
        objects({"timestamp": WALL, "gpus": 8}),
        objects({"current_steps": 5, "total_steps": 10, "step": 5}),
        '{\n  "step": 5\n}\n',
    ],
)
def test_what_is_no_table_of_steps_is_not_claimed(text):
    with pytest.raises(InputError):
        run_of(text)


def test_a_bad_row_is_counted_and_keeps_its_number():
    run = run_of("step,loss,elapsed\n1,2.5,1\n2,2.5,2\n3,2.5,3\n4,2.5,4\n5,2\n6,2.5,6\n")
    assert run.num_unread == 1
    assert run.first_unread[0][0] == 6
    assert run.steps.line.tolist() == [2, 3, 4, 5, 7]


def test_a_row_without_a_step_is_counted():
    run = run_of(table("step,loss,elapsed", *[(i, 2.5, 3 * i) for i in range(9)], ("nine", 2.5, 27)))
    assert (len(run), run.num_unread) == (9, 1)


TABLES = [
    table("step,loss,elapsed,val_loss", *[(i, 2.5, 3 * i, "") for i in range(9)]).encode(),
    table("step,timestamp,dt", *[(i, WALL + i, 0.25) for i in range(9)]).encode("utf-16"),
    objects(*({"step": i, "loss": 2.5, "time": 0.5, "x": {"y": [1]}} for i in range(9))).encode(),
    wandb_file(),
]


@given(st.sampled_from(TABLES), st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=6)), max_size=6))
def test_broken_bytes_never_raise(data, changes):
    for place, new in changes:
        start = place % len(data)
        data = data[:start] + new + data[start + len(new) // 2 :]
    for fmt in catalogue():
        if fmt.document is not None:
            fmt.document.sniff(data)
            with contextlib.suppress(InputError):  # a sentence about the damage will do
                list(fmt.document.to_lines(data))


@pytest.mark.parametrize(
    "cell", ["1e400", "-1", "nan", "9" * 5000, "٣", "1_000", "²", "[" * 2000, '"', "\x00", "\u2028"]
)
def test_odd_cells_never_raise(cell):
    rows, sound = "".join(f"{i},2,3\n" for i in range(9)), "".join(f'{{"step": {i}, "time": 2}}\n' for i in range(9))
    for data in (
        f"step,loss,time\n{rows}{cell},{cell},{cell}\n",
        f'{sound}{{"step": {cell}, "time": 3}}\n',
        f'{sound}{{"step": 9, "time": {cell}, "loss": {cell}}}\n',
    ):
        assert len(run_of(data)) >= 9


def test_a_row_that_marks_the_end_finishes_the_run():
    steps = [{"event": "step", "step": i, "loss": 2.5, "step_time_s": 3.0} for i in range(1, 9)]
    ended = run_of(objects(*steps, {"event": "done", "num_steps": 8}))
    assert find_ending(ended).value == "finished"
    assert find_ending(run_of(objects(*steps))) is None


@pytest.mark.parametrize("name", ["time/total", "timing/step"])
def test_the_whole_of_the_times_of_a_step_is_its_time(name):
    rows = [{"step": i, "loss": 2.5, name: 3.0 + i % 2, "time/train": 1.0} for i in range(1, 9)]
    assert run_of(objects(*rows)).steps.dur_ns[1:3].tolist() == [3 * 10**9, 4 * 10**9]


def test_a_column_of_totals_is_one_only_while_it_is_ahead_of_the_steps():
    planned = run_of(table("step,total_steps,elapsed", *((i, 90, 3 * i) for i in range(1, 9))))
    assert planned.settings.get("max_steps").value in {89, 90}
    counted = run_of(table("epoch,total_steps,elapsed", *((i, i - 1, 3 * i) for i in range(1, 9))))
    assert counted.settings.get("max_steps") is None


@pytest.mark.parametrize("first", [0, 1])
def test_the_share_done_says_how_many_steps_there_will_be(first):
    rows = [{"step": first + i, "loss": 2.5, "step_sec": 4.0, "progress/done_frac": (i + 1) / 40} for i in range(12)]
    run = run_of(objects(*rows))
    assert run.settings.count("max_steps") == 39 + first  # its last step
    uneven = [{**row, "progress/done_frac": row["progress/done_frac"] ** 2} for row in rows]
    assert run_of(objects(*uneven)).settings.count("max_steps") is None


@pytest.mark.parametrize("name", ["time/run_evals", "eval_runtime", "timing/validation", "val/time_s", "test_time"])
def test_a_column_may_say_what_evaluations_took(name):
    rows = [
        {"step": step, "loss": 2.5, "time/total": 30.0 + (9.5 if step % 5 == 0 else 0) + step % 3 / 10}
        | ({name: 9.5} if step % 5 == 0 else {})
        for step in range(40)
    ]
    run = run_of("".join(json.dumps(row) + "\n" for row in rows))
    found = {phase.phase: phase for phase in explain(run).ledger.phases}
    assert found["evaluation"].seconds == pytest.approx(8 * 9.5, rel=0.2)
    assert found["evaluation"].num == 8


@pytest.mark.parametrize(
    ("settings", "total"),
    [
        ({"lr": 0.1, "num_steps": 500}, 499),
        ({"config": {"train": {"max_steps": 300}, "seed": 1}}, 299),
        ({"num_steps": 20}, None),  # fewer than were done
        ({"num_steps": 500, "max_steps": 300}, None),  # of two trainings, or of something else
    ],
)
def test_a_row_of_settings_before_the_first_step_says_how_many_there_will_be(settings, total):
    rows = [settings, *({"step": step, "loss": 2.5, "dt": 0.5 + step % 3 / 100} for step in range(40))]
    assert run_of("".join(json.dumps(row) + "\n" for row in rows)).settings.count("max_steps") == total
