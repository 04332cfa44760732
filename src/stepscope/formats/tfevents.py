"""TensorBoard event files: binary records, each with the wall time and the step of the metrics in it."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from stepscope.formats._shared.metric_names import is_evaluation, loss_rank
from stepscope.formats._shared.protobuf import BYTES, FIXED32, FIXED64, VARINT, read_fields
from stepscope.lines.format import Clock, Document, Format, Line, Sample

_HEADER_BYTES = 12  # the record's length, and the checksum of that length
_FOOTER_BYTES = 4
_MAX_STEP = 1 << 53
_DENSE = 0.8  # a tag with that share of the records of the densest one may be the clock
_WALL_TIMES = (1e8, 1e11)
# Where a record may begin again after garbage: a length below 16 MiB, a checksum, and the wall time's key.
_NEXT_RECORD = re.compile(rb"(?=[\s\S]{3}\0{5}[\s\S]{4}\x09)")
# The fields of an Event that are read, by number.
_WALL_TIME, _STEP, _SUMMARY, _SESSION_LOG = 1, 2, 5, 7
_SESSION = {1: "start", 3: "checkpoint"}
# TensorProto: how each type of number is laid out, in `tensor_content` or in a field of its own.
_TENSOR_TYPES = {1: ("<f", 5), 2: ("<d", 6), 3: ("<i", 7), 9: ("<q", 10)}


class SummaryEvent(NamedTuple):
    """What one record says: metrics of a step, or a session that starts or writes a checkpoint."""

    wall_s: float
    step: int
    scalars: tuple[tuple[str, float], ...]
    session: str | None


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_CRC32C = _crc_table()


def masked_crc(data: bytes) -> int:
    """The checksum of a record's parts: CRC-32C, rotated and shifted so that it does not look like one."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def sniff(head: bytes) -> bool:
    """Whether the first record's checksum is right and it begins with a wall time (other record files do not)."""
    if _length_at(head, 0) is None:
        return False
    wall = head[_HEADER_BYTES : _HEADER_BYTES + 9]
    return len(wall) == 9 and wall[0] == 0x09 and _is_wall_time(struct.unpack("<d", wall[1:])[0])


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per step of the training metric that was written most often, and per evaluation and session mark."""
    events = list(read_events(blob))
    clock_tag, loss_tag = _choose_tags(events)
    evaluated: tuple[int, float] | None = None
    written: int | None = None
    for event in events:
        place = f"step {event.step} unix_s {event.wall_s:.6f}"
        if event.session is not None:
            yield f"tfevents: {event.session} {place}"
        scalars = dict(event.scalars)
        if clock_tag in scalars and event.step != written:
            written, evaluated = event.step, None
            loss = f" loss {scalars[loss_tag]:.7g}" if loss_tag in scalars else ""
            yield f"tfevents: {place}{loss}"
        # The metrics of one evaluation come as many records: only the first is kept.
        losses = [value for tag, value in event.scalars if is_evaluation(tag) and loss_rank(tag) is not None]
        if any(is_evaluation(tag) for tag in scalars) and (evaluated is None or evaluated[0] != event.step):
            evaluated = (event.step, event.wall_s)
            yield f"tfevents: evaluation {place}" + (f" val_loss {losses[0]:.7g}" if losses else "")


def read_events(blob: bytes) -> Iterator[SummaryEvent]:
    """The events of a file; records that are cut or broken are left out."""
    position = 0
    while position + _HEADER_BYTES <= len(blob):
        length = _length_at(blob, position)
        if length is None:
            position = _resume(blob, position + 1)
            continue
        start = position + _HEADER_BYTES
        event = _event(blob[start : start + length]) if start + length <= len(blob) else None
        if event is not None:
            yield event
        position = start + length + _FOOTER_BYTES


def _resume(blob: bytes, position: int) -> int:
    """Where the next sound record begins; the end of the file when there is none."""
    for match in _NEXT_RECORD.finditer(blob, position):
        if _length_at(blob, match.start()) is not None:
            return match.start()
    return len(blob)


def _length_at(blob: bytes, position: int) -> int | None:
    header = blob[position : position + _HEADER_BYTES]
    if len(header) < _HEADER_BYTES:
        return None
    length, crc = struct.unpack("<QI", header)
    return int(length) if masked_crc(header[:8]) == crc else None


def _event(blob: bytes) -> SummaryEvent | None:
    """The event in a record; None when it has neither a scalar nor a session, or no sound time and step."""
    wall_s, step, session = math.nan, 0, None
    scalars: list[tuple[str, float]] = []
    for number, wire, value in read_fields(blob):
        if isinstance(value, int):
            step = value if number == _STEP else step
        elif (number, wire) == (_WALL_TIME, FIXED64):
            wall_s = struct.unpack("<d", value)[0]
        elif number == _SUMMARY:
            scalars += [scalar for scalar in map(_scalar, _messages(value, 1)) if scalar is not None]
        elif number == _SESSION_LOG:
            session = _session(value)
    is_sound = _is_wall_time(wall_s) and 0 <= step < _MAX_STEP
    return SummaryEvent(wall_s, step, tuple(scalars), session) if is_sound and (scalars or session) else None


def _session(blob: bytes) -> str | None:
    """What a session log's status says: a start, a checkpoint, or something of no interest here."""
    statuses = (value for number, _, value in read_fields(blob) if number == 1 and isinstance(value, int))
    return _SESSION.get(next(statuses, 0))


