"""W&B's run-*.wandb: a binary log of records; the history ones hold what log() was given, and when."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

from stepscope.formats._shared.protobuf import BYTES, VARINT, read_fields
from stepscope.formats._shared.table_columns import Row, find_columns
from stepscope.formats._shared.tables import MOMENT, table_lines, write_rows
from stepscope.lines.format import Clock, Controls, Document, Format, Line, Sample

NAME = "wandb_binary"
_MAGIC = b":W&B\xe1\xbe"
_FILE_HEADER_BYTES = 7
# LevelDB's log framing: blocks of this size, in which a record is whole (1) or in pieces (2 first, 3 middle, 4 last).
_BLOCK_BYTES = 32768
_HEADER_BYTES = 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MAX_VALUE_CHARS = 200  # a longer value is no number and no setting worth keeping
_JUDGED_ROWS = 200


def sniff(head: bytes) -> bool:
    """Whether the file begins as W&B's do."""
    return head.startswith(_MAGIC)


def to_lines(blob: bytes) -> Iterator[str]:
    """The settings of the run, then a line per row of its history."""
    rows: list[Row] = []
    settings: dict[str, object] = {}
    for record in read_records(blob):
        for number, wire, value in read_fields(record):
            if wire != BYTES or not isinstance(value, bytes):
                continue
            if number == 2:
                rows.append(_history(value))
            elif number == 5:
                settings.update(_items(value))
            elif number == 17:
                for field, _, inner in read_fields(value):
                    if field == 4 and isinstance(inner, bytes):
                        settings.update(_items(inner))
    for key, setting in settings.items():
        # Numbers only: a run's other settings may name people, places and keys.
        if key.isidentifier() and isinstance(setting, (int, float)) and not key.startswith("_"):
            yield f"{NAME}: setting {key} = {setting!r}"
    names = dict.fromkeys(name for row in rows for name in row)
    columns = find_columns(tuple(names), rows[:_JUDGED_ROWS])
    if columns is not None and columns.stamp is not None:
        columns = columns._replace(kind="stamp", clock=columns.stamp).with_metrics(names)
        yield from write_rows(NAME, rows, columns)


def read_records(blob: bytes) -> Iterator[bytes]:
    """The records of a file, put together from their pieces; a broken block is left out."""
    pieces: list[bytes] | None = None
    for start in range(0, len(blob), _BLOCK_BYTES):
        block = blob[start : start + _BLOCK_BYTES]
        position = _FILE_HEADER_BYTES if start == 0 else 0
        while position + _HEADER_BYTES <= len(block):
            length, kind = struct.unpack_from("<HB", block, position + 4)
            data = block[position + _HEADER_BYTES : position + _HEADER_BYTES + length]
            if not _WHOLE <= kind <= _LAST or len(data) < length:
                pieces = None
                break  # padding, garbage or the end of what was written
            position += _HEADER_BYTES + length
            if kind == _WHOLE:
                yield data
            elif kind == _FIRST:
                pieces = [data]
            elif pieces is not None:
                pieces.append(data)
                if kind == _LAST:
                    yield b"".join(pieces)
                    pieces = None


def _history(blob: bytes) -> dict[str, object]:
    row = _items(blob)
    for number, wire, value in read_fields(blob):
        if number == 2 and wire == BYTES and isinstance(value, bytes):
            count = next((v for n, w, v in read_fields(value) if n == 1 and w == VARINT), 0)
            row.setdefault("_step", count)
    return row


def _items(blob: bytes) -> dict[str, object]:
    """The keys and values of a history or config record; nested keys are joined by `/`."""
    found: dict[str, object] = {}
    for number, wire, item in read_fields(blob):
        if number != 1 or wire != BYTES or not isinstance(item, bytes):
            continue
        names: list[str] = []
        text = ""
        for field, kind, value in read_fields(item):
            if kind == BYTES and isinstance(value, bytes):
                if field in (1, 2) and value:
                    names.append(value.decode("utf-8", errors="replace"))
                elif field == 16:
                    text = value.decode("utf-8", errors="replace")
        if names and 0 < len(text) <= _MAX_VALUE_CHARS:
            try:
                found["/".join(names)] = json.loads(text)
            except (ValueError, RecursionError):
                continue
    return found


FORMAT = Format(
    title="W&B run file",
    url="https://github.com/wandb/wandb",
    lines=(
        *table_lines(NAME, MOMENT),
        Line("setting", rf"{NAME}: setting (?P<key>\w+) = (?P<value>.+)$"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="_timestamp, the moment of each call to log(): the difference of two holds everything that happened "
        "between them. The step is the trainer's own where it logs one, else _step, which counts those calls. Neither "
        "a total nor an ETA is written.",
    ),
    controls=Controls(names={"max_iters": "max_steps"}),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample(
            "wandb_binary: step 120 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 120, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample(
            "wandb_binary: evaluation step 121 unix_s 1731600009.000000 val_loss 3.5",
            "evaluation",
            {"step": 121, "unix_s": 1731600009, "val_loss": 3.5},
        ),
        Sample("wandb_binary: setting max_iters = 5000", "setting", {"key": "max_iters", "value": "5000"}),
        Sample("wandb_binary: step 122 loss 3.25", None),  # without its moment
        Sample("wandb: Syncing run happy-lake-7", None),
    ),
)
