"""Evaluations, checkpoints, resumes and totals in an unknown log: lines between the steps, known by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.infer.counter import Counter, whole
from stepscope.infer.kinds import EVALUATION, Kind, SeenLine
from stepscope.infer.line_parts import Field, LineParts
from stepscope.infer.patterns import copy_fields, literal, write_pattern
from stepscope.infer.result_lines import MAX_FIELDS_BEFORE, NOT_SAVE, SAVE, StopLines, by_results, gaps_of
from stepscope.infer.two_totals import validation_line
from stepscope.lines.format import Line, LineKind, Sample

_BESIDE = 3  # lines between an evaluation's result and its time
_SAVED = re.compile(
    r"(?i)checkpoint|ckpt|snapshot|model|weights|state|best|\.pth?\b|\.safetensors|epoch|step|policy"
    r"|模型|权重|モデル|모델|модел|точк|modelo|modell|modèle"
)
_FIRST_SIGN, _LETTERS_A_SIGN = "\u2e80", 3
# `checkpoint_activations ... False`, `val_batch = 32`: settings, printed again by every process.
_SETTING = re.compile(r"^\W*+(?=\w*_)\w++\W*?(?:[=:\1]|\.{3,})")
_RESUME = re.compile(r"(?i)(?<![a-z])(?:resum(?:ed|ing)|restor(?:ed|ing)|continu(?:ed|ing) (?:from|training))(?![a-z])")
_TOTAL = re.compile(
    r"(?:^|[_ ])(?:(?:max|total|num|n)[_ ](?:train(?:ing)?[_ ])?(?:steps|iters|iterations|updates|iter)"
    r"|train(?:ing)?[_ ](?:steps|iters|iterations|updates))(?:[_ ](?:planned|expected))?$"
)
_EPOCHS = re.compile(r"(?:^|\s)(?:(?:max|total|num|n)[_ ](?:train(?:ing)?[_ ])?)?epochs?$")
_METRIC = re.compile(
    r"(?i)loss|acc|ppl|perplexity|bpb|bleu|map|iou|auc|f1|psnr|score|reward|wer|error|损失|准确|精度|точност|потер"
)
_BARE_TIME = re.compile(
    r"^(?:(?:val|valid|validation|eval|evaluation|test|testing)[ _])?(?:time|took|cost|duration)"
    r"(?:[ _](?:cost|taken|used|spent))?$"
)
_SOME = 0.7  # of the steps: lines that come after more of them say something about each step
_LEAST_OF_RESULT = 3
_FURTHER = 1.1  # than the last row: where an evaluation without a word for its step may be
_LEAST_TIMES = 3  # to tell what grows from what does not
_LEAST_LETTERS = 6
_LEAST_OF_FILE = 4  # `saved`, before the path of a file of weights
_MODEL_FILE = re.compile(
    r"\.(?:pth?|pt|pth\.tar|tar|ckpt|safetensors|bin|h5|hdf5|keras|pkl|pickle|npz|pdparams|params|onnx|joblib)\b"
)
_AFTER_LOGGER = frozenset({"-", "|", "", "INFO", "DEBUG", "WARNING", "ERROR", "info", "debug", "warning"})
# Says that the results did not get better; the evaluation itself has been reported by then.
_PATIENCE = re.compile(r"(?i)early[ _-]?stop|patience")
_SECONDS = frozenset({"s", "ms", "sec", "secs", "seconds"})
_PER_ROW = 1.2  # lines of results for each epoch


# Of lines between bars: each of these is an epoch or its end, and no number on them says which.
_UNCOUNTED = Counter(None, None, None, None, None, np.zeros(0, dtype=np.int64), 1, 0, "", 0.0, counts_epochs=True)


class Stops(NamedTuple):
    """The lines between the steps that say something about the run."""

    evaluation: StopLines | None
    checkpoints: list[StopLines]
    resumes: list[StopLines]
    total: StopLines | None
    evaluation_time: StopLines | None = None  # a line of its own that says how long each evaluation took

    @property
    def all(self) -> list[StopLines]:
        """Every kind of line that was found."""
        single = [event for event in (self.evaluation, self.evaluation_time, self.total) if event is not None]
        return [*single, *self.checkpoints, *self.resumes]


def find_stops(kinds: Sequence[Kind], rows: Sequence[int], counter: Counter, step: LineParts) -> Stops:
    """Look for all kinds; `rows` are the numbers of the step lines, `step` is the shape of one."""
    # A count through each epoch needs the number of epochs besides that of its steps.
    has_total = (counter.total if counter.epoch is None else counter.epochs) is not None
    evaluation = find_evaluation(kinds, rows, counter, step)
    return Stops(
        evaluation=evaluation,
        evaluation_time=_time_of(evaluation, kinds, rows) if evaluation is not None else None,
        checkpoints=find_checkpoints(kinds, rows, counts_epochs=counter.counts_epochs),
        resumes=find_resumes(kinds),
        total=None if has_total else find_totals(kinds, rows, counter),
    )


def find_evaluation(kinds: Sequence[Kind], rows: Sequence[int], counter: Counter, step: LineParts) -> StopLines | None:
    """The line that reports an evaluation: one with a result, once between two steps where there is one."""
    best: tuple[tuple[float, ...], StopLines] | None = None
    for kind in kinds:
        line = validation_line(kind)
        if line is not None and kind.numbers[-1] > rows[0]:
            return StopLines(line, list(kind.numbers), Sample(kind.entries[0].text, "evaluation"))
        if not EVALUATION.search(kind.words) or kind.numbers[-1] < rows[0]:
            continue
        numbers = [number for number in kind.numbers if number >= rows[0] - 2]
        gaps = set(gaps_of(numbers, rows))
        if not numbers or SAVE.search(kind.words) or _PATIENCE.search(kind.words):
            continue
        event = _evaluation(kind, counter, {field.key for field in step.fields})
        if event is None:
            continue
        has_result = "val_loss" in event.line.pattern or bool(_METRIC.search(kind.words))
        # After each row that is an epoch there may well be one; after each of several steps if it says what came out.
        may_follow_each = counter.counts_epochs or (has_result and kind.is_evaluation)
        if len(gaps) > _SOME * len(rows) + 1 and not may_follow_each:
            continue
        score = (float(has_result), float(len(numbers) <= 1.2 * len(gaps)), float(len(gaps)), -len(numbers))
        if best is None or score > best[0]:
            best = score, event
    return best[1] if best else by_results(kinds, rows, counter)


def _time_of(evaluation: StopLines, kinds: Sequence[Kind], rows: Sequence[int]) -> StopLines | None:
    """`eval done total : 1.85 s` next to `eval loss: 0.44`: the one figure of a line between the same steps."""
    if re.search(r"\(\?P<took_", evaluation.line.pattern):
        return None
    gaps = gaps_of([number for number in evaluation.numbers if number >= rows[0]], rows)
    for kind in kinds:
        figures = [index for index, field in enumerate(kind.shape.fields) if field.kind != "stamp"]
        if len(figures) != 1 or not EVALUATION.search(kind.words) or kind.numbers == evaluation.numbers:
            continue
        field = kind.shape.fields[figures[0]]
        is_time = field.unit in _SECONDS or (field.kind in {"clock", "words"} and _is_duration(kind.shape, figures[0]))
        own = gaps_of([number for number in kind.numbers if number >= rows[0]], rows)
        if is_time and own == gaps and len(gaps) == len(set(gaps)):
            return _event(
                "evaluation",
                kind,
                {
                    index: "stamp" if index not in figures else _took_group(field)
                    for index, field in enumerate(kind.shape.fields)
                },
            )
    return None


def _took_group(field: Field) -> str:
    return "took_ms" if field.unit == "ms" else "took_clock" if field.kind != "number" else "took_s"


def find_result(kinds: Sequence[Kind], rows: Sequence[int]) -> StopLines | None:
    """The line with the result of an evaluation, after each row that ends an epoch or more rarely."""
    results = [
        kind
        for kind in kinds
        if len(kind.numbers) >= _LEAST_OF_RESULT
        and len(kind.numbers) <= _PER_ROW * len(rows) + 1
        and _METRIC.search(kind.words)
    ]
    return find_evaluation(results, rows, _UNCOUNTED, LineParts((), ("",)))


def _evaluation(kind: Kind, counter: Counter, step_keys: set[str]) -> StopLines | None:
    shape = kind.shape
    if not shape.fields:
        return _wordy("evaluation", kind)
    groups: dict[int, str] = _progress(shape)
    keys = [field.key.replace("_", " ") for field in shape.fields]
    losses = [
        index
        for index, key in enumerate(keys)  # a logger that is called train says nothing of what it logs
        if "loss" in key and (EVALUATION.search(key) or not re.search(r"(?<![a-z])train", key))
    ]
    loss = next((index for index in losses if EVALUATION.search(keys[index])), next(iter(losses), None))
    for index, field in enumerate(shape.fields):
        if index in groups:
            continue
        if field.kind == "stamp" and "stamp" not in groups.values():
            groups[index] = "stamp"
            continue
        # After the line of its epoch, an evaluation of that number is inside the next one's time: its place tells that.
        is_first = "step" not in groups.values() and not counter.counts_epochs
        if is_first and counter.step is not None and field.key == counter.key and _numbers_steps(kind, index, counter):
            groups[index] = "step"
        elif index == loss:
            groups[index] = "val_loss"
        elif field.key in step_keys and not _is_own_time(kind, index, least=_LEAST_TIMES):
            continue  # the step line's own clock
        elif (_is_duration(shape, index) or _is_own_time(kind, index, least=1)) and not any(
            name.startswith("took") for name in groups.values()
        ):
            groups[index] = _took_group(field)
    if not set(groups.values()) - {"stamp"}:
        return _wordy("evaluation", kind)  # a time alone is on every line
    return _event("evaluation", kind, groups)


def _numbers_steps(kind: Kind, index: int, counter: Counter) -> bool:
    """Whether a number under the counter's own word goes with the steps: `9004/10000 right` is no step 10,000."""
    entries = [entry for entry in kind.entries if len(entry.shape.fields) == len(kind.shape.fields)]
    numbers = [whole(entry.shape.fields[index].text) for entry in entries]
    steps = [number for number in numbers if number is not None]
    if len(steps) < len(numbers):
        return False
    return bool(counter.key) or (len(steps) == len(set(steps)) and max(steps) <= _FURTHER * int(counter.numbers.max()))


