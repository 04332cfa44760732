"""What CatBoost writes into catboost_info: time_left.tsv and catboost_training.json."""

from __future__ import annotations

import json
from collections.abc import Iterator

from stepscope.formats._shared.json_values import figure_of, loss_of, object_of, objects_of
from stepscope.formats._shared.tables import NUMBER
from stepscope.lines.format import Clock, Document, Format, Line, Sample

_HEADER = ["iter", "Passed", "Remaining"]


def sniff(head: bytes) -> bool:
    """Whether a file is one of the two."""
    is_json = head.lstrip().startswith(b"{") and b'"iteration_count":' in head and b'"launch_mode":' in head
    return is_json or head.split(b"\n", 1)[0].decode("utf-8", errors="replace").split() == _HEADER


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per round."""
    text = blob.decode("utf-8", errors="replace")
    if text.lstrip().startswith("{"):
        yield from _from_json(text)
        return
    for line in text.splitlines():
        cells = line.split()
        is_row = len(cells) == len(_HEADER) and cells[0].isdigit()
        # Milliseconds, unlike everything else that CatBoost writes.
        yield (
            f"catboost_info: iteration {cells[0]} elapsed_ms {cells[1]}"
            if is_row
            else ("" if cells == _HEADER else line)
        )


def _from_json(text: str) -> Iterator[str]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    total = figure_of(object_of(object_of(document).get("meta")).get("iteration_count"))
    of = f" of {int(total)}" if total is not None else ""
    for row in objects_of(object_of(document).get("iterations")):
        elapsed_s, learn = figure_of(row.get("passed_time", 0)), row.get("learn")
        if elapsed_s is None:
            yield ""
            continue
        losses = [loss for value in learn if (loss := loss_of(value)) is not None] if isinstance(learn, list) else []
        tail = f" loss {losses[0]:.7g}" if losses else ""
        yield f"catboost_info: iteration {row.get('iteration')}{of} elapsed_ms {elapsed_s * 1e3:.3f}{tail}"


FORMAT = Format(
    title="CatBoost catboost_info",
    url="https://github.com/catboost/catboost",
    lines=(
        Line(
            "step",
            r"catboost_info: iteration (?P<step>\d+)(?: of (?P<total>\d+))? elapsed_ms (?P<elapsed_ms>[\d.]+)"
            rf"(?: loss (?P<loss>{NUMBER}))?$",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The time passed since the first round, in milliseconds in the table, in seconds in the JSON; scoring the "
        "test set is inside. The number of rounds is only in the JSON. The time remaining is the mean of a round x the "
        "rounds left.",
        restarts_with="process",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample("catboost_info: iteration 12 elapsed_ms 431", "step", {"step": 12, "elapsed_ms": 431}),
        Sample(
            "catboost_info: iteration 12 of 500 elapsed_ms 431.250 loss 0.75",
            "step",
            {"step": 12, "total": 500, "elapsed_ms": 431.25, "loss": 0.75},
        ),
        Sample("catboost_info: iteration 12 elap", None),
        Sample("iter\tPassed\tRemaining", None),
    ),
)
