"""What a log format is made of: the lines it knows, what its clock covers, and samples that prove both.

A format is data. Everything odd about a trainer is declared here, once, so that no
code further down the line ever asks which trainer wrote a log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal, NamedTuple

from stepscope.core.message import Message
from stepscope.core.settings import Value
from stepscope.core.units import parse_count
from stepscope.lines.sieve import Sieve

LineKind = Literal[
    "step", "evaluation", "checkpoint", "gc", "data", "setting", "fact", "start", "resume", "remark", "chatter"
]
_compile = cache(re.compile)  # a format's patterns are compiled when they are first tried
Covers = Literal["step", "window", "cumulative", "stamp"]


class Line(NamedTuple):
    """One kind of line. Named groups are values; `sets` are settings its mere presence states.

    step
        `step`, or `epoch`, `batch`, `batches`; a time figure (see `_figures.SCALES`); `total` or `epochs`; `loss`,
        `mfu_pct`; `data_s`, what the step waited for its batch; `tokens` or `tokens_per_s`; `per_steps` when the
        figure is the time of so many steps together; `samples_per_s`, which is a time once a `samples_per_step`
        was told; `stamp`, `unix_s` or `unix_ms` for a moment inside the line. A line that
        names no step and no time holds the `loss` of the step printed last
    evaluation, checkpoint, gc, data
        `step`, `val_loss`; `took_s`, `took_ms` or `took_clock` when the line says how long it took; a moment; an
        evaluation's line with a running clock is a step's line too, where the step has none
    setting
        `key`, `value`
    fact, start, resume
        any setting's name; `total`, `batches`, `epochs`; `step`, `epoch`, `batch`, `loss` or a time figure of the next
        step line, which lacks it
    remark
        none: understood, and kept, because it may tell why the steps around it were slow
    chatter
        none: understood, and carries nothing

    `start` and `resume` mark that a process begins. An evaluation or checkpoint line belongs to the next step printed
    after it, unless the format says `events_follow_step`.

    `weak` lines are such as many programs print (a bare progress bar): they are read, but name no trainer on their own.
    """

    kind: LineKind
    pattern: str
    sets: Mapping[str, Value] = {}
    weak: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The pattern, to be matched at the start of a line."""
        return _compile(self.pattern)

    @property
    def tells_duration(self) -> bool:
        """Whether it says how long what it tells of took."""
        return "(?P<took_" in self.pattern

    @property
    def anywhere(self) -> re.Pattern[str]:
        """The pattern behind an unknown prefix, which must end in white space or a bracket."""
        return _compile(r"(?<=[\s\]|:>])(?:" + self.pattern + ")")


class Sample(NamedTuple):
    """A line and what must come out of it; kind None is a near miss that must not be claimed."""

    text: str
    kind: LineKind | None
    values: Mapping[str, Value | None] = {}


class Clock(NamedTuple):
    """What the log's own time figure means."""

    covers: Covers
    includes: tuple[str, ...]
    note: str


class Assumption(NamedTuple):
    """Something a format takes for granted that nobody stated: what, why, and how sure (0 to 1)."""

    message: Message
    because: Message | None
    confidence: float