def _messages(blob: bytes, number: int) -> Iterator[bytes]:
    for found, wire, value in read_fields(blob):
        if found == number and wire == BYTES and isinstance(value, bytes):
            yield value


def _scalar(blob: bytes) -> tuple[str, float] | None:
    """Tag and number of one summary value; None for a picture, a histogram or a text."""
    tag, number = "", None
    for field, wire, value in read_fields(blob):
        if not isinstance(value, bytes):
            continue
        if field == 1 and wire == BYTES:
            tag = value.decode("utf-8", errors="replace")
        elif field == 2 and wire == FIXED32:
            number = struct.unpack("<f", value)[0]
        elif field == 8 and wire == BYTES:
            number = _tensor(value)
    return None if number is None or not tag else (tag, number)


def _tensor(blob: bytes) -> float | None:
    """The one number of a tensor; None when it holds something else."""
    fields = list(read_fields(blob))
    kind = next((value for number, wire, value in fields if number == 1 and wire == VARINT), None)
    layout = _TENSOR_TYPES.get(kind) if isinstance(kind, int) else None
    if layout is None:
        return None
    form, own_field = layout
    for number, _, value in fields:
        if number not in (4, own_field):
            continue
        if isinstance(value, int):
            return float(value)
        if len(value) == struct.calcsize(form):
            return float(struct.unpack(form, value)[0])
    return None


def _is_wall_time(seconds: float) -> bool:
    return _WALL_TIMES[0] < seconds < _WALL_TIMES[1]


def _choose_tags(events: list[SummaryEvent]) -> tuple[str | None, str | None]:
    """The tag whose records mark the steps, and the tag of the training loss.

    A file may count steps in some tags and epochs in others, so only one of them can be the clock.
    """
    counts = Counter(tag for event in events for tag, _ in event.scalars if not is_evaluation(tag))
    most = max(counts.values(), default=0)
    losses = [tag for tag in counts if loss_rank(tag) is not None]
    loss = min(losses, key=lambda tag: (-counts[tag], loss_rank(tag) or 0), default=None)
    if loss is not None and counts[loss] >= _DENSE * most:
        return loss, loss
    terms = [tag for tag in counts if "loss" in tag.lower() and counts[tag] >= _DENSE * most] or list(counts)
    return max(terms, key=lambda tag: counts[tag], default=None), loss


_NUMBER = r"-?(?:[\d.]++(?:e[-+]?\d++)?|nan|inf)"
_PLACE = r"step (?P<step>\d+) unix_s (?P<unix_s>\d+\.\d+)"

FORMAT = Format(
    title="TensorBoard event file",
    url="https://github.com/tensorflow/tensorboard",
    lines=(
        Line("step", rf"tfevents: {_PLACE}(?: loss (?P<loss>{_NUMBER}))?$"),
        Line("evaluation", rf"tfevents: evaluation {_PLACE}(?: val_loss (?P<val_loss>{_NUMBER}))?$"),
        Line("checkpoint", rf"tfevents: checkpoint {_PLACE}$"),
        Line("start", r"tfevents: start step \d+ unix_s (?P<unix_s>\d+\.\d+)$"),
    ),
    clock=Clock(
        covers="stamp",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="The wall time of each record: the difference of two holds everything that happened between them. A step "
        "is whatever the trainer counts when it writes, often one in many steps, sometimes an epoch; no total is "
        "written and no ETA.",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample(
            "tfevents: step 400 unix_s 1731600000.250000 loss 2.718282",
            "step",
            {"step": 400, "unix_s": 1731600000.25, "loss": 2.718282},
        ),
        Sample("tfevents: step 7 unix_s 1731600042.000000", "step", {"step": 7, "loss": None}),
        Sample("tfevents: step 8 unix_s 1731600042.500000 loss -1.5e-05", "step", {"loss": -1.5e-05}),
        Sample(
            "tfevents: evaluation step 400 unix_s 1731600031.125000 val_loss 3.01",
            "evaluation",
            {"step": 400, "unix_s": 1731600031.125, "val_loss": 3.01},
        ),
        Sample("tfevents: evaluation step 9 unix_s 1731600031.125000", "evaluation", {"step": 9, "val_loss": None}),
        Sample("tfevents: checkpoint step 500 unix_s 1731600100.000000", "checkpoint", {"step": 500}),
        Sample("tfevents: start step 0 unix_s 1731599990.000000", "start", {"unix_s": 1731599990}),
        Sample("tfevents: step 400 unix_s 1731600000.25 los", None),
        Sample("events.out.tfevents.1731600000.host.77.0: step 400", None),
    ),
)
