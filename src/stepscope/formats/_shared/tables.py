"""Tables of metrics, CSV or one JSON object per line, as lines that the table formats read.

Which of those formats a file belongs to is decided here, once, so that no two of them claim the same file. What a
column means is `table_columns.py`'s business. The lines keep the numbering of the file: a row without news is a blank
line.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from stepscope.formats._shared.metric_names import is_evaluation
from stepscope.formats._shared.table_columns import (
    Columns,
    Row,
    find_columns,
    first_numbers,
    moment_of,
    seconds_of,
    steps_of,
    times_of,
)
from stepscope.lines.format import Line
from stepscope.source.encodings import decode_text

_SNIFF_BYTES = 4096
_JUDGED_ROWS = 20_000
_MAX_DEPTH = 4
_STATISTICS = frozenset({"num", "count", "n", "std", "min", "max"})
_MAX_HEADER_CELL = 120
_DELIMITERS = ",;\t"
_SPLIT_CHARS = 1 << 16  # the csv module refuses longer cells
_MIN_SOUND = 0.8  # the share of the first lines that must be rows
# Logs of other trainers that look like tables: each has its own format, or none.
_OTHERS = (
    {"current_steps", "total_steps"},
    {"global_step/max_steps"},
    {"data_time", "time", "iter"},
    {"data_time", "time", "step"},
    {"mode", "epoch", "iter"},
    {"log_type_name", "time_us"},  # spans
    {"name", "start_time", "end_time"},
    {"name", "startTimeUnixNano", "endTimeUnixNano"},
    {"resourceSpans"},
    {"Progress/tick", "Timing/total_sec"},
)
_ENDS = frozenset(
    ("done", "finished", "complete", "completed", "end", "train_end", "training_end", "training_complete", "run_end")
)
_END_OF_LINE = re.compile(r"\r\n|\n|\r")
NUMBER = r"-?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"
_MOMENT = r"(?: unix_s (?P<unix_s>[\d.]+)| stamp (?P<stamp>\S+))"
_TOTAL = r"(?: of (?P<total>\d+))?"


@dataclass(frozen=True)
class _Table:
    """A table's rows in the order of its lines: a row, None for a line without one, or the text of a bad line."""

    names: tuple[str, ...]
    lines: list[Row | str | None]
    is_json: bool

    @cached_property
    def rows(self) -> list[Row]:
        return [line for line in self.lines if line is not None and not isinstance(line, str)]

    @cached_property
    def columns(self) -> Columns | None:
        """What its columns mean, by its first rows."""
        return find_columns(self.names, self.rows[:_JUDGED_ROWS])


def table_lines(name: str, figure: str) -> tuple[Line, ...]:
    """The lines of the table format `name`; `figure` is the pattern of its clock."""
    return (
        Line("step", rf"{name}: step (?P<step>\d+){_TOTAL}{figure}(?: loss (?P<loss>{NUMBER}))?$"),
        Line(
            "evaluation",
            rf"{name}: evaluation(?: step (?P<step>\d+))?{_MOMENT}?(?: val_loss (?P<val_loss>{NUMBER}))?"
            r"(?: took_s (?P<took_s>[\d.]+))?$",
        ),
    )


MOMENT = _MOMENT
_MOST_S = 1e8
ELAPSED = rf" elapsed_s (?P<elapsed_s>[\d.]+){_MOMENT}?"
DURATION = rf" dur_s (?P<dur_s>[\d.]+){_MOMENT}?"


def sniffer(name: str) -> Callable[[bytes], bool]:
    """The `sniff` of the table format `name`."""
    return partial(_is_claimed_by, name)


def writer(name: str) -> Callable[[bytes], Iterator[str]]:
    """The `to_lines` of the table format `name`."""
    return partial(_to_lines, name)


def first_lines(head: bytes) -> list[str]:
    """The lines of a file's beginning: a table is only what no format of plain lines knows better."""
    lines = _split(decode_text(head[:_SNIFF_BYTES]))
    return lines[:-1] if len(head) >= _SNIFF_BYTES else lines  # the last one may be cut in two


def _is_claimed_by(name: str, head: bytes) -> bool:
    return _claimant(head) == name


@lru_cache(maxsize=4)
def _claimant(head: bytes) -> str | None:
    """The name of the table format a file belongs to, by its first bytes."""
    table = _table(head)
    if table is None or not table.rows:
        return None
    # The last line may be cut in two.
    bad = sum(isinstance(line, str) for line in table.lines[:-1])
    if bad > (1 - _MIN_SOUND) * (bad + len(table.rows)):
        return None
    columns = table.columns
    if columns is None or any(other <= set(table.names) for other in _OTHERS):
        return None
    names = set(table.names)
    is_json = table.is_json
    if is_json and columns.stamp is not None and {"_step", "_timestamp"} <= names:
        return "wandb_history"
    if not is_json and columns.kind == "elapsed" and {"time/time_elapsed", "time/total_timesteps"} <= names:
        return "sb3_progress"
    return f"{'jsonl' if is_json else 'csv'}_{columns.kind}"