class Inferred(NamedTuple):
    """How sure a format is that was worked out from the log itself, and what it assumes."""

    confidence: float
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A trainer's log: one of these per file of this folder, under the name FORMAT."""

    title: str
    url: str
    lines: tuple[Line, ...]
    samples: tuple[Sample, ...]
    clock: Clock
    # The trainer's names for what Stepscope calls otherwise, and the values it uses when nothing is said.
    setting_names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Value] = field(default_factory=dict)
    # Configs that come with it, each with `log_interval` and `max_steps`: a run that agrees with one in these two is
    # most likely that one in the rest, too.
    shipped: tuple[Mapping[str, int], ...] = ()
    # How a setting is typed: {name} is the trainer's own name for it, {dashed} the same with dashes.
    paste: str = "{name} = {value}"
    # What can be set in this trainer, by Stepscope's name for it: its own name, or the whole text to type where that is
    # more than a name and a value. What is not here is never told to be typed.
    knobs: Mapping[str, str] = field(default_factory=dict)
    # Which steps evaluate and save, as far as the trainer's source fixes it.
    evaluates_first_step: bool = False
    evaluates_last_step: bool = False
    saves_first_step: bool = False
    saves_only_after_evaluation: bool = False
    # The trainer is known for schedules that change what a step costs: a new level is then no disturbance.
    cost_follows_schedule: bool = False
    # How to tell that from the program, where it prints that first: a pattern that some line of such a one holds.
    schedule_in_source: str | None = None
    # Its evaluation generates text: how long that takes changes as the model learns to end a sentence.
    evaluation_generates: bool = False
    # How many splits one evaluation runs `eval_iters` batches over; None when it is not built that way.
    evaluation_splits: int | None = None
    checkpoint_bytes_per_parameter: float | None = None
    # The peak that its printed MFU divides by, whatever the card; None when it divides by the card's own.
    mfu_peak_tflops: float | None = None
    # Whether there is any time in it at all; a log of steps and losses is still worth recognising.
    is_timed: bool = True
    # The numbers of the first step and the first epoch: of `total` steps the last is then total - 1 + first_step.
    first_step: int = 0
    first_epoch: int = 0
    # An event's line comes after the line of the step it belongs to.
    events_follow_step: bool = False
    # A running clock that starts anew means another process, even where the step goes on.
    clock_is_process: bool = False
    # A running clock that starts anew with each epoch.
    clock_is_epoch: bool = False
    # The figure of a window is the time of all its steps together, not their mean.
    figure_is_total: bool = False
    # The steps are bars, and other bars (an evaluation's) look alike but for their total.
    bars_nest: bool = False
    # Only the first rank evaluates; the others wait for it.
    evaluates_on_one_rank: bool = False
    # Evaluations draw from the generator that training draws from: fewer of them, and training sees other batches.
    evaluation_shares_dice: bool = False
    # How many saves stay on disk unless told otherwise: 1 where each overwrites the last, 0 for all, None when unknown.
    kept_saves: int | None = None
    # Accumulation in the config counts the micro-steps of all ranks together.
    accumulation_is_total: bool = False
    # A file that is no text of lines: `sniff` knows its first bytes, `to_lines` writes it as lines of this format.
    sniff: Callable[[bytes], bool] | None = None
    to_lines: Callable[[bytes], Iterator[str]] | None = None
    # Of such a file, what a format of plain lines may know better: where one claims any of these lines, it goes first.
    yields_lines: Callable[[bytes], list[str]] | None = None
    name: str = ""
    # Words of which a line of this format contains one, set when it is loaded from the catalogue; None: unknown.
    words: tuple[str, ...] | None = None
    # Set where the format is not from the catalogue or a person, but read off the log's own structure.
    inferred: Inferred | None = None

    @cached_property
    def sieve(self) -> Sieve:
        """Which of the lines may stand in a text."""
        return Sieve([line.pattern for line in self.lines])

    def canonical(self, key: str) -> str:
        """Stepscope's name for one of this trainer's settings."""
        return self.setting_names.get(key, key)

    def own_name(self, name: str) -> str | None:
        """This trainer's name for one of Stepscope's settings; None where it has no such setting."""
        own = self.knobs.get(name)
        return own if own is not None and not any(sign in own for sign in " =(") else None

    def typed(self, name: str, value: Value) -> str | None:
        """A setting as this trainer wants it typed; None where it cannot be set from outside."""
        own = self.own_name(name)
        if own is None:
            return self.knobs.get(name)
        return self.paste.format(name=own, dashed=own.replace("_", "-"), value=value)


def convert(name: str, text: str) -> Value | None:
    """The value of a named group: whole steps, numbers with separators, else text. None when it is elided."""
    if name in {"key", "value", "path", "text", "device"}:
        return text
    number = parse_count(text)
    if number is None:
        try:
            number = float(text)
        except ValueError:
            return None
    if math.isfinite(number) and name not in {"loss", "train_loss", "val_loss", "dur_ms", "mfu_pct"}:
        return int(number) if number == int(number) else number
    return number


def match_line(fmt: Format, text: str, first: int = 0) -> tuple[int, re.Match[str]] | None:
    """The index of the line of `fmt` that claims `text` from its start, tried from `first` on, and the match."""
    lines = fmt.lines
    match = lines[first].regex.match(text)
    if match is not None:
        return first, match
    for index in fmt.sieve.possible(text):
        if index != first:
            match = lines[index].regex.match(text)
            if match is not None:
                return index, match
    return None
