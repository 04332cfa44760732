"""Results of evaluations that no word calls one: figures that only one gives, at an even rhythm between the steps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from stepscope.infer.counter import Counter
from stepscope.infer.kinds import Kind
from stepscope.infer.patterns import copy_fields, literal
from stepscope.lines.format import Line, Sample

SAVE = re.compile(
    r"(?i)(?<![a-z-])(?:sav(?:e[ds]?|ing)|wr(?:ote|iting)|dump(?:ed|ing)|stor(?:ed|ing))(?![a-z])"
    r"|^\W*(?:\w+\W+)?(?:checkpoint\w*|ckpt\w*|snapshot\w*)(?![a-z])"
    r"|保存|저장|сохран|(?<![a-z])(?:guardad[oa]|gespeichert|enregistré|salvo)(?![a-z])"
)
NOT_SAVE = re.compile(
    r"(?i)load|restor|resum|delet|remov|prun|purg|found|skip|not sav|no checkpoint|cannot|fail|error|warn"
)
_RESULTS = re.compile(
    r"(?i)(?<![a-z])(?:acc@\d?|prec@\d?|m?ap@|m?ap(?![a-z])|m?iou|top-?(?=\d)|bleu|rouge\w*|psnr|ssim|auc|f1|wer|cer|fid"
    r"|exact.?match|success.?rate|hits@|ndcg\w*|recall@|tpr@)"
)
# `win: 3, lose: 7, tie: 0`
_WON = re.compile(r"(?i)(?<![a-z])(?:wins?|won)(?=\W)")
_LOST = re.compile(r"(?i)(?<![a-z])los(?:es?|t|ses)(?=\W)")
_TRAINING_SET = re.compile(r"(?i)(?<![a-z])(?:train\w*|batch)(?![a-z])")
_RARELY, _LEAST_RHYTHM, _LEAST_OF_RESULT = 0.5, 2, 3
_NEARLY = 0.99
MAX_FIELDS_BEFORE = 8


class StopLines(NamedTuple):
    """Lines of one kind of event, the numbers of the lines, and a line as an example."""

    line: Line
    numbers: list[int]
    sample: Sample


def gaps_of(numbers: Sequence[int], rows: Sequence[int]) -> list[int]:
    """For each line, how many step lines came before it."""
    return [bisect_left(rows, number) for number in numbers]


def by_results(kinds: Sequence[Kind], rows: Sequence[int], counter: Counter) -> StopLines | None:
    """`* Acc@1 71.2 Acc@5 90.1`: no word of an evaluation, but figures that only one gives, at an even rhythm."""
    for kind in kinds:
        numbers = [number for number in kind.numbers if number >= rows[0]]
        if not _is_result(kind.words) or _TRAINING_SET.search(kind.words) or SAVE.search(kind.words):
            continue
        gaps = sorted(set(gaps_of(numbers, rows)))
        is_rare = len(gaps) <= _RARELY * len(rows) + 1
        if counter.counts_epochs or (
            is_rare and (_at_a_rhythm(gaps, rows, counter) or _come_with_saves(gaps, kinds, rows))
        ):
            line = _result_line(kind)
            if line is not None and line.regex.match(kind.entries[0].text) is not None:
                return StopLines(line, numbers, Sample(kind.entries[0].text, "evaluation"))
    return None


def _is_result(words: str) -> bool:
    """Whether words name a figure that only an evaluation has, or the games that were won and lost in one."""
    return _RESULTS.search(words) is not None or (_WON.search(words) is not None and _LOST.search(words) is not None)


def _result_line(kind: Kind) -> Line | None:
    """A line by its words up to the first figure of an evaluation; None where they are too short to go by."""
    shape = kind.shape
    where = next((at for at, text in enumerate(shape.texts) if _RESULTS.search(text) or _WON.search(text)), None)
    if where is None or where > MAX_FIELDS_BEFORE:
        return None
    words = "".join(shape.texts[: where + 1]).strip()
    if len(re.findall(r"[A-Za-z]", words)) < _LEAST_OF_RESULT and not words.endswith((":", "=")):
        return None
    own = literal(shape.texts[where], at_start=not where).removesuffix(r"\s*")
    return Line("evaluation", copy_fields(shape, where, {}) + own + r"(?![A-Za-z])")


def _at_a_rhythm(gaps: Sequence[int], rows: Sequence[int], counter: Counter) -> bool:
    """Whether lines come evenly: by the rows between them, or by the steps where pieces of a long log were left out."""
    if _is_even(gaps):
        return True
    steps = counter.numbers  # of nearly every row: some may not be of the kind that counts
    is_numbered = len(steps) >= _NEARLY * len(rows)
    return is_numbered and _is_even([int(steps[gap - 1]) for gap in gaps if 0 < gap <= len(steps)], may_skip=True)


def _come_with_saves(gaps: Sequence[int], kinds: Sequence[Kind], rows: Sequence[int]) -> bool:
    """Whether lines come between the same steps as those of a checkpoint, and in no other place."""
    saves = [kind for kind in kinds if SAVE.search(kind.words) and not NOT_SAVE.search(kind.words)]
    saved = gaps_of([number for kind in saves for number in kind.numbers if number >= rows[0]], rows)
    return len(set(gaps)) >= _LEAST_RHYTHM and set(gaps) == set(saved)


def _is_even(places: Sequence[int], *, may_skip: bool = False) -> bool:
    """Whether the distances between places are mostly the same, or times that where some places are missing."""
    between = sorted(after - before for before, after in pairwise(places))
    if len(between) < _LEAST_RHYTHM:
        return False
    usual = between[len(between) // 2]
    if usual <= 0:
        return False
    times = [max(1, round(gap / usual)) if may_skip else 1 for gap in between]
    even = sum(abs(gap - num * usual) <= 0.1 * usual + 1 for gap, num in zip(between, times, strict=True))
    return even >= 0.8 * len(between)
