"""The lines of an unknown log sorted into kinds: lines of one shape, with their prefixes.

A prefix (timestamp, rank, logger) is taken off by the ordinary prefix reader, so that the patterns made from a kind
find their lines the way every format's do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from stepscope.infer.line_parts import MAX_CHARS, LineParts, take_apart
from stepscope.lines.date_order import DateOrder
from stepscope.lines.moment_forms import DAY_NS, resolution_ns
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.source.lines import BREAK

# Words of training, and of evaluating a model without training it.
TRAINING = re.compile(
    r"(?i)(?<![a-z])(?:\w{0,30}?loss\w*|lr|learning.?rate|acc|accuracy|grad\w*|gnorm|ppl|perplexity|reward\w*|bleu|mfu|epochs?|"
    r"nll|bpc|elbo|(?:samples?|images?|imgs?|tok(?:en)?s?|examples?|seqs?)(?:/|_per_| per )s\w*|wer|auc|psnr|"
    r"m?iou|m?ap|tps|tflops|entropy|return|boosting|cost)(?![a-z])"
)
EVALUATION = re.compile(
    r"(?i)(?<![a-z])(?:val|valid|validat\w*|eval|evaluat\w*|test|testing|dev|predict\w*|infer\w*)(?![a-z])"
    r"|验证|驗證|测试|測試|评估|検証|評価|검증|평가|валидаци|оценка"
)
# `Namespace(lr=0.1, max_epoch=18)`, `{'start_epoch': 0, 'step': [10, 20], ...}`: what a program was started with.
_ARGUMENTS = re.compile(
    r"Namespace\(|(?i:^\W*(?:args|arguments|config\w*|hparams|hyper.?param\w*|options|parameters)\b\W)"
)
_PAIR = re.compile(r"['\"]\w+['\"]\s*:|\b(?=[a-z]\w*_\w)\w++\s?=\s?\S")
_MANY_PAIRS = 4
_RESULT = re.compile(
    r"(?i)(?<![a-z])(?:\w{0,30}?loss(?!_?(?:fn|func|type|weight|name|scale))\w*|acc\w*|time\w*|elapsed\w*|reward\w*|ppl)['\"]?\s*[:=]\s*[-'\"\d]"
)
MAX_KINDS = 40  # that are looked at closely
_LEAST_RANKS = 8
_SELDOM_AGAIN = 0.6  # of the lines that a number begins: so many have different ones if it counts them
# At most this many lines of a kind are taken apart; the others are only counted.
_MAX_ENTRIES = 3000
_LEAST_TABLE = 4
_LOOKED_FOR_HEADS = 40
_TABLE_UNITS = {"", "s", "sec", "secs", "seconds", "ms"}  # behind the last column
_OFTEN = 0.1
_DIGITS = re.compile(r"\d+")


class SeenLine(NamedTuple):
    """A line: its number among the lines looked at, its shape, its timestamp (days added), and the line itself.

    `piece` goes up where lines of the log are left out.
    """

    number: int
    shape: LineParts
    t_ns: int | None
    text: str
    piece: int = 0


class Kind(NamedTuple):
    """Lines of one shape, in the order of the file."""

    skeleton: tuple[str, ...]
    entries: list[SeenLine]
    numbers: list[int]  # line numbers of all its lines, including those that are not in `entries`
    total: str = ""  # that all its lines count to, where others of this shape count to another one
    is_validation: bool = False  # those others are the training

    @property
    def shape(self) -> LineParts:
        """The shape of its first line, for everything that is the same in all."""
        return self.entries[0].shape

    @property
    def words(self) -> str:
        """The text between the numbers."""
        return " ".join(self.shape.texts)

    @property
    def lead(self) -> str:
        """The text before the first number."""
        return self.shape.texts[0]

    @property
    def is_evaluation(self) -> bool:
        """Whether its lines report an evaluation and nothing else."""
        if self.is_validation:
            return True
        if EVALUATION.search(self.lead):
            return not re.search(r"(?i)(?<![a-z])train", self.lead)
        keys = [field.key.replace("_", " ").replace("/", " ") for field in self.shape.fields]
        metrics = [key for key in keys if TRAINING.search(key)]
        others = [key for key in metrics if not EVALUATION.search(key) and not key.startswith("epoch")]
        return bool(EVALUATION.search(self.words)) and not others

    @property
    def is_settings(self) -> bool:
        """Whether its lines list arguments: many names with values, and no result among them."""
        text = self.entries[0].text
        if not text or _ARGUMENTS.search(text[:200]):
            return bool(text)
        return text[0] in "{(" and len(_PAIR.findall(text)) >= _MANY_PAIRS and not _RESULT.search(text)

    @property
    def is_training(self) -> bool:
        """Whether a number in its lines has a name, or a unit, that numbers in training logs have."""
        return any(TRAINING.search(f"{field.key} {field.unit}".replace("_", " ")) for field in self.shape.fields)


class SortedKinds(NamedTuple):
    """All kinds, most frequent first, and the resolution of the timestamps in nanoseconds (0 without)."""

    kinds: list[Kind]
    resolution_ns: int
    num_lines: int
    stamps: tuple[tuple[int, int], ...] = ()  # the number of every line that has a timestamp, and that


def sort_lines(lines: Sequence[str]) -> SortedKinds:
    """The kinds of lines there are."""
    prefixes = [split_prefix(line.strip()[:MAX_CHARS]) if line.strip() else None for line in lines]
    has_counting_ranks = _ranks_count(prefixes)
    _forget_durations(prefixes, lines)
    _forget_few_dates(prefixes)
    kinds: dict[tuple[str, ...], Kind] = {}
    known: dict[str, Kind] = {}  # kinds by the line with its digits as 0: most lines need not be taken apart
    clock = Days()
    alone: int | None = None
    stamps: list[tuple[int, int]] = []
    num, piece = 0, 0
    for number, (line, prefix) in enumerate(zip(lines, prefixes, strict=True)):
        piece += line == BREAK
        text = line.strip()[:MAX_CHARS]
        if not text:
            continue
        num += 1
        t_ns = clock.take(prefix) if prefix is not None else None
        if t_ns is not None:
            stamps.append((number, t_ns))
        if prefix is not None and t_ns is not None and prefix.length >= len(text):
            alone = t_ns  # a timestamp on a line of its own is that of the lines after it
            continue
        if t_ns is not None:
            alone = None  # it is past
        t_ns = alone if t_ns is None else t_ns
        body = text[_body_start(text, prefix, has_counting_ranks=has_counting_ranks) :]
        plain = _DIGITS.sub("0", body)
        kind = known.get(plain)
        if kind is None or len(kind.entries) < _MAX_ENTRIES:
            shape = take_apart(body)
            kind = known[plain] = kinds.setdefault(shape.skeleton, Kind(shape.skeleton, [], []))
            kind.entries.append(SeenLine(number, shape, t_ns, body, piece))
        kind.numbers.append(number)
    for kind in kinds.values():
        _name_columns(kind, lines)
    ordered = sorted(kinds.values(), key=lambda kind: (-len(kind.numbers), kind.numbers[0]))
    return SortedKinds(ordered, clock.resolution_ns, num, tuple(stamps))


def _body_start(text: str, prefix: Prefix | None, *, has_counting_ranks: bool) -> int:
    """Where a line begins after its prefix; a number in brackets that counts is no rank, but the line's first."""
    if prefix is None:
        return 0
    if prefix.rank is None or not prefix.is_bare or not has_counting_ranks:
        return prefix.length
    counted = re.compile(rf"\W{{0,3}}0*{prefix.rank}(?!\d)")
    return next((cut for cut in (*prefix.cuts[::-1], 0) if counted.match(text, cut)), 0)


