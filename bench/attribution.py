"""How often the ledger's 90 % intervals hold the truth, how wide they are, and how far off the figures: one table.

    python bench/attribution.py [RUNS]            imagined nanoGPT runs (tests/synthetic/phases.py), 400 unless you say
    python bench/attribution.py FOLDER            runs with their truth beside them: NAME.log, NAME.phases.json and,
                                                  with timestamps, NAME.arrivals.tsv

With `--runs`, one row per run instead: each phase's error without stamps and with them.

A phase counts when it truly took time or was claimed to. "by what": what told evaluation and save apart.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.ledger.phases import PhaseTotal
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.run.model import Run

RUNS = 400
PHASES = ("step", "evaluation", "checkpoint", "warmup")
TRUE_KEYS = {"step": "step_s", "evaluation": "eval_s", "checkpoint": "ckpt_s"}


class Score(NamedTuple):
    """One phase of one run beside its truth."""

    name: str
    kind: str
    phase: str
    split: str
    true_s: float
    seconds: float
    low_s: float
    high_s: float

    @property
    def holds(self) -> bool:
        """Whether the truth lies in the interval."""
        return self.low_s - 1e-9 <= self.true_s <= self.high_s + 1e-9

    @property
    def half_width(self) -> float:
        """Half the interval, as a share of the figure."""
        return (self.high_s - self.low_s) / 2 / self.seconds if self.seconds > 0 else float("inf")

    @property
    def error(self) -> float:
        """How far off the figure is, as a share of the truth."""
        return abs(self.seconds / self.true_s - 1) if self.true_s > 0 else float("inf")


def compare(name: str, kind: str, report: Report, truth: dict[str, float]) -> Iterator[Score]:
    """A score for every phase that is there or should be."""
    stated: dict[str, PhaseTotal] = {total.phase: total for total in report.ledger.phases}
    for phase, true_s in truth.items():
        total = stated.get(phase)
        if total is None and true_s <= 0:
            continue
        figures = (0.0, 0.0, 0.0) if total is None else (total.seconds, total.low_s, total.high_s)
        yield Score(name, kind, phase, report.ledger.split, true_s, *figures)


def imagined(num: int) -> Iterator[Score]:
    """Runs out of thin air, plain and (where they have stamps) stamped."""
    from tests.synthetic.phases import draw

    for seed in range(num):
        run = draw(seed)
        yield from compare(str(seed), "plain", explain(_read(run.lines)), run.truth)
        if run.stamped is not None:
            # Start-up before the first line is warm-up too, and not in the truth.
            truth = {phase: seconds for phase, seconds in run.truth.items() if phase != "warmup"}
            yield from compare(str(seed), "stamped", explain(_read(run.stamped)), truth)


def real(folder: Path) -> Iterator[Score]:
    """Runs whose phases were timed while they ran."""
    for path in sorted(folder.glob("*.phases.json")):
        totals = json.loads(path.read_text())["totals"]
        truth = {phase: totals[key] for phase, key in TRUE_KEYS.items()}
        name = path.name.removesuffix(".phases.json")
        for kind, suffix in (("plain", "log"), ("stamped", "arrivals.tsv")):
            log = folder / f"{name}.{suffix}"
            if log.exists():
                yield from compare(name, kind, explain(read(str(log))), truth)


def _read(lines: list[str]) -> Run:
    reader = LogReader(paths=["imagined.log"])
    reader.begin_file()
    reader.feed("".join(f"{line}\n" for line in lines).encode())
    reader.end_file()
    return reader.run()


def table(scores: list[Score]) -> str:
    """Coverage, width and error per phase and kind of log, then per way of telling evaluation and save apart."""
    head = f"{'log':8} {'phase':11} {'by what':11} {'phases':>6} {'hold':>6} {'half-width':>11} {'error':>7}"
    lines = [head]
    for kind in ("plain", "stamped"):
        for phase in PHASES:
            chosen = [score for score in scores if (score.kind, score.phase) == (kind, phase)]
            lines += _row(chosen, kind, phase, "all")
            if phase in {"evaluation", "checkpoint"}:
                for split in sorted({score.split for score in chosen}):
                    lines += _row([score for score in chosen if score.split == split], kind, phase, split)
    lines += _row(scores, "all", "all", "all")
    return "\n".join(lines)


def _row(scores: list[Score], kind: str, phase: str, split: str) -> list[str]:
    if not scores:
        return []
    hold = sum(score.holds for score in scores) / len(scores)
    width = statistics.median(score.half_width for score in scores)
    error = statistics.median(score.error for score in scores)
    return [f"{kind:8} {phase:11} {split:11} {len(scores):6} {hold:6.1%} {width:11.1%} {error:7.1%}"]


def by_run(scores: list[Score]) -> str:
    """Markdown: per run and phase the true seconds, and the error without stamps and with them."""
    phases = [phase for phase in PHASES if phase in TRUE_KEYS]
    lines = ["| run | " + " | ".join(f"{phase} | without | with" for phase in phases) + " |"]
    lines.append("|---|" + "---:|---:|---:|" * len(phases))
    for name in dict.fromkeys(score.name for score in scores):
        cells = [name]
        for phase in phases:
            own = {score.kind: score for score in scores if (score.name, score.phase) == (name, phase)}
            cells.append(f"{next(iter(own.values())).true_s:.2f} s" if own else "")
            cells += [f"{own[kind].error:.1%}" if kind in own else "" for kind in ("plain", "stamped")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table; with `-v`, every phase that missed its interval too."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    what = words[0] if words else str(RUNS)
    scores = list(imagined(int(what)) if what.isdigit() else real(Path(what)))
    if "-v" in sys.argv:
        for score in scores:
            if not score.holds:
                interval = f"{score.low_s:.3f} to {score.high_s:.3f} s"
                print(f"{score.name} {score.kind} {score.phase} ({score.split}): {score.true_s:.3f}, not in {interval}")
    print(by_run(scores) if "--runs" in sys.argv else table(scores))


if __name__ == "__main__":
    main()
