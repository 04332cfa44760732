"""The formats of plain tables: in CSV or JSON, they differ only by their clock."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.formats._shared.tables import DURATION, ELAPSED, MOMENT, first_lines, sniffer, table_lines, writer
from stepscope.lines.format import Clock, Document, Format, Sample

_UNLESS = "No total and no ETA is written, unless a column max_steps says how many steps there are."
_EVERYTHING = ("evaluation", "checkpoint", "data", "logging")


class Holder(NamedTuple):
    """The kind of file: where it is described, and one of its lines, which is none of the format's."""

    url: str
    own_line: str


CSV = Holder("https://docs.python.org/3/library/csv.html", "step,loss,time")
JSONL = Holder("https://jsonlines.org", '{"step": 10, "loss": 2.5}')


def stamped_table(name: str, title: str, holder: Holder) -> Format:
    """Tables with a step and a moment in each row: the moments are the clock."""
    clock = Clock(
        covers="stamp",
        includes=_EVERYTHING,
        note="The moment of each row: the difference of two holds everything that happened between them. " + _UNLESS,
    )
    samples = (
        Sample(
            f"{name}: step 120 unix_s 1731600000.500000 loss 3.25",
            "step",
            {"step": 120, "unix_s": 1731600000.5, "loss": 3.25},
        ),
        Sample(f"{name}: step 121 of 5000 stamp 2024-11-14T16:00:01.25", "step", {"step": 121, "total": 5000}),
        Sample(
            f"{name}: evaluation step 121 unix_s 1731600009.000000 val_loss 3.5",
            "evaluation",
            {"step": 121, "unix_s": 1731600009, "val_loss": 3.5},
        ),
        Sample(f"{name}: step 122 loss 3.25", None),  # without its moment
    )
    return _table(name, title, holder, MOMENT, clock=clock, samples=samples)


def elapsed_table(name: str, title: str, holder: Holder) -> Format:
    """Tables with a step and the seconds since the start in each row."""
    clock = Clock(
        covers="cumulative",
        includes=_EVERYTHING,
        note="Seconds since the start, as the table's own column says; whether its clock stops during evaluations is "
        "up to its author. After a restart it begins again. " + _UNLESS,
    )
    samples = (
        Sample(
            f"{name}: step 40 elapsed_s 12.500000000 loss 3.25", "step", {"step": 40, "elapsed_s": 12.5, "loss": 3.25}
        ),
        Sample(f"{name}: step 41 of 900 elapsed_s 13.000000000", "step", {"total": 900, "loss": None}),
        Sample(f"{name}: evaluation step 41 val_loss 3.5", "evaluation", {"step": 41, "val_loss": 3.5}),
        Sample(f"{name}: step 42 loss 3.25", None),  # without its time
    )
    return _table(name, title, holder, ELAPSED, clock=clock, samples=samples)


def timed_table(name: str, title: str, holder: Holder) -> Format:
    """Tables with a step and the time of that step in each row, perhaps with a moment next to it."""
    clock = Clock(
        covers="step",
        # Nothing in the table says what else its timer saw.
        includes=(),
        note="The time of one step, the one of the row, by the name of its column; that evaluations, checkpoints and "
        "the steps between two rows are outside is assumed. " + _UNLESS,
    )
    samples = (
        Sample(f"{name}: step 40 dur_s 0.312500000 loss 3.25", "step", {"step": 40, "dur_s": 0.3125, "loss": 3.25}),
        Sample(
            f"{name}: step 41 of 900 dur_s 0.250000000 unix_s 1731600000.500000",
            "step",
            {"total": 900, "dur_s": 0.25, "unix_s": 1731600000.5},
        ),
        Sample(f"{name}: evaluation step 41 val_loss 3.5", "evaluation", {"step": 41, "val_loss": 3.5}),
        Sample(f"{name}: step 42 loss 3.25", None),  # without its time
    )
    return _table(name, title, holder, DURATION, clock=clock, samples=samples)


def untimed_table(name: str, title: str, holder: Holder) -> Format:
    """Tables with a step but no time in any row."""
    clock = Clock(
        # There is no timestamp either: the steps have no time.
        covers="stamp",
        includes=(),
        note="The table has no time at all: steps and losses are read, durations are not known. "
        "A column with the time, such as time.time() at each row, would give them.",
    )
    samples = (
        Sample(f"{name}: step 49 loss 7.5", "step", {"step": 49, "loss": 7.5}),
        Sample(f"{name}: step 50 of 100", "step", {"step": 50, "total": 100, "loss": None}),
        Sample(f"{name}: evaluation step 99 val_loss 4.25", "evaluation", {"step": 99, "val_loss": 4.25}),
        Sample(f"{name}: evaluation step 99 took_s 12.500000000", "evaluation", {"step": 99, "took_s": 12.5}),
        Sample(f"{name}: evaluation", "evaluation", {"step": None, "val_loss": None}),
        Sample(f"{name}: step 49 los", None),
    )
    return _table(name, title, holder, "", clock=clock, samples=samples, is_timed=False)


def _table(
    name: str,
    title: str,
    holder: Holder,
    figure: str,
    *,
    clock: Clock,
    samples: tuple[Sample, ...],
    is_timed: bool = True,
) -> Format:
    return Format(
        title=title,
        url=holder.url,
        lines=table_lines(name, figure),
        clock=clock,
        document=Document(sniff=sniffer(name), to_lines=writer(name), first_lines=first_lines),
        is_timed=is_timed,
        samples=(*samples, Sample(holder.own_line, None)),
    )