def _name_columns(kind: Kind, lines: Sequence[str]) -> None:
    """Give the numbers of a table the names in the line above it, where there are as many names as numbers."""
    fields = kind.shape.fields
    if len(kind.entries) < _LEAST_TABLE or len(fields) < 2 or any(field.key for field in fields):
        return
    *inner, last = kind.shape.texts
    if any(text.strip(" |;,/") for text in inner) or last.strip(" |;,.") not in _TABLE_UNITS:
        return
    own = [index for index in range(len(fields)) if kind.shape.texts[index].strip() != "/"]  # `3/29` is one column
    names = next((found for line in _heads(kind, lines) if (found := _names_in(line, len(own)))), None)
    if names is None:
        return
    keys = {at: re.sub(r"[^\w/]+", " ", name).strip().lower() for at, name in zip(own, names, strict=True)}
    for index, entry in enumerate(kind.entries):
        named = tuple(field._replace(key=keys.get(at, "")) for at, field in enumerate(entry.shape.fields))
        kind.entries[index] = entry._replace(shape=entry.shape._replace(fields=named))


def _heads(kind: Kind, lines: Sequence[str]) -> Iterator[str]:
    """The lines that may name the columns of a table: the one above it or above a later row, or one of the log's first.

    A table that is printed row by row has its head where it began, with other lines between.
    """
    for number in kind.numbers[:_LOOKED_FOR_HEADS]:
        above = (lines[at] for at in range(number - 1, max(-1, number - 4), -1))
        yield next((line for line in above if re.search(r"[A-Za-z]", line)), "")
    for line in lines[: min(kind.numbers[0], _LOOKED_FOR_HEADS)]:
        if re.search(r"(?i)\b(?:epoch|step|iter\w*)\b", line):
            yield line


