"""A run folder of MLflow's file store (`mlruns`): all its metrics together, each with its moment and step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from stepscope.formats._shared.tables import MOMENT, logged_lines, table_lines
from stepscope.lines.format import Clock, Document, Format, Line, Sample
from stepscope.source.mlflow import HEAD

_NAME = "mlflow_run"
_VALUE = re.compile(r"(1\d{12}) (\S+)(?: (\d{1,15}))?")
# Names of the number of steps; other parameters are not read, as their names differ too much.
_TOTALS = ("max_steps", "max_iters", "total_steps", "num_steps", "num_train_steps", "max_iterations")


def sniff(head: bytes) -> bool:
    """Whether this is a run's folder as one document."""
    return head.startswith(HEAD)


def to_lines(blob: bytes) -> Iterator[str]:
    """The steps of the run, in their order."""
    try:
        run = json.loads(blob)["mlflow_run"]
        params, metrics = dict(run["params"]), {str(name): str(text) for name, text in dict(run["metrics"]).items()}
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    for name in _TOTALS:
        total = str(params.get(name, "")).strip()
        if total.isdecimal():
            yield f"{_NAME}: {name} = {total}"
            break
    yield from logged_lines(_NAME, _values(metrics))


def _values(metrics: dict[str, str]) -> Iterator[tuple[str, float, int, int]]:
    """Each value with its metric, its moment in milliseconds and its step, in the order of the steps."""
    found = []
    for name, text in metrics.items():
        for line in text.splitlines():
            match = _VALUE.match(line)
            if match is not None:
                try:
                    found.append((int(match[3] or 0), int(match[1]), name, float(match[2])))
                except ValueError:
                    continue
    for step, moment, name, value in sorted(found):
        yield name, value, moment, step


FORMAT = Format(
    title="MLflow run folder",
    url="https://github.com/mlflow/mlflow",
    lines=(
        *table_lines(_NAME, MOMENT),
        Line("fact", rf"{_NAME}: (?:{'|'.join(_TOTALS)}) = (?P<total>\d+)$"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The moment of each call to log_metric, in milliseconds: the difference of two holds everything that "
        "happened between them. Of a store with several runs the one logged to last is read. A value logged without a "
        "step has step 0. No ETA is written; a total is where the parameters name one.",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample(
            "mlflow_run: step 12 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 12, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample(
            "mlflow_run: evaluation step 12 unix_s 1731600001.000000 val_loss 3.5",
            "evaluation",
            {"step": 12, "val_loss": 3.5},
        ),
        Sample("mlflow_run: max_steps = 5000", "fact", {"total": 5000}),
        Sample("mlflow_run: batch_size = 32", None),
    ),
)
