"""Fit the weights of `audit/_confidence.py` on logs whose truth is known, and show how each reading fares.

python tools/calibrate_reading.py LABELS FOLDER [RIGHT_FOLDER…]

LABELS is a JSON list with `file`, `kind`, `last_step`, `typical_s`, `wall_s`, `wall_tol`; FOLDER holds those files. All
logs below a RIGHT_FOLDER count as read rightly. The weights are never below zero, so no doubt makes a reading surer,
and are held towards those in use: with so few wrong readings, a free fit would learn the files by heart.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.audit import _confidence
from stepscope.audit._base import AuditEvidence, Reading
from stepscope.core.errors import StepscopeError
from stepscope.reading.reader import read

HOLD = 0.3  # how strongly a weight is held where it is
WRONG_COUNTS = 3.0  # a wrong answer that is sure of itself is worse than a right one in doubt
ROUNDS, RATE = 3000, 0.05


class Case(NamedTuple):
    """One reading, and whether it is right."""

    name: str
    is_right: bool
    reading: Reading
    unconfirmed: float


def near(mine: float | None, truth: float | None, tolerance: float) -> bool:
    """Whether a figure is as labelled; what nobody labelled is."""
    return truth is None or (mine is not None and abs(mine - truth) <= tolerance * abs(truth))


def is_right(report: Report, label: dict[str, Any]) -> bool:
    """Whether last step, typical step and total are as labelled, in the label's unit or another one it allows."""
    if label["kind"] != "training":
        return not report.ledger.wall_s
    step = report.ledger.step
    last = float(report.run.steps.step[-1]) if len(report.run) else None
    units = [label, *(label.get("alt") or [])]
    counted = any(
        (own.get("last_step") is None or (last is not None and abs(last - own["last_step"]) <= max(1, 0.01 * last)))
        and near(step.typical_s if step else None, own.get("typical_s"), 0.1)
        for own in units
    )
    walls = [label[name] for name in ("wall_s", "wall_last_s", "wall_file_s", "wall_all_s") if label.get(name)]
    return counted and (
        not walls or any(near(report.ledger.wall_s, wall, label.get("wall_tol") or 0.03) for wall in walls)
    )


def case_of(path: Path, label: dict[str, Any] | None) -> Case | None:
    """The reading of a log; None where no times were read, so that nothing was answered."""
    try:
        report = explain(read(str(path)))
    except StepscopeError:
        return None
    if not report.has_times:
        return None
    lost = _confidence.unconfirmed(report.reading.checks, AuditEvidence(report.run, report.ledger, report.forecast))
    right = True if label is None else is_right(report, label)
    return Case("/".join(path.parts[-2:]), right, report.reading, lost)


def fit(cases: list[Case]) -> tuple[float, dict[str, float]]:
    """The base and the weights that explain the cases best, near those in use."""
    codes = sorted(_confidence.WEIGHTS)
    doubts = np.array(
        [[{c.code: c.doubt for c in case.reading.checks}.get(code, 0) for code in codes] for case in cases]
    )
    lost = np.array([case.unconfirmed for case in cases])
    right = np.array([float(case.is_right) for case in cases])
    counts = np.where(right > 0, 1.0, WRONG_COUNTS)
    start = np.array([_confidence.WEIGHTS[code] for code in codes])
    base, weights = _confidence.BASE, start.copy()
    for _ in range(ROUNDS):
        sure = 1 / (1 + np.exp(-(base - lost - doubts @ weights)))
        error = counts * (sure - right)
        base -= RATE * (error.mean() + HOLD * (base - _confidence.BASE) / len(cases))
        weights += RATE * ((error @ doubts) / len(cases) - HOLD * (weights - start) / len(cases))
        weights = np.maximum(weights, 0.0)
    return base, dict(zip(codes, weights.tolist(), strict=True))


def main(arguments: list[str]) -> int:
    """Print the table and the weights."""
    labels, folder, *others = arguments
    listed = [(Path(folder) / label["file"], label) for label in json.loads(Path(labels).read_text("utf-8"))]
    listed += [(path, None) for other in others for path in sorted(Path(other).rglob("*")) if path.is_file()]
    cases = [case for path, label in listed if (case := case_of(path, label)) is not None]
    for case in sorted(cases, key=lambda case: (case.is_right, -case.reading.confidence)):
        doubts = " ".join(f"{check.code}:{check.doubt:.2f}" for check in case.reading.checks if check.doubt)
        print(f"{'right' if case.is_right else 'WRONG'} {case.reading.confidence:.2f} {case.name:<60} {doubts}")
    for low in np.arange(0, 1, 0.1):
        own = [case for case in cases if low <= case.reading.confidence < low + 0.1 + 1e-9 * (low > 0.85)]
        if own:
            print(
                f"confidence {low:.1f} to {low + 0.1:.1f}: {len(own):3d} readings, "
                f"{np.mean([case.is_right for case in own]):.0%} right"
            )
    base, weights = fit(cases)
    print(f"base {base:.2f} (in use: {_confidence.BASE})")
    for code, weight in weights.items():
        print(f"{code} {weight:.2f} (in use: {_confidence.WEIGHTS[code]})")
    sure = [case.name for case in cases if not case.is_right and case.reading.confidence > 0.5]
    print(f"{len(cases)} readings, {sum(case.is_right for case in cases)} right; wrong and sure: {sure or 'none'}")
    return 1 if sure else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
