"""StyleGAN's and EDM's stats.jsonl: one object per tick, whose figures are objects of number, mean and deviation."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.formats._shared.json_values import figure_of, loss_of
from stepscope.formats._shared.tables import NUMBER, parse_object
from stepscope.lines.format import Clock, Document, Format, Line, Sample

_TICK, _TOTAL, _MAINTENANCE = "Progress/tick", "Timing/total_sec", "Timing/maintenance_sec"
_LOSSES = ("Loss/loss", "Loss/G/loss")
_LEAST_MAINTENANCE_S = 1.0  # what is shorter is the logging itself


def sniff(head: bytes) -> bool:
    """Whether a file begins with such an object; its first row may be longer than what is looked at."""
    return head.lstrip().startswith(b'{"') and all(f'"{name}": {{"num"'.encode() in head for name in (_TICK, _TOTAL))


def to_lines(blob: bytes) -> Iterator[str]:
    """One line per tick, and one before it for what was done since the tick before."""
    for text in blob.decode("utf-8", errors="replace").splitlines():
        row = parse_object(text) or {}
        tick, total, spent = (figure_of(row.get(name)) for name in (_TICK, _TOTAL, _MAINTENANCE))
        if tick is None or total is None:
            yield text if text.strip() else ""
            continue
        if spent is not None and spent >= _LEAST_MAINTENANCE_S and tick > 0:
            yield f"stylegan_stats: maintenance took_s {spent:.3f}"
        loss = next((loss for name in _LOSSES if (loss := loss_of(row.get(name))) is not None), None)
        yield f"stylegan_stats: tick {int(tick)} elapsed_s {total:.3f}" + (
            f" loss {loss:.7g}" if loss is not None else ""
        )


FORMAT = Format(
    title="StyleGAN and EDM stats.jsonl",
    url="https://github.com/NVlabs/stylegan3",
    lines=(
        Line(
            "step",
            rf"stylegan_stats: tick (?P<step>\d+) elapsed_s (?P<elapsed_s>[\d.]+)(?: loss (?P<loss>{NUMBER}))?$",
        ),
        Line("checkpoint", r"stylegan_stats: maintenance took_s (?P<took_s>[\d.]+)$"),
    ),
    clock=Clock(
        covers="cumulative",
        includes=("evaluation", "checkpoint", "data", "logging"),
        note="Timing/total_sec, seconds since the process began; Timing/maintenance_sec, the snapshots after a tick "
        "and the metrics computed from them, is inside, and counts with the next tick as a checkpoint. A step is a "
        "tick of some thousand images. Neither a total nor an ETA is written.",
        restarts_with="process",
    ),
    document=Document(sniff=sniff, to_lines=to_lines),
    samples=(
        Sample("stylegan_stats: tick 12 elapsed_s 431.250 loss 0.75", "step", {"step": 12, "elapsed_s": 431.25}),
        Sample("stylegan_stats: tick 0 elapsed_s 40.125", "step", {"step": 0, "loss": None}),
        Sample("stylegan_stats: maintenance took_s 512.500", "checkpoint", {"took_s": 512.5}),
        Sample("stylegan_stats: tick 12 elaps", None),
        Sample('{"Progress/tick": {"num": 1, "mean": 12.0, "std": 0.0}}', None),
    ),
)
