"""What a log format is made of: the lines it knows, what its clock covers, and samples that prove both.

A format is data in a few small records. Everything odd about a trainer is declared in them, once, so that no code
further down the line asks which trainer wrote a log. They are named tuples, which are created three times as fast as
dataclasses, but are always written with keywords.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple

from stepscope.core.message import Message
from stepscope.core.settings import Value
from stepscope.core.units import parse_count
from stepscope.lines.sieve import Needs, Sieve, literal_start

LineKind = Literal[
    "step", "evaluation", "checkpoint", "gc", "data", "setting", "fact", "start", "resume", "remark", "chatter"
]
_compile = cache(re.compile)  # a format's patterns are compiled when they are first tried
_CLASSES = re.compile(r"\\[A-Za-z]")
_WORDS_OF_PATTERN = re.compile(r"[A-Za-z]{2,}")
Covers = Literal["step", "window", "cumulative", "stamp"]


class Line(NamedTuple):
    """One kind of line. Named groups are values; `sets` are settings its mere presence states.

    step
        `step`, or `epoch`, `batch`, `batches`; a time figure (see `figures.SCALES`); `total` or `epochs`, or
        `percent`, the share of the training that is done, or `epochs_done`, with its fraction; `loss`, `mfu_pct`;
        `data_s`, how long the step waited for its batch; `mean_s` and `data_mean_s`, the means of both since the epoch
        began; `epoch_s` without a batch, the time of all steps of an epoch, those after its last row included;
        `work_s`, what it took besides; `tokens` or `tokens_per_s`, and where the line has both and no time, a
        step takes their quotient; `per_steps` when the figure is the time of that many steps together;
        `samples_per_s`, which is a time once `samples_per_step` is known, or with `samples_done`, the samples counted
        so far, which are also a share of `samples_total`; `done_samples` of `of_samples` in an epoch, and
        `batch_samples_per_s` that says how many of them are a batch; `mean_steps_per_s`, the mean rate since the
        start, which with `step` makes a running clock; `left_min`, the whole minutes left of an epoch, or
        `left_clock`, which with `batch` (or `step`) and `batches` (or `percent`) make the mean time of a step;
        `val_loss` or `evaluated` where the line also has what an evaluation found, `took_s` if it says how long that
        took;
        `evaluation_s`, `checkpoint_s` when the step's figure contains an evaluation or a checkpoint and the line says
        how long that took, `evaluation_after_s`, `checkpoint_after_s` when they came after the figure ended and are to
        be added; `stamp`, `unix_s` or `unix_ms` for a timestamp inside the line. A line that names no step and no time
        holds the `loss` of the step printed last
    evaluation, checkpoint, gc, data
        `step`, `val_loss`; `took_s`, `took_ms` or `took_clock` when the line says how long it took, or `took_samples`
        with `took_per_s` or `took_mean_s`; `took_batch` of
        `took_batches` with `took_mean_s` or `took_mean_ms` when it shows its progress and the mean time of a batch, the
        lines that follow then continue it; a timestamp; an evaluation's line with a running clock is a step's line
        too, where the step has none
    setting
        `key`, `value`
    fact, start, resume
        any setting's name; `total`, `batches`, `epochs`, `samples_total`; `epoch_samples` of which a bar counts, or
        with `samples_per_step` on the same line the batches of an epoch;
        `step`, `epoch`, `batch`, `loss` or a time figure of the next step line, which lacks it; or `reached`, the last
        step that is done, with a running clock; `began` and `ended`, the moments printed on the lines before an
        evaluation's, which tell how long it took (an empty `began` is the moment of its line, and the evaluation's own
        line the end); or `trained`, the batches of an epoch, which are all done, so that an evaluation on the next
        step's own line began when this line came; or `bar_first`, the first of the `bar_steps` steps of an epoch, and
        `bar_mean_ms`, the mean of the others: its figure without them is its evaluation; or `bar_batch` of
        `bar_batches` and `bar_left`, how far an epoch has come and how long it still takes, which is a row only where
        the log ends with it
    remark
        none: understood, and kept, because it may explain why the steps around it were slow
    chatter
        none: understood, and carries nothing

    `start` and `resume` mark that a process begins. An evaluation or checkpoint line belongs to the next step printed
    after it, unless the layout says `events_follow_step`.

    Many programs print `weak` lines (a bare progress bar): they are read, but do not identify a trainer.
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
        """Whether the line says how long its event took."""
        return "(?P<took_" in self.pattern