def _progress(shape: LineParts) -> dict[int, str]:
    """The groups of a line that shows how far an evaluation is and the mean time of its batches so far.

    `Test: [40/200] Time 0.31 (0.29)`: the mean in brackets times all batches is how long the evaluation takes.
    """
    count = next((at for at in range(len(shape.fields) - 1) if shape.texts[at + 1].strip() == "/"), None)
    for at, field in enumerate(shape.fields[:-1]):
        is_meter = shape.texts[at + 1] == "(" and shape.texts[at + 2].startswith(")")
        if count is not None and is_meter and re.search(r"(?:^|[_ ])time$", field.key) and at > count:
            unit = "took_mean_ms" if field.unit == "ms" else "took_mean_s"
            return {count: "took_batch", count + 1: "took_batches", at + 1: unit}
    return {}


def _is_duration(shape: LineParts, index: int) -> bool:
    field = shape.fields[index]
    words = set(re.split(r"[^a-z]+", field.key))
    is_time = words & {"took", "in", "time", "elapsed", "cost", "takes", "duration", "total", "used", "spent"}
    if words & {"eta", "remaining", "left"} or shape.texts[index] == "(":
        return False
    return bool(is_time) and (field.kind in {"clock", "words"} or field.unit in _SECONDS)


def _is_own_time(kind: Kind, index: int, *, least: int) -> bool:
    """Whether `time: 41.27`, with a unit or bare, is what the evaluation took: a clock that runs would only grow."""
    field = kind.shape.fields[index]
    if (
        field.kind != "number"
        or (field.unit and field.unit not in _SECONDS)
        or not _BARE_TIME.search(field.key)
        or "." not in field.text
    ):
        return False
    entries = [entry for entry in kind.entries if len(entry.shape.fields) == len(kind.shape.fields)]
    values = [float(entry.shape.fields[index].text.replace(",", "")) for entry in entries]
    is_running = len(values) >= _LEAST_TIMES and all(before <= value for before, value in pairwise(values))
    return len(values) >= least and min(values) > 0 and not is_running and _fits_stamps(entries, values)


