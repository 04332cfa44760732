"""Mutations that know a file's structure: trees of JSON, cells of tables, fields of binary records.

Bytes that are changed by chance mostly end at the first check of a reader. What is made here is a sound file of its
kind whose values, names and nesting are not what anybody would write.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sqlite3
from collections.abc import Callable
from typing import Any

from tests.unit.test_chrome_trace import Trace
from tests.unit.test_document_formats import _console, _otlp, _traced_training
from tests.unit.test_stores import event as mlperf_event
from tests.unit.test_tfevents import VERSION, event, field, record, scalar, tensor_scalar, varint
from tests.unit.test_traceml import summary

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 31, 1 << 53, 1 << 63, -(1 << 63), 10**40, 10**400),
    *(0.5, -0.5, 1e-320, 1e18, 1e300, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "x",
        "nan",
        "-inf",
        "1e999",
        "12",
        "0x1f",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "2024-11-14 16:00:00",
    ),
    *("9999-12-31T23:59:59Z", "0001-01-01", "1970-01-01T00:00:00+14:00", "y" * 3000, [], {}, [[]], [1], {"x": {}}),
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def odd(dice: random.Random) -> Any:
    """A value that nobody expects."""
    return copy.deepcopy(dice.choice(ODD_VALUES))


def mangle_tree(dice: random.Random, tree: Any, most: int = 6) -> Any:
    """A copy of a document in which some values, names or branches are others."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    for _ in range(dice.choice((0, 1, 1, 2, most))):
        if not places:
            break
        parent, key = dice.choice(places)
        try:
            _change(dice, parent, key)
        except LookupError:
            continue  # that branch went with another one
    return tree


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in items:
        found.append((tree, key))
        found += _places(inner)
    return found


def _change(dice: random.Random, parent: Any, key: Any) -> None:
    value = parent[key]
    match dice.randrange(8):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[dice.choice((*parent, "", "x", "\x1b", "step", "time"))] = parent.pop(key)
        case 1 | 2 if isinstance(parent, list):
            parent.insert(dice.randint(0, len(parent)), copy.deepcopy(value))
        case 3:
            parent[key] = [value]
        case 4 if isinstance(value, (int, float)) and not isinstance(value, bool):
            parent[key] = dice.choice((-value, str(value), 0, value * 1000 if abs(value) < 1e300 else 0, value + 1))
        case 5 if isinstance(parent, list) and len(parent) > 1:
            other = dice.randrange(len(parent))
            parent[key], parent[other] = parent[other], value
        case _:
            parent[key] = odd(dice)


def to_json(value: Any, indent: int | None = None) -> bytes:
    """JSON as some write it: numbers that are none are in it."""
    return json.dumps(value, indent=indent, ensure_ascii=True).encode()


def mangle_cells(dice: random.Random, text: str, most: int = 4) -> str:
    """A text in which some numbers are others."""
    found = list(_NUMBER.finditer(text))
    for number in sorted(
        dice.sample(found, min(len(found), dice.choice((0, 1, 2, most)))), key=lambda one: -one.start()
    ):
        value = dice.choice(
            ("", "-", "-1", "0", "nan", "N/A", "[Not Supported]", "1e40", "9" * 25, "4294967296", "0.0")
        )
        text = text[: number.start()] + value + text[number.end() :]
    return text


def event_file(dice: random.Random) -> bytes:
    """A TensorBoard file whose frames are sound and whose messages are not."""
    data, now, step = VERSION, 1.7316e9, 0
    for _ in range(dice.randint(1, 14)):
        now += dice.choice((2.0, 2.0, 0.0, -30.0, 1e6, float("nan"), float("inf"), -1e300))
        step += dice.choice((1, 10, 10, 0, -5, 1 << 40, (1 << 63) - 1))
        value = dice.choice((2.5, 0.0, float("nan"), float("inf"), -1e30))
        tag = dice.choice(
            ("train/loss", "loss", "val/loss", "eval/loss", "", "x" * 500, "time/step", "\ud800", "epoch")
        )
        name = tag.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        body = scalar(name, value) if dice.random() < 0.7 else tensor_scalar(name, value, packed=dice.random() < 0.5)
        message = event(now, step & ((1 << 64) - 1), body)
        if dice.random() < 0.2:
            message = _bent(dice, message)
        data += record(message)
    return data


def _bent(dice: random.Random, message: bytes) -> bytes:
    """A message with a field more, a length that is not true, or a part missing."""
    at = dice.randrange(len(message))
    return dice.choice(
        (
            message[:at],
            message + field(dice.choice((1, 5, 9, 536_870_911)), message),
            message[:at] + bytes([dice.randrange(256)]) + message[at + 1 :],
            varint(dice.choice((0, 7, 1 << 70))) + message,
        )
    )