class Sample(NamedTuple):
    """A line and what must come out of it; kind None is a near miss that must not be claimed."""

    text: str
    kind: LineKind | None
    values: Mapping[str, Value | None] = {}


class Clock(NamedTuple):
    """What the log's own time figure means.

    covers
        "step": the time of one step. "window": the mean of the steps since the previous line. "cumulative": a running
        clock. "stamp": there is no figure, the timestamps of the lines are the clock
    includes
        the phases during which the clock runs: "evaluation", "checkpoint", "data", "logging"
    note
        the same in words, for the page of the format
    restarts_with
        a running clock that goes back to zero: "process" means that another process began, even if the step goes on;
        "epoch" that it does so at every epoch; None that it never does
    is_sum
        a window's figure is the time of all its steps together, not their mean
    is_mean
        a running clock's figure is the mean of all steps since the first, not their sum
    figure_includes
        of timestamps: the phases inside what the lines print, which is the clock where a log has no timestamps; None
        where they are the same
    """

    covers: Covers
    includes: tuple[str, ...]
    note: str
    restarts_with: Literal["process", "epoch"] | None = None
    is_sum: bool = False
    is_mean: bool = False
    figure_includes: tuple[str, ...] | None = None

    @property
    def is_per_step(self) -> bool:
        """Whether each figure is the time of a single step."""
        return self.covers == "step"

    @property
    def is_per_window(self) -> bool:
        """Whether each figure is that of all steps since the previous line."""
        return self.covers == "window"

    @property
    def is_running(self) -> bool:
        """Whether the figure keeps growing, as that of a stopwatch does."""
        return self.covers == "cumulative"

    @property
    def is_wall(self) -> bool:
        """Whether the timestamps of the lines are the clock."""
        return self.covers == "stamp"

    def runs_during(self, phase: str) -> bool:
        """Whether an evaluation, a checkpoint, waiting for data … is inside the times that the clock shows."""
        return self.covers == "stamp" or phase in self.includes


class Layout(NamedTuple):
    """How the lines are numbered and arranged. The reader needs all of it, so nothing here can be unknown.

    first_step, first_epoch
        their numbers; the last of `total` steps is then total - 1 + first_step
    events_follow_step
        the line of an evaluation or a checkpoint comes after the line of the step it belongs to, not before it
    bars_nest
        steps are progress bars, and other bars (those of an evaluation) differ from them only in their total
    bars_hold_evaluation
        the bar of an epoch may count the batches of its evaluations, too, which draw bars of their own with
        `eval_done` of `eval_iters`
    bars_are_epochs
        a count of batches that starts again begins another epoch, where no line says which
    bars_show_ends
        of each such count only its end is there: the same count further down is that of another epoch
    epochs_follow
        where no line numbers the epochs, a row of a whole epoch is that of the next one
    counts_lines
        the step lines have no number: each is one step more than the one before it
    lines_end_epochs
        each step line closes an epoch and its figure is that of all of it, the first line's too
    """

    first_step: int = 0
    first_epoch: int = 0
    events_follow_step: bool = False
    bars_nest: bool = False
    bars_hold_evaluation: bool = False
    bars_are_epochs: bool = False
    bars_show_ends: bool = False
    epochs_follow: bool = False
    counts_lines: bool = False
    lines_end_epochs: bool = False