def _fits_stamps(entries: Sequence[SeenLine], values: Sequence[float]) -> bool:
    """Whether no time is longer than the one that the timestamps leave for it."""
    stamps = [entry.t_ns for entry in entries]
    gaps = [(now - then) / NS for then, now in pairwise(stamps) if then is not None and now is not None]
    return all(value <= gap + 1 for value, gap in zip(values[1:], gaps, strict=False))


def find_checkpoints(kinds: Sequence[Kind], rows: Sequence[int], *, counts_epochs: bool) -> list[StopLines]:
    """The line that reports a checkpoint."""
    found: dict[str, StopLines] = {}
    for kind in kinds:
        if not any(SAVE.search(text) for text in kind.shape.texts) or not _SAVED.search(kind.words):
            continue
        if NOT_SAVE.search(kind.words) or kind.numbers[-1] < rows[0]:
            continue
        event = _wordy("checkpoint", kind)
        if event is not None:
            known = found.get(event.line.pattern)
            numbers = [number for number in kind.numbers if number >= rows[0]]
            found[event.line.pattern] = event._replace(numbers=sorted([*(known.numbers if known else []), *numbers]))
    if not found:
        return []
    # Several lines report the same checkpoint; the most regular of them is enough.
    best = max(found.values(), key=lambda event: (len(set(gaps_of(event.numbers, rows))), -len(event.numbers)))
    return [best] if counts_epochs or len(set(gaps_of(best.numbers, rows))) <= _SOME * len(rows) + 1 else []


