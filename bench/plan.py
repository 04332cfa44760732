"""How well `stepscope plan` predicts step times that people have published.

    python bench/plan.py
    python bench/plan.py --fit     finds the fitted constants of `plan/speed.py` again: are they still those?

No GPU needed. Every published row of grade A (log lines quoted) and B (a figure stated by who ran it) is listed:
`scored`, `fitted` (constants were fitted to it; scored apart), or left out with its reason. Rows are numbered as in our
list of published figures; the source of each is its link. Rows of grade C are second-hand or incomplete.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from stepscope.plan import speed
from stepscope.plan.gpus import find_gpu
from stepscope.plan.model_shape import ModelShape, gpt
from stepscope.plan.speed import Software, step

GPT2 = gpt(layers=12, heads=12, hidden=768, context=1024, vocabulary=50304)
BABY = gpt(layers=6, heads=6, hidden=384, context=256, vocabulary=65, dropout=0.2)


class Row(NamedTuple):
    """A published figure: seconds per step and what was run."""

    number: int
    source: str
    gpu: str
    shape: ModelShape
    micro_batch: float
    accumulation: int
    devices: int
    software: Software
    seconds: float
    is_fitted: bool = False


ROWS = (
    Row(1, "karpathy/nanoGPT#110", "A100 40GB", GPT2, 12, 5, 8, "compiled", 0.564),
    Row(3, "nanoGPT transformer_sizing.ipynb", "A100 40GB", GPT2, 20, 5, 1, "compiled", 0.755, True),
    Row(9, "karpathy/nanoGPT#225", "RTX 4090", GPT2, 12, 40, 1, "compiled", 4.62, True),
    Row(10, "karpathy/nanoGPT#225", "RTX A6000", BABY, 64, 1, 1, "compiled", 0.040),
    Row(11, "karpathy/nanoGPT#225", "RTX A6000", BABY, 64, 40, 1, "compiled", 1.610),
    Row(12, "karpathy/nanoGPT#376", "RTX 3080", BABY, 64, 1, 1, "compiled", 0.04825, True),
    Row(13, "karpathy/nanoGPT#376", "RTX 3080", BABY, 64, 1, 1, "eager", 0.04372),
    Row(14, "karpathy/nanoGPT#376", "RTX 3080", BABY, 64, 1, 1, "eager", 0.04144),
    Row(
        36,
        "lzwjava.github.io/nanochat-rtx-4070-training-summary-en",
        "RTX 4070",
        gpt(layers=12, heads=6, hidden=768, context=2048, vocabulary=32768),
        8,
        4,
        1,
        "lean",
        1.177,
        True,
    ),
    Row(
        38,
        "karpathy/nanochat#157",
        "RTX 4090",
        gpt(layers=20, heads=10, hidden=1280, context=2048, vocabulary=65536),
        4,
        64,
        1,
        "lean",
        13.777,
    ),
    Row(41, "tylerromero.com nanogpt-speedrun-worklog", "RTX 4090", GPT2, 16, 16, 2, "compiled", 2 * 262144 / 220.7e3),
    Row(42, "a public README", "RTX 4090", GPT2._replace(context=128, is_tied=False), 64, 16, 1, "compiled", 1.330),
    Row(43, "a public README", "RTX 5090", GPT2._replace(context=128, is_tied=False), 64, 16, 1, "compiled", 1.124),
    Row(46, "ashrafs1/nanogpt model card", "A100 80GB", GPT2._replace(context=2048), 16, 16, 1, "lean", 524288 / 195e3),
    Row(49, "debtirthasaha.github.io gpt2-124m", "A100 80GB", GPT2, 16, 4, 8, "compiled", 0.472),
    Row(50, "karpathy/llm.c run_gpt2_124M.sh", "A100 80GB", GPT2, 64, 1, 8, "lean", 0.300, True),
    Row(
        51,
        "karpathy/llm.c run_gpt2_350M.sh",
        "A100 80GB",
        gpt(layers=24, heads=16, hidden=1024, context=1024, vocabulary=50304),
        64,
        1,
        8,
        "lean",
        0.820,
    ),
    Row(
        52,
        "karpathy/llm.c run_gpt2_774M.sh",
        "A100 80GB",
        gpt(layers=36, heads=20, hidden=1280, context=1024, vocabulary=50304),
        32,
        2,
        8,
        "lean",
        1.700,
    ),
    Row(
        53,
        "karpathy/llm.c run_gpt2_1558M.sh",
        "H100 SXM",
        gpt(layers=48, heads=25, hidden=1600, context=1024, vocabulary=50304),
        16,
        8,
        8,
        "lean",
        2.750,
    ),
    Row(54, "modded-nanogpt records 2024-10-13", "H100 SXM", GPT2, 64, 1, 8, "lean", 0.140),
    Row(
        63,
        "karpathy/nanochat#477",
        "H100 SXM",
        gpt(layers=24, heads=12, hidden=1536, context=2048, vocabulary=32768),
        16,
        2,
        8,
        "lean",
        0.678,
        True,
    ),
)

LEFT_OUT = {
    (2,): "a total of days with everything in it, not a step",
    (4, 5): "January 2023: attention and GELU were written out in Python then; nanoGPT no longer runs so",
    (6,): "a mean with evaluations in it",
    (7,): "torch 1.x without fused attention",
    (8, 17, 18, 19, 20, 33, 34): "the card is not stated",
    (15,): "the configuration is not stated",
    (16,): "TITAN Xp: no tensor cores, not in the table of cards",
    tuple(range(21, 33)): "Apple's chips are not in the table of cards",
    (39,): "a total of minutes for a recipe of several batch sizes",
    (47,): "the sequence length is not stated",
    tuple(range(55, 63)): "modded-nanogpt's record models differ from each other in ways a shape does not say",
    (64, 65): "d24 and d26 with fp8 or the mean of a whole run; row 63 is the same model",
    (66,): "eight nodes",
    (67, 68, 69): "processors, not cards",
    (70,): "64 cards over a network of unknown speed",
}
# Second-hand, or with a configuration that is not stated.
GRADE_C = (35, 37, 40, 44, 45, 48)
FIGURES = Path(__file__).parent.parent.parent / "shared" / "knowledge" / "numbers.md"

# What is fitted, and the doubt before any row: matrices of a layer reach 0.8 to 0.95 of a benchmark's rate.
_SHAPES_BEFORE, _SHAPES_DOUBT, _ROW_DOUBT = 0.87, 0.05, 0.10
_EAGER = 1.4  # of compiled: see `plan/speed.py`


def predicted(row: Row) -> speed.Step:
    return step(
        row.shape,
        find_gpu(row.gpu),
        micro_batch=row.micro_batch,
        accumulation=row.accumulation,
        software=row.software,
        devices=row.devices,
    )


def fit() -> tuple[float, float, float]:
    """The constants that explain the fitted rows best: share of the rate, bytes compiled, bytes lean."""
    rows = [row for row in ROWS if row.is_fitted]
    before = speed._SHAPES, dict(speed._TRAFFIC)

    def misfit(constants: tuple[float, float, float]) -> float:
        speed._SHAPES = constants[0]
        speed._TRAFFIC.update({"compiled": constants[1], "lean": constants[2]})
        errors = [math.log(predicted(row).seconds / row.seconds) / _ROW_DOUBT for row in rows]
        return math.fsum(error**2 for error in errors) + (math.log(constants[0] / _SHAPES_BEFORE) / _SHAPES_DOUBT) ** 2

    grid = itertools.product((share / 100 for share in range(76, 98)), range(250, 560, 10), range(80, 310, 10))
    best = min(grid, key=misfit)
    speed._SHAPES = before[0]
    speed._TRAFFIC.update(before[1])
    return best


def check_rows() -> None:
    """Every row of the list is in exactly one place, and graded as the list grades it."""
    listed = [row.number for row in ROWS] + [number for rows in LEFT_OUT for number in rows] + list(GRADE_C)
    assert sorted(listed) == list(range(1, 71)), "a row is missing or listed twice"
    if FIGURES.exists():
        grades = dict(re.findall(r"^\| (\d+) \|.*\| ([ABC])[ ,][^|]*\|$", FIGURES.read_text(encoding="utf-8"), re.M))
        assert {int(number) for number, grade in grades.items() if grade == "C"} == set(GRADE_C)


def show_fit() -> int:
    found = fit()
    used = speed._SHAPES, speed._TRAFFIC["compiled"], speed._TRAFFIC["lean"]
    names = ("share of the rate", "bytes, compiled", "bytes, lean")
    for name, new, now in zip(names, found, used, strict=True):
        print(f"{name:<20} fitted {new:<6g} used {now:g}")
    is_same = found == used and math.isclose(speed._TRAFFIC["eager"], round(_EAGER * found[1], -1))
    print("the same" if is_same else "NOT the same: put the fitted ones into plan/speed.py")
    return 0 if is_same else 1


def main() -> int:
    check_rows()
    if "--fit" in sys.argv:
        return show_fit()
    print(f"{'row':>4}  {'card':<10} {'software':<9} {'published':>10} {'predicted':>10} {'error':>7}  band  source")
    errors: dict[bool, list[float]] = {True: [], False: []}
    inside: dict[bool, list[bool]] = {True: [], False: []}
    for row in ROWS:
        said = predicted(row)
        error = said.seconds / row.seconds - 1
        low, high = said.span()
        errors[row.is_fitted].append(abs(error))
        inside[row.is_fitted].append(low <= row.seconds <= high)
        mark = "in" if low <= row.seconds <= high else "OUT"
        kind = "fitted" if row.is_fitted else "scored"
        print(
            f"{row.number:>4}  {row.gpu:<10} {row.software:<9} {row.seconds:>9.3f}s {said.seconds:>9.3f}s "
            f"{error:>+7.0%}  {mark:<4}  {kind}  {row.source}"
        )
    for rows, reason in LEFT_OUT.items():
        print(f"left out  {', '.join(map(str, rows))}: {reason}")
    print(f"grade C   {', '.join(map(str, GRADE_C))}: second-hand or incomplete")
    for is_fitted, name in ((False, "scored"), (True, "fitted")):
        middle = statistics.median(errors[is_fitted])
        share = math.fsum(inside[is_fitted]) / len(inside[is_fitted])
        print(f"{name}: {len(errors[is_fitted])} rows, median error {middle:.0%}, inside the 90 % band {share:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