class EvaluationHabits(NamedTuple):
    """How the trainer evaluates. None: unknown.

    num_splits
        over how many splits one evaluation runs `eval_iters` batches; None also where it is not built that way
    generates_text
        how long it takes then changes as the model learns to end a sentence
    is_on_one_rank
        only the first rank evaluates, and the others wait for it
    shares_generator
        it draws batches from the random generator of the training: with fewer evaluations, training sees other batches
    """

    num_splits: int | None = None
    generates_text: bool | None = None
    is_on_one_rank: bool | None = None
    shares_generator: bool | None = None


class Habits(NamedTuple):
    """What the trainer's source fixes. None: unknown, so a report must not say anything that depends on it.

    saves_only_after_evaluation
        a checkpoint is written only at a step that evaluates
    prints_checkpoints
        each checkpoint is a line of its log, under all settings: where there is no such line, none was written
    kept_checkpoints
        how many stay on disk by default: 1 if each overwrites the last, 0 for all of them
    checkpoint_bytes_per_parameter
        the size of a checkpoint, divided by the number of parameters
    mfu_peak_tflops
        the peak that its printed MFU is a share of, on every GPU; None also where that is the peak of the GPU in use
    step_cost_follows_schedule
        the trainer is known for schedules that change what a step costs, so a new level is no disturbance
    schedule_pattern
        a program that prints its own source has such a schedule only if a line of it contains this pattern
    """

    evaluates_at_first_step: bool | None = None
    evaluates_at_last_step: bool | None = None
    saves_at_first_step: bool | None = None
    saves_only_after_evaluation: bool | None = None
    prints_checkpoints: bool | None = None
    kept_checkpoints: int | None = None
    checkpoint_bytes_per_parameter: float | None = None
    mfu_peak_tflops: float | None = None
    step_cost_follows_schedule: bool | None = None
    schedule_pattern: str | None = None
    evaluation: EvaluationHabits = EvaluationHabits()


class Controls(NamedTuple):
    """The trainer's settings: what they are called, what they are by default, and how one is typed.

    names
        Stepscope's name for each setting that the trainer calls something else
    defaults
        values, by Stepscope's names, that the trainer uses unless something else is set
    shipped_configs
        configs that come with it, each with `log_interval` and `max_steps`: a run that agrees with one of them in these
        two most likely agrees in the rest, too
    settable
        by Stepscope's name, what can be set from outside: the trainer's name for it, or the whole text to type where
        that is more than a name and a value. No advice says how to type a setting that is not here
    syntax
        how a setting is typed: {name} is the trainer's own name for it, {dashed} the same with dashes
    accumulation_is_total
        the accumulation in its config counts the micro-steps of all ranks together
    """

    names: Mapping[str, str] = {}
    defaults: Mapping[str, Value] = {}
    shipped_configs: tuple[Mapping[str, int], ...] = ()
    settable: Mapping[str, str] = {}
    syntax: str = "{name} = {value}"
    accumulation_is_total: bool = False

    def canonical(self, key: str) -> str:
        """Stepscope's name for one of this trainer's settings."""
        return self.names.get(key, key)

    def own_name(self, name: str) -> str | None:
        """This trainer's name for one of Stepscope's settings; None where it has no such setting."""
        own = self.settable.get(name)
        return own if own is not None and not any(sign in own for sign in " =(") else None

    def typed(self, name: str, value: Value) -> str | None:
        """A setting as this trainer wants it typed; None where it cannot be set from outside."""
        own = self.own_name(name)
        if own is None:
            return self.settable.get(name)
        return self.syntax.format(name=own, dashed=own.replace("_", "-"), value=value)