def find_resumes(kinds: Sequence[Kind]) -> list[StopLines]:
    """Lines that say that a run goes on from where another process left it."""
    events = [_wordy("resume", kind) for kind in kinds if _RESUME.search(kind.words)]
    return [event for event in events if event is not None][:3]


def _wordy(what: LineKind, kind: Kind) -> StopLines | None:
    """A line known by its words up to a path or the next number, from the start to the words that say what it is."""
    matcher = {"evaluation": EVALUATION, "checkpoint": SAVE, "resume": _RESUME}[what]
    shape = kind.shape
    if _SETTING.match(kind.lead):
        return None
    where = next((index for index, text in enumerate(shape.texts) if matcher.search(_before_path(text))), None)
    if where is None or where > MAX_FIELDS_BEFORE:
        return None
    text = _before_path(shape.texts[where])
    is_file = what == "checkpoint" and text != shape.texts[where].strip() and _MODEL_FILE.search(kind.entries[0].text)
    if _num_letters(text) < (_LEAST_OF_FILE if is_file else _LEAST_LETTERS):
        return None
    stamps = {index: "stamp" for index in range(where) if shape.fields[index].kind == "stamp"}
    ahead = copy_fields(shape, where, stamps)
    line = Line(what, ahead + literal(text, at_start=not where).removesuffix(r"\s*") + r"(?![A-Za-z])")
    if line.regex.match(kind.entries[0].text) is None:
        return None
    return StopLines(line, list(kind.numbers), Sample(kind.entries[0].text, what))


def _num_letters(text: str) -> int:
    """Letters of words; a sign of a script that writes words with one or two of them counts for several."""
    return sum(_LETTERS_A_SIGN if char >= _FIRST_SIGN else 1 for char in text if char.isalpha())


def _before_path(text: str) -> str:
    """The words up to a path, which differs from line to line; a logger that is named like one comes first in all."""
    words: list[str] = []
    for word, following in zip_longest(text.split(), text.split()[1:]):
        is_logger = not words and following is not None and following.rstrip(":]|") in _AFTER_LOGGER
        if not is_logger and ("/" in word or "\\" in word or re.search(r"\.\w+$", word)):
            break
        words.append(word)
    return " ".join(words)


def _event(what: LineKind, kind: Kind, groups: dict[int, str]) -> StopLines:
    line = Line(what, write_pattern([kind.shape], groups, anchor=max(groups)))
    return StopLines(line, list(kind.numbers), Sample(kind.entries[0].text, what))


def find_totals(kinds: Sequence[Kind], rows: Sequence[int], counter: Counter) -> StopLines | None:
    """A line of the header that says how many steps (or epochs) there are to be."""
    wanted = _EPOCHS if counter.counts_epochs or counter.epoch is not None else _TOTAL
    group = "epochs" if counter.epoch is not None else "total"
    most = int(counter.numbers.max())
    for kind in kinds:
        for index, field in enumerate(kind.shape.fields):
            number = whole(field.text)
            if number is None or not wanted.search(field.key) or field.unit:
                continue
            enough = number >= counter.epochs_seen if group == "epochs" else number >= max(most, 2)
            if not enough or len({entry.shape.fields[index].text for entry in kind.entries}) > 1:
                continue
            before = kind.shape.texts[index]
            key = re.search(r"[A-Za-z_][\w ]*[\s\"']*[=:]?[\s\"']*$", before)
            if key is None or len(kind.numbers) > 8 or kind.numbers[0] > rows[0]:
                continue
            pattern = rf".{{0,1500}}?{literal(key[0])}(?P<{group}>\d[\d,]*)(?![\d.])"
            line = Line("fact", pattern)
            if line.regex.match(kind.entries[0].text):
                return StopLines(line, list(kind.numbers), Sample(kind.entries[0].text, "fact"))
    return None
