"""How well the end of a run is foreseen: Stepscope beside what other tools would have shown at the same moment.

    python bench/forecast.py [FOLDER…] [--alone] [--all] [--write docs/accuracy.md]

Replays every complete log below the folders (default: the logs that lie beside the checkout), cut at 1 to 75 % of its
steps. Half of all programs, by the hash of their name, are kept apart from everything that is learned or tuned; only
those are scored unless `--all`. `--alone` hides the other logs of a run's folder, so that none serves as its profile.

tqdm and alive-progress must be installed (`pip install tqdm alive-progress`).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from moments import Moment, Replayed, find_replayed
from replay import CUTS
from rivals import RIVALS, spread
from stepscope.forecast.finish import Forecast, forecast

BESIDE = Path(__file__).resolve().parents[2] / "shared"
OURS, PRINTED = "Stepscope", "printed ETA"
NAMES = (OURS, *RIVALS, PRINTED)
_CONFIDENCE = 0.9


class Score(NamedTuple):
    """One run at one cut: the share of error of each estimator (None where it said nothing), and our interval."""

    family: str
    program: str
    path: str
    cut: float
    left_s: float
    errors: dict[str, float | None]
    low: float | None  # as a share of what was left
    high: float | None

    @property
    def winkler(self) -> float | None:
        """The width of the interval, plus a penalty of 2/alpha for each share that the truth lies outside of it."""
        if self.low is None or self.high is None:
            return None
        miss = max(0.0, self.low - 1, 1 - self.high)
        return self.high - self.low + 2 / (1 - _CONFIDENCE) * miss


def score(replayed: Replayed, *, alone: bool) -> tuple[list[Score], dict[str, float]]:
    """The scores of one run at every cut, and its sawtooth by estimator."""
    scores = []
    for moment in replayed.moments:
        end, left = forecast_at(moment, alone=alone), moment.left_s
        told = {**moment.shown, OURS: end.remaining_s if end else None, PRINTED: moment.printed}
        scores.append(
            Score(
                family=replayed.family,
                program=replayed.program,
                path=replayed.path,
                cut=moment.cut or 0.0,
                left_s=left,
                errors={name: None if said is None else abs(said / left - 1) for name, said in told.items()},
                low=end.low_s / left if end else None,
                high=end.high_s / left if end else None,
            )
        )
    return scores, _sawtooth(replayed.sawtooth, alone=alone)


def forecast_at(moment: Moment, *, alone: bool) -> Forecast | None:
    """What Stepscope says when a row has just been printed; None when it says nothing yet."""
    if moment.run is None or moment.ledger is None:
        return None
    end = forecast(moment.run, moment.ledger, previous=() if alone else moment.previous)
    return end if isinstance(end, Forecast) else None


def _sawtooth(moments: tuple[Moment, ...], *, alone: bool) -> dict[str, float]:
    """Largest to smallest forecast finish time within one interval, counted from its start."""
    if not moments:
        return {}
    found = {}
    for name in (OURS, *RIVALS):
        ends = []
        for moment in moments:
            if name == OURS:
                end = forecast_at(moment, alone=alone)
                said = end.remaining_s if end else None
            else:
                said = moment.shown.get(name)
            if said is not None:
                ends.append(moment.at_s - moments[0].at_s + said)
        found[name] = spread(ends)
    return found


# -- tables ---------------------------------------------------------------------------------------------------


def percent(value: float | None) -> str:
    """A share as percent, with as many digits as matter."""
    if value is None or not math.isfinite(value):
        return "–"
    value *= 100
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def error_table(scores: list[Score], kind: str) -> list[str]:
    """Median or mean error by estimator and cut."""
    lines = ["| " + " | ".join([f"{kind} error, %", *(f"{cut:.0%}" for cut in CUTS)]) + " |"]
    lines.append("|---|" + "---:|" * len(CUTS))
    for name in NAMES:
        cells = []
        for cut in CUTS:
            values = [s.errors[name] for s in scores if s.cut == cut and s.errors.get(name) is not None]
            known = [value for value in values if value is not None]
            cells.append(
                percent((statistics.median if kind == "median" else statistics.fmean)(known)) if known else "–"
            )
        if set(cells) != {"–"}:
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def interval_table(scores: list[Score]) -> list[str]:
    """Coverage, width and Winkler score of our interval by cut."""
    lines = ["| 90 % interval | " + " | ".join(f"{cut:.0%}" for cut in CUTS) + " |", "|---|" + "---:|" * len(CUTS)]
    rows: dict[str, list[str]] = {name: [] for name in ("answered", "covers, %", "median width, %", "Winkler, %")}
    for cut in CUTS:
        here = [s for s in scores if s.cut == cut]
        told = [(s.low, s.high, s.winkler) for s in here if s.low is not None]
        rows["answered"].append(f"{len(told)}/{len(here)}")
        inside = [low <= 1 <= high for low, high, _ in told if low is not None and high is not None]
        rows["covers, %"].append(f"{100 * statistics.fmean(inside):.0f}" if inside else "–")
        widths = [high - low for low, high, _ in told if low is not None and high is not None]
        rows["median width, %"].append(percent(statistics.median(widths)) if widths else "–")
        winklers = [w for _, _, w in told if w is not None]
        rows["Winkler, %"].append(percent(statistics.fmean(winklers)) if winklers else "–")
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


def family_votes(scores: list[Score]) -> list[str]:
    """The median over families of each family's median: one trainer, one vote."""
    by_family: dict[str, list[Score]] = defaultdict(list)
    for item in scores:
        by_family[item.family].append(item)
    lines = ["| median of families | " + " | ".join(f"{cut:.0%}" for cut in CUTS) + " |", "|---|" + "---:|" * len(CUTS)]
    for name in NAMES:
        cells = []
        for cut in CUTS:
            votes = []
            for items in by_family.values():
                known = [e for s in items if s.cut == cut and (e := s.errors.get(name)) is not None]
                if known:
                    votes.append(statistics.median(known))
            cells.append(percent(statistics.median(votes)) if votes else "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def beaten(scores: list[Score]) -> list[str]:
    """Where a rival's median is below ours, in families of at least five runs, on the runs that both answered."""
    found = []
    for family in sorted({s.family for s in scores}):
        for cut in CUTS:
            here = [s for s in scores if s.family == family and s.cut == cut and s.errors[OURS] is not None]
            if len(here) < 5:
                continue
            for name in (*RIVALS, PRINTED):
                both = [(s.errors[OURS], s.errors[name]) for s in here if s.errors.get(name) is not None]
                if len(both) < 5:
                    continue
                ours, theirs = (statistics.median(float(pair[i] or 0) for pair in both) for i in (0, 1))
                if theirs < ours:
                    found.append(f"{family} at {cut:.0%}: {name} {percent(theirs)} %, Stepscope {percent(ours)} %")
    return found


def sawtooth_table(saws: list[dict[str, float]]) -> list[str]:
    """Largest to smallest forecast finish within one evaluation interval."""
    lines = ["| sawtooth | median | 90 % of runs | largest |", "|---|---:|---:|---:|"]
    for name in (OURS, *RIVALS):
        values = sorted(saw[name] for saw in saws if name in saw and math.isfinite(saw[name]))
        if values:
            most = values[int(0.9 * (len(values) - 1))]
            lines.append(f"| {name} | {statistics.median(values):.3f} | {most:.3f} | {values[-1]:.2f} |")
    return lines


def report(scores: list[Score], saws: list[dict[str, float]]) -> str:
    """All tables as Markdown."""
    runs = defaultdict(set)
    for item in scores:
        runs[item.family].add(item.path)
    counts = ", ".join(f"{family} {len(paths)}" for family, paths in sorted(runs.items(), key=lambda i: -len(i[1])))
    parts = [f"{sum(map(len, runs.values()))} runs: {counts}.", ""]
    parts += ["### All runs", "", *error_table(scores, "median"), "", *error_table(scores, "mean"), ""]
    parts += [*interval_table(scores), "", *family_votes(scores), "", *sawtooth_table(saws), ""]
    parts += ["### Where a rival was better", ""]
    parts += [f"- {line}" for line in beaten(scores)] or ["Nowhere, in families of five runs or more."]
    for family in sorted(runs, key=lambda name: -len(runs[name])):
        if len(runs[family]) >= 3:
            own = [s for s in scores if s.family == family]
            parts += ["", f"### {family} ({len(runs[family])} runs)", "", *error_table(own, "median"), ""]
            parts += interval_table(own)
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[BESIDE / "logs", BESIDE / "truth"])
    parser.add_argument("--alone", action="store_true", help="without the other logs of a run's folder")
    parser.add_argument("--all", action="store_true", help="score the runs that were learned from, too")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the marks of a page")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep what was read and sorted here")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="every single score as JSON lines")
    args = parser.parse_args()
    missing = [str(folder) for folder in args.folders if not folder.exists()]
    if missing:
        print(f"no such folder: {', '.join(missing)}", file=sys.stderr)
        return 1
    scores: list[Score] = []
    saws: list[dict[str, float]] = []
    begin, last = time.monotonic(), 0.0
    cases = find_replayed(args.folders, cache=args.cache, kept_apart=None if args.all else True)
    for num, replayed in enumerate(cases, 1):
        found, saw = score(replayed, alone=args.alone)
        scores += found
        saws += [saw] if saw else []
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"{num} runs, {last - begin:.0f} s: {replayed.path}", file=sys.stderr, flush=True)
    if args.dump:
        args.dump.write_text("".join(json.dumps(s._asdict()) + "\n" for s in scores), encoding="utf-8")
    text = report(scores, saws)
    print(text)
    if args.write:
        page = args.write.read_text(encoding="utf-8")
        head, rest = page.split("<!-- forecast:begin -->", 1)
        _, tail = rest.split("<!-- forecast:end -->", 1)
        args.write.write_text(f"{head}<!-- forecast:begin -->\n{text}<!-- forecast:end -->{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