def database(dice: random.Random) -> bytes:
    """A SQLite file whose tables are others than those of MLflow, and sound."""
    base = sqlite3.connect(":memory:")
    columns = ["key", "value", "timestamp", "run_uuid", "step", "is_nan"]
    if dice.random() < 0.3:
        columns[dice.randrange(6)] = dice.choice(("x", "order", "a b"))
    names = ", ".join(f'"{name}"' for name in columns)
    base.execute(f"create table metrics ({names})" if dice.random() < 0.9 else f"create table other ({names})")
    if dice.random() < 0.3:
        base.execute("create table runs (run_uuid, status, start_time, end_time)")
        base.execute("insert into runs values (?, ?, ?, ?)", ("r", _cell(dice), _cell(dice), _cell(dice)))
    for i in range(dice.randint(0, 20)):
        key = dice.choice(("loss", "val_loss", "epoch", b"\xff", None, "a/b"))
        row = [key, 2.5, 1_760_000_000_000 + i * 1000, "r", i, 0]
        row = [_cell(dice) if dice.random() < 0.05 else own for own in row]
        if dice.random() < 0.95:
            table = base.execute("select name from sqlite_master").fetchone()[0]
            base.execute(f"insert into {table} values (?, ?, ?, ?, ?, ?)", row)
    base.commit()
    data = base.serialize()
    base.close()
    return data


def _cell(dice: random.Random) -> Any:
    return dice.choice(
        (None, "", "x", b"", b"\xff\xfe", -1, 0, 1 << 62, -(1 << 63), 1e300, "1e999", "9" * 40, "2024-01-01")
    )


# -- documents -------------------------------------------------------------------------------------------------


def _profile(dice: random.Random) -> bytes:
    trace, mark = Trace(), dice.choice(("ProfilerStep#{}", "train", ""))
    for number in range(dice.randint(1, 10)):
        stops = (("evaluation", 1.5), ("save_checkpoint", 0.4)) if dice.random() < 0.2 else ()
        trace.step(mark.format(number), 0.1, *stops, **({"args": {"step_num": str(number)}} if mark == "train" else {}))
    return to_json(mangle_tree(dice, json.loads(trace.text())), dice.choice((None, 1)))


def _summary(dice: random.Random) -> bytes:
    return to_json(mangle_tree(dice, summary((240.0, 20.0), (280.0, 80.0))), 1)


def _spans(dice: random.Random) -> bytes:
    spans = _traced_training()[: dice.choice((6, 18, 40, 99))]
    text = dice.choice((_console, _otlp))(dice.sample(spans, len(spans)) if dice.random() < 0.2 else spans)
    return b"\n".join(to_json(mangle_tree(dice, json.loads(line), 2)) for line in text.splitlines()) + b"\n"


def _ticks(dice: random.Random) -> bytes:
    def figure(mean: float) -> dict[str, float]:
        return {"num": 1, "mean": mean, "std": 0.0}

    rows = [
        {
            "Progress/tick": figure(tick),
            "Timing/total_sec": figure(30 + 20 * tick),
            "Timing/maintenance_sec": figure(100 if tick == 5 else 0.1),
            "timestamp": 1.7e9 + 20 * tick,
        }
        for tick in range(dice.randint(1, 9))
    ]
    return b"\n".join(to_json(mangle_tree(dice, row, 2)) for row in rows)


def _rounds(dice: random.Random) -> bytes:
    rounds = [{"learn": [0.5], "iteration": at, "passed_time": 0.2 * (at + 1)} for at in range(dice.randint(0, 12))]
    meta = {"test_sets": [], "launch_mode": "Train", "iteration_count": 300}
    return to_json(mangle_tree(dice, {"meta": meta, "iterations": rounds}))


def _history(dice: random.Random) -> bytes:
    rows = [
        {"_step": i, "_timestamp": 1.7316e9 + 8.5 * i, "_runtime": 8.5 * i, "iter": 100 * i, "loss": 1}
        for i in range(8)
    ]
    return b"\n".join(to_json(mangle_tree(dice, row, 2)) for row in rows[: dice.randint(1, 8)])


def _events_of_mlperf(dice: random.Random) -> bytes:
    lines, now = [mlperf_event("run_start", 0)], 0.0
    for number in range(1, dice.randint(2, 8)):
        now += 50
        lines += [
            mlperf_event(key, now, samples_count=100 * number) for key in ("eval_start", "eval_accuracy", "eval_stop")
        ]
    lines.append(mlperf_event("run_stop", now))
    bent = [line[:9] + to_json(mangle_tree(dice, json.loads(line[9:]), 1)).decode() for line in lines]
    return "\n".join(bent).encode()


def _wide_table(dice: random.Random) -> bytes:
    names, width = ("Iteration", "Wall_Time", "Samples", "Return"), 25
    rows = [(50 * at, at / 10, 900 * at, 1.5) for at in range(dice.randint(1, 12))]
    body = "\n".join("".join(str(cell).ljust(width) for cell in row) for row in (names, *rows))
    return mangle_cells(dice, body).encode()


def _progress(dice: random.Random) -> bytes:
    rows = "".join(f"{3 * at},{1024 * at},{at},0.5,\n" for at in range(1, dice.randint(2, 12)))
    head = "time/time_elapsed,time/total_timesteps,time/iterations,train/loss,eval/mean_reward\n"
    return mangle_cells(dice, head + rows).encode()


DOCUMENTS: tuple[Callable[[random.Random], bytes], ...] = (
    _profile,
    _summary,
    _spans,
    _ticks,
    _rounds,
    _history,
    _events_of_mlperf,
    _wide_table,
    _progress,
)
