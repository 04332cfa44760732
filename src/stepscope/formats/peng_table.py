"""The text table of X. B. Peng's trainers (AWR, DeepMimic and their kin): wall time in hours."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.lines.format import Clock, Document, Format, Line, Sample

_STEP, _CLOCK = "Iteration", "Wall_Time"


def sniff(head: bytes) -> bool:
    """Whether the first line has the columns of such a table."""
    names = head.split(b"\n", 1)[0].split()
    return len(names) > 2 and {_STEP.encode(), _CLOCK.encode(), b"Samples"} <= set(names)


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per row; a row that is cut stays as it is."""
    names: list[str] = []
    for text in blob.decode("utf-8", errors="replace").splitlines():
        cells = text.split()
        if _STEP in cells and _CLOCK in cells:
            names = cells
            yield ""
        elif len(cells) != len(names) or not cells:
            yield text
        else:
            row = dict(zip(names, cells, strict=True))
            yield f"peng_table: iteration {row[_STEP]} hours {row[_CLOCK]}"


FORMAT = Format(
    title="AWR and DeepMimic table",
    url="https://github.com/xbpeng/awr",
    lines=(
        Line(
            "step",
            r"peng_table: iteration (?P<step>\d+)(?:\.0+)? hours (?P<elapsed_h>\d[\d.]*(?:e-?\d+)?)$",
        ),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Wall_Time, hours since training began (its source divides by 3600), with tests and saving inside. One "
        "iteration in many is written; neither a total nor an ETA is.",
        restarts_with="process",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample("peng_table: iteration 150 hours 0.31250", "step", {"step": 150, "elapsed_h": 0.3125}),
        Sample("peng_table: iteration 0 hours 9.5e-4", "step", {"step": 0}),
        Sample("peng_table: iteration 150 hou", None),
        Sample("Iteration                Wall_Time                Samples", None),
    ),
)