def _to_lines(name: str, blob: bytes) -> Iterator[str]:
    table = _table(blob)
    columns = table.columns if table else None
    if table is None or columns is None:
        return
    _table.cache_clear()  # its rows take many times the bytes of the file
    if name == "wandb_history":
        columns = columns._replace(kind="stamp", clock=columns.stamp)
    yield from write_rows(name, table.lines, columns.with_metrics(table.names))


@lru_cache(maxsize=2)
def _table(blob: bytes) -> _Table | None:
    """The table in these bytes, parsed once for finding out what it is and for reading it."""
    return _parse(_split(decode_text(blob)))


def _split(text: str) -> list[str]:
    lines = _END_OF_LINE.split(text)
    return lines[:-1] if not lines[-1] else lines


def _end_of(row: Row) -> str | None:
    """What a row says that marks the end of the run, `{"event": "done"}`, in words that say so in any log."""
    for key in ("event", "type", "status"):
        if str(row.get(key, "")).lower() in _ENDS:
            return f"training finished: {key} {row[key]}"
    return None


def write_rows(name: str, lines: Sequence[Row | str | None], columns: Columns) -> Iterator[str]:
    """Each row as a line of the format `name`: a step, an evaluation, or, one after the other, both."""
    rows = [line for line in lines if line is not None and not isinstance(line, str)]
    numbers = zip(steps_of(rows, columns), times_of(rows, columns), first_numbers(rows, columns.losses), strict=True)
    write = _step_writer(name, columns)
    held: Row | None = None  # the last step, for as long as rows of the same step may complete it
    held_step, held_s, held_loss = 0, 0.0, None
    after: list[str] = []
    first: int | None = None  # the first step: a table that begins above 0 counts up to its total
    for line in lines:
        if line is None or isinstance(line, str):
            after.append(line or "")
            continue
        step, seconds, loss = next(numbers)
        evaluation = _evaluation(name, line, step, columns) if columns.evaluations or columns.evaluation_times else None
        if step is None or seconds is None or (evaluation is not None and not _is_step(line, columns)):
            # A row that belongs to no step counts as not understood: no line of the format looks like this.
            rest = "" if step is not None else _end_of(line) or f"{name}: a row without a step"
            after.append(evaluation or rest)
            continue
        if held is not None and step == held_step and _can_merge(held, line, columns):
            held = {**line, **{key: value for key, value in held.items() if value not in (None, "")}}
            held_s = times_of([held], columns)[0] or 0.0
            held_loss = first_numbers([held], columns.losses)[0]
            after.append(evaluation or "")
            continue
        first = step if first is None else first
        if held is not None:
            yield write(held, held_step, held_s, held_loss, int(bool(first)))
        if after:
            yield from after
            after = []
        if evaluation is not None:
            yield evaluation
        held, held_step, held_s, held_loss = line, step, seconds, loss
    if held is not None:
        yield write(held, held_step, held_s, held_loss, int(bool(first)))
    yield from after


def _can_merge(one: Row, other: Row, columns: Columns) -> bool:
    """A logger that writes a row per call spreads one step over several; two times are two steps."""
    if columns.kind == "duration":
        return seconds_of(one, columns.clock) is None or seconds_of(other, columns.clock) is None
    return True


def _is_step(row: Row, columns: Columns) -> bool:
    """Whether a row with an evaluation is a step, too: with nothing but an evaluation's metrics it is none."""
    clocks = {clock.name for clock in (columns.clock, columns.stamp) if clock is not None}
    keys = {columns.step, "epoch", "_step", "_runtime", "_timestamp", *clocks}
    return columns.kind == "duration" or any(
        value not in (None, "") and key not in keys and not is_evaluation(key) for key, value in row.items()
    )


def _step_writer(name: str, columns: Columns) -> Callable[[Row, int, float, float | None, int], str]:
    """What writes a row as the line of a step: the row, its number, seconds and loss, and how far totals are beyond."""
    label = {"elapsed": " elapsed_s ", "duration": " dur_s "}.get(columns.kind)
    totals = columns._replace(step=columns.total) if columns.total else None

    num_steps, stamp = columns.num_steps, columns.stamp

    def write(row: Row, step: int, seconds: float, loss: float | None, beyond: int) -> str:
        text = f"{name}: step {step}"
        total = num_steps if totals is None else steps_of([row], totals)[0]
        if total:
            text += f" of {total + beyond}"
        if label is not None:
            text += f"{label}{seconds:.9f}"
        if stamp is not None:
            text += moment_of(row, stamp) or ""
        return text if loss is None else f"{text} loss {loss:.7g}"

    return write