def _names_in(line: str, num: int) -> list[str] | None:
    """The names of so many columns in a line; None where it has not just those."""
    prefix = split_prefix(line.strip())
    head = (line.strip() if prefix is None else line.strip()[prefix.length :]).strip(" |\t")
    for separator in (r"\s*[|;,]\s*", r"\s{2,}|\t", r"\s+"):
        names = re.split(separator, head)
        if len(names) == num and all(re.match(r"[A-Za-z]", name) for name in names):
            return names
    return None


class Days:
    """Adds days to times of day; dated timestamps win over undated ones."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._day = 0
        self._dated = False
        self._decimals: int | None = None
        self._order = DateOrder()

    @property
    def resolution_ns(self) -> int:
        """The finest step of the timestamps so far; 0 without any."""
        return 0 if self._decimals is None else resolution_ns(self._decimals)

    def take(self, prefix: Prefix) -> int | None:
        """The timestamp of the next line, in nanoseconds; None where it has none."""
        t_ns = prefix.t_ns
        if t_ns is None or (self._dated and not prefix.dated):
            return None
        if prefix.dated and not self._dated:
            self._dated, self._last = True, None
        t_ns = self._order.place(t_ns, prefix.other_ns)
        if prefix.daily:
            t_ns += self._day * DAY_NS
            if self._last is not None and t_ns < self._last - DAY_NS // 2:
                self._day += 1
                t_ns += DAY_NS
        self._decimals = max(-1 if self._decimals is None else self._decimals, prefix.decimals)
        self._last = t_ns
        return t_ns


def _forget_durations(prefixes: list[Prefix | None], lines: Sequence[str]) -> None:
    """Times of day that are the whole of their lines and go back again and again are durations: `0:04:21.115858`."""
    alone = [
        (number, prefix.t_ns)
        for number, prefix in enumerate(prefixes)
        if prefix is not None and prefix.daily and prefix.t_ns is not None
        if prefix.length >= len(lines[number].strip())
    ]
    falls = sum(after < before for (_, before), (_, after) in pairwise(alone))
    if falls > _OFTEN * len(alone):
        for number, _ in alone:
            prefixes[number] = None


def _forget_few_dates(prefixes: list[Prefix | None]) -> None:
    """Dated lines that are few among those that leave out the year are another library's, by a clock of its own."""
    stamped = [prefix for prefix in prefixes if prefix is not None and prefix.t_ns is not None]
    num_dated = sum(prefix.dated for prefix in stamped)
    num_yearless = sum(not prefix.dated and not prefix.daily for prefix in stamped)
    if num_dated and num_dated < _OFTEN * num_yearless:
        for number, prefix in enumerate(prefixes):
            if prefix is not None and prefix.dated:
                prefixes[number] = prefix._replace(t_ns=None)


def _ranks_count(prefixes: Sequence[Prefix | None]) -> bool:
    """Whether the number that looks like a rank before a line only grows: then it is the step.

    After a timestamp it must hardly ever be the same twice, too: ranks that write in turn also grow mostly.
    """
    tagged = [prefix for prefix in prefixes if prefix is not None and prefix.rank is not None and prefix.is_bare]
    ranks = [prefix.rank or 0 for prefix in tagged if not prefix.match]
    if not ranks:
        ranks = [prefix.rank or 0 for prefix in tagged]
        if len(set(ranks)) < _SELDOM_AGAIN * len(ranks):
            return False
    if len(set(ranks)) < _LEAST_RANKS:
        return False
    rising = sum(after > before for before, after in pairwise(ranks))
    return rising >= 0.8 * (len(ranks) - 1)