class Document(NamedTuple):
    """How to read a file that does not consist of log lines (TensorBoard, W&B, a table).

    sniff
        whether a file is one, by its first bytes
    to_lines
        the whole file as lines of this format
    first_lines
        the first lines of a file that could also be a log: a format of plain lines that knows one of them goes first
    """

    sniff: Callable[[bytes], bool]
    to_lines: Callable[[bytes], Iterator[str]]
    first_lines: Callable[[bytes], list[str]] | None = None


class Assumption(NamedTuple):
    """Something a format takes for granted that nobody stated: what, why, and how sure (0 to 1)."""

    message: Message
    because: Message | None
    confidence: float


class Inferred(NamedTuple):
    """How sure a format is that was worked out from the log itself, and what it assumes."""

    confidence: float
    assumptions: tuple[Assumption, ...]

    @property
    def is_mean_of_total(self) -> bool:
        """Whether the steps' times were made from the total that the log states, and so confirm nothing."""
        return any(assumption.message.key == "infer-time-of-all" for assumption in self.assumptions)

    @property
    def doubt(self) -> Message | None:
        """What a printed time may mean, where nothing in the log decides and no times were read."""
        messages = (assumption.message for assumption in self.assumptions)
        return next((message for message in messages if message.key.startswith("infer-doubt")), None)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A trainer's log: one of these per file of `formats/`, under the name FORMAT.

    is_timed
        whether the log contains any time; a log of steps and losses is still worth recognising
    name, words, line_words
        set by the catalogue: the name of the file, words of which every line contains one, and for each line's
        pattern the sets of words of which every match contains one each (None: unknown)
    is_engine
        a library that other trainers run on: its lines also appear in their logs, and theirs are then the main series
    inferred
        set where the format comes neither from the catalogue nor from a user, but from the structure of the log
    """

    title: str
    url: str
    lines: tuple[Line, ...]
    samples: tuple[Sample, ...]
    clock: Clock
    layout: Layout = Layout()
    habits: Habits = Habits()
    controls: Controls = Controls()
    document: Document | None = None
    is_timed: bool = True
    is_engine: bool = False
    name: str = ""
    words: tuple[str, ...] | None = None
    line_words: tuple[Needs, ...] | None = None
    inferred: Inferred | None = None

    @cached_property
    def counts_epochs(self) -> bool:
        """Whether the steps of an inferred format are epochs: the word is right before their number."""
        if self.inferred is None:
            return self.layout.lines_end_epochs
        heads = [line.pattern.partition("(?P<step>") for line in self.lines if line.kind in {"step", "fact"}]
        return any(found and _last_word(before[-60:]).startswith("epoch") for before, found, _ in heads)

    @cached_property
    def sieve(self) -> Sieve:
        """Which of the lines may match a text."""
        is_known = self.line_words is not None and len(self.line_words) == len(self.lines)
        return Sieve([line.pattern for line in self.lines], self.line_words if is_known else None)


def _last_word(pattern: str) -> str:
    """The word that a piece of a pattern ends with, in lower case: of `Epoch:\\s*\\S+,\\s+Step:\\s*`, `step`."""
    words = _WORDS_OF_PATTERN.findall(_CLASSES.sub(" ", pattern))
    return words[-1].lower() if words else ""


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
    if name in {"loss", "train_loss", "val_loss", "dur_ms", "mfu_pct"}:
        return number
    if not math.isfinite(number):
        return None  # a loss may be infinite, a count or a setting may not
    return int(number) if number == int(number) else number


def match_line(fmt: Format, text: str, first: int = 0) -> tuple[int, re.Match[str]] | None:
    """The index of the line of `fmt` that claims `text` from its start, tried from `first` on, and the match."""
    lines = fmt.lines
    match = lines[first].regex.match(text) if text.startswith(literal_start(lines[first].pattern)) else None
    if match is not None:
        return first, match
    for index in fmt.sieve.possible(text):
        if index != first and text.startswith(literal_start(lines[index].pattern)):
            match = lines[index].regex.match(text)
            if match is not None:
                return index, match
    return None