def _evaluation(name: str, row: Row, step: int | None, columns: Columns) -> str | None:
    took = first_numbers([row], columns.evaluation_times)[0]
    took_s = took if took is not None and 0 < took < _MOST_S else None
    if took_s is None and all(row.get(key) in (None, "") for key in columns.evaluations):
        return None
    text = f"{name}: evaluation" + (f" step {step}" if step is not None else "")
    text += moment_of(row, columns.stamp) or ""
    loss = first_numbers([row], columns.val_losses)[0]
    text += "" if loss is None else f" val_loss {loss:.7g}"
    return text if took_s is None else f"{text} took_s {took_s:.9f}"


def _is_json(lines: Sequence[str]) -> bool:
    return next((line for line in lines if line.strip()), "").lstrip().startswith("{")


def _parse(lines: Sequence[str]) -> _Table | None:
    return _parse_json(lines) if _is_json(lines) else _parse_csv(lines)


def _parse_json(lines: Sequence[str]) -> _Table:
    names: dict[str, None] = {}
    found: list[Row | str | None] = []
    for line in lines:
        if not line.strip():
            found.append(None)
            continue
        row = parse_object(line)
        found.append(line if row is None else row)
        names.update(dict.fromkeys(row or ()))
    return _Table(tuple(names), found, is_json=True)


def parse_object(text: str) -> dict[str, object] | None:
    """A JSON object, its inner objects' keys joined by `/`; None when it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    flat: dict[str, object] = {}
    _flatten(value, "", flat, _MAX_DEPTH)
    return flat


def _flatten(value: Mapping[str, object], before: str, flat: dict[str, object], depth: int) -> None:
    for key, inner in value.items():
        if not isinstance(inner, dict) or not depth:
            flat[before + key] = inner
        elif "mean" in inner and _STATISTICS & inner.keys():
            flat[before + key] = inner["mean"]  # `{"num": 1, "mean": 12.3, "std": 0.0}` is a figure with its spread
        else:
            _flatten(inner, f"{before}{key}/", flat, depth - 1)


def _parse_csv(lines: Sequence[str]) -> _Table | None:
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    delimiter = max(_DELIMITERS, key=lines[first].count)
    names = _cells(lines[first], delimiter)
    if names is None or not _is_header(names):
        return None
    found: list[Row | str | None] = [None] * (first + 1)
    below = lines[first + 1 :]
    is_plain = _are_plain(below, delimiter)
    for line in below:
        cells = line.split(delimiter) if is_plain else _cells(line, delimiter) if line.strip() else []
        if not cells or not line or cells == names:
            # A second header is that of a process which appended to the table of the one before.
            found.append(None)
        elif len(cells) == len(names):
            found.append(dict(zip(names, cells, strict=True)))
        else:
            found.append(line)
    return _Table(tuple(names), found, is_json=False)


def _are_plain(lines: Sequence[str], delimiter: str) -> bool:
    """Whether no cell has anything to strip or is in quotes, so that the lines need only be split."""
    text = "".join(lines).replace(delimiter, "")
    is_dense = text.isascii() and text.isprintable() and " " not in text and '"' not in text
    return is_dense and max(map(len, lines), default=0) < _SPLIT_CHARS


def _cells(line: str, delimiter: str) -> list[str] | None:
    if '"' not in line and len(line) < _SPLIT_CHARS:
        # What the module makes of it, in a fraction of the time. A line without white space has nothing to strip.
        is_dense = " " not in line and line.isprintable()
        return line.split(delimiter) if is_dense else [cell.strip() for cell in line.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return None


def _is_header(names: Sequence[str]) -> bool:
    """Whether these are names of columns: short, different, and none of them a number or a sentence."""
    named = [name for name in names if name]
    return (
        len(named) > 1
        and len(named) >= len(names) - 1  # a frame's index has no name
        and len(set(names)) == len(names)
        and all(len(name) <= _MAX_HEADER_CELL and not name[0].isdigit() and name[0] not in "{[-+" for name in named)
        and not any(mark in name for name in named for mark in (": ", "=", "\x00", "\ufffd"))
    )


def logged_lines(name: str, values: Iterable[tuple[str, float, object, int]]) -> Iterator[str]:
    """Values logged one by one (metric, value, moment, step), in the order of their steps, as lines of a format."""
    rows: dict[int, dict[str, object]] = {}
    for metric, value, moment, step in values:
        row = rows.setdefault(step, {"step": step, "timestamp": moment})
        row[metric] = value
        # The row of a step is complete with the last of its metrics.
        row["timestamp"] = moment
    names = tuple(dict.fromkeys(("step", "timestamp", *(own for row in rows.values() for own in row))))
    table = list(rows.values())
    columns = find_columns(names, table)
    if columns is not None and columns.stamp is not None:
        columns = columns._replace(kind="stamp", clock=columns.stamp).with_metrics(names)
        yield from write_rows(name, table, columns)
