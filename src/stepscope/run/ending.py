"""Whether and how a run has ended, by what its log says: the one place that decides.

Steps that reach the total end a run, and so do words ("Training complete", `train_runtime`), unless the log itself
shows that the same words ended nothing before. A log that merely stops has no ending: there
`analysis/state.py` asks the clock.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from stepscope.core.message import Message, say
from stepscope.lines.notices import KILLED
from stepscope.run.deaths import DeathKind, final_death
from stepscope.run.model import Notice, Run
from stepscope.run.stops import Stop

EndKind = DeathKind | Literal["finished", "stopped"]

# Words that could end a stage as well count only this near the end of the log.
_NEAR_LINES = 200
# A total worked out from percentages may be this far off.
_ROUGH = 0.02
# Of stops that come once in so many rows, one is the last thing in a log by chance as rarely.
_RARE = 25
_LEAST_FITS = 3
_IS_KILLED = re.compile(rf"(?:^|\d\]?)(?:{'|'.join(map(re.escape, KILLED))})\s*$")
# Printed once, when a training is over, also where fewer steps were taken than a header planned.
_IS_OF_TRAINING = re.compile(r"train_runtime|(?i:total\b.*\btraining)")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
# Signals by which people and schedulers ask a program to end, and by which it is ended without being asked.
_ASKED, _KILLED = {2, 3, 15}, {9}
# Totals of a program, not of a training: a shell's `time`.
_SHELL_TOTALS = {"real", "Elapsed (wall clock) time"}


class Ending(NamedTuple):
    """How the run ended, its last step, and the line that says so."""

    value: EndKind
    step: int | None
    line: int | None
    evidence: Message

    @property
    def reason(self) -> Message:
        """Why there is nothing to forecast."""
        return say(f"reason-over-{self.evidence.key}", **self.evidence.args)


def find_ending(run: Run) -> Ending | None:
    """How the run ended; None where neither its log nor the exit code of a recording says that it has."""
    last, total = last_step(run), stated_total(run)
    goal = run.settings.count("max_steps")
    killed = final_death(run)
    # The shell says this of a process that was still there: saving, or on its way through another pass.
    if killed is not None and _IS_KILLED.search(killed.cause.text) and killed.cause.line > (_last_line(run) or 0):
        return Ending(killed.kind, last, killed.cause.line, say("state-words", text=killed.cause.text))
    is_one_of_several = run.num_trainings_left > 0
    if last is not None and goal is not None and last >= goal and not is_one_of_several and not is_loop_of_fits(run):
        return Ending("finished", last, _last_line(run), say("state-total", step=last, total=goal))
    words, death = _closing_words(run), final_death(run)
    failed = _failed(run, last)
    if death is not None and (words is None or words.line > death.cause.line or not len(run) or is_short(run, total)):
        return Ending(death.kind, last, death.cause.line, say("state-words", text=death.cause.text))
    if failed is not None and (words is None or is_short(run, total)):
        return failed
    if is_one_of_several:
        return None  # what is over is this training
    if words is not None:
        is_stated = total is not None and run.settings["max_steps"].origin != "detected"
        is_all = last is not None and is_stated and not is_short(run, total)
        return Ending("finished", total if is_all else last, words.line, say("state-words", text=words.text))
    if last is not None and goal is not None and _has_printed_all(run, goal):
        stop = run.stops[-1]
        return Ending("finished", goal, stop.line, say("state-last-printed", step=last, total=goal))
    over = next((notice for notice in run.notices if notice.kind == "over" and notice.row == len(run)), None)
    if over is not None and run.exit is None and is_short(run, total):
        return Ending("stopped", last, over.line, say("state-words", text=over.text))
    if run.exit is not None:
        # It ended by itself, and well; whether it did all that it was to do, the total says.
        value: EndKind = "stopped" if is_short(run, total) or not len(run) else "finished"
        return Ending(value, last, _last_line(run), say("state-exit", code=run.exit.code))
    return None


def is_loop_of_fits(run: Run) -> bool:
    """Whether each training is a single line, and the next follows it: a loop that calls `fit` again and again.

    The end of one of them is not that of the loop.
    """
    own = [segment for segment in run.segments if segment.num_rows]
    is_single = len(own) == run.num_trainings == len(run) and run.num_trainings >= _LEAST_FITS
    return is_single and len(set(run.steps.step.tolist())) == 1


def _failed(run: Run, last: int | None) -> Ending | None:
    """The end of a command that a signal ended or that returned an error."""
    if run.exit is None or run.exit.code == 0:
        return None
    number = run.exit.ended_by
    if number is None:
        return Ending("crashed", last, _last_line(run), say("state-exit", code=run.exit.code))
    kind: EndKind = "interrupted" if number in _ASKED else "killed" if number in _KILLED else "crashed"
    evidence = say("state-signal", name=signal_name(number), code=run.exit.code)
    return Ending(kind, last, _last_line(run), evidence)


def signal_name(number: int) -> str:
    """A signal as people call it."""
    import signal  # its tables cost more than a short answer should pay

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def silent_end(run: Run) -> Ending | None:
    """The end of a log that has fallen silent right after an evaluation or a checkpoint, where those are rare.

    A training that is killed stops anywhere; one that is over stops there. Only for logs that do not say how many
    steps the run has, and that nobody writes to any more.
    """
    own = run.training(run.num_trainings - 1) if run.num_trainings > 1 else run
    stops, total = [stop for stop in own.stops if stop.printed], stated_total(run)
    if total is not None or not stops or not _comes_last(own, stops[-1]) or len(own) < _RARE * len(stops):
        return None
    return Ending("finished", last_step(run), run.stops[-1].line, say("state-after-stop"))


def _has_printed_all(run: Run, total: int) -> bool:
    """Whether the next step that would be printed is beyond the total, and the run's last stop has been."""
    stops, spacing = run.stops, _spacing(run)
    is_last_row = spacing > 1 and int(run.steps.step[-1]) + spacing > total and not is_short(run, total)
    # Stops at every other row say nothing about the end.
    return is_last_row and bool(stops) and 2 * len(stops) < len(run) and _comes_last(run, stops[-1])


def _comes_last(run: Run, stop: Stop) -> bool:
    """Whether a stop comes after the last row of its run."""
    return stop.next_row >= len(run) or stop.line > int(run.steps.line[-1])


def last_step(run: Run) -> int | None:
    """The last step that the log names: the last row's, or that of an event that comes after its step."""
    if not len(run):
        return None
    last, events = int(run.steps.step[-1]), run.events
    if not run.format.layout.events_follow_step:
        return last
    limit = min(last + _spacing(run), stated_total(run) or last + _spacing(run))
    later = [
        int(step)
        for step, row in zip(events.step[-8:].tolist(), events.row[-8:].tolist(), strict=True)
        if row >= len(run) - 1 and last < step <= limit
    ]
    return max([last, *later])


def stated_total(run: Run) -> int | None:
    """The number of the last step, where the log or the user states it."""
    total = run.settings.count("max_steps")
    return None if total is None or run.settings["max_steps"].origin == "default" else total


def _spacing(run: Run) -> int:
    """How many steps may pass before the next is printed."""
    steps = run.steps.step
    gap = int(steps[-1] - steps[-2]) if len(steps) > 1 else 1
    return max(1, gap, run.settings.count("log_interval") or 1)


def is_short(run: Run, total: int | None) -> bool:
    """Whether steps are missing that the trainer would have printed."""
    if total is None or not len(run):
        return False
    left, spacing = total - int(run.steps.step[-1]), _spacing(run)
    if run.settings["max_steps"].origin == "detected":
        return left >= max(spacing, _ROUGH * total)
    # A trainer that prints every hundredth step need not print the last one, counted from 0.
    return left > spacing or left == spacing == 1


def _last_line(run: Run) -> int | None:
    return int(run.steps.line[-1]) if len(run) else None


class _Words(NamedTuple):
    line: int
    text: str


def _closing_words(run: Run) -> _Words | None:
    """The line after the last step that says the training is over, if its words can be believed."""
    short = is_short(run, stated_total(run))
    for notice in run.notices:
        if notice.row != len(run) or notice.kind not in {"done", "closing", "early_stop"}:
            continue
        is_weak = notice.kind == "closing"
        if is_weak and (short or run.num_lines - notice.line > _NEAR_LINES or not len(run)):
            continue
        if not _has_ended_nothing(run, notice):
            return _Words(notice.line, notice.text)
    for runtime in run.runtimes:
        if short and not _IS_OF_TRAINING.match(runtime.name):
            continue
        if run.asides.left_s:
            return None  # the trainer itself says that there is more to come
        said_before = any(other.name == runtime.name and _is_middle(run, other.row) for other in run.runtimes)
        if runtime.row == len(run) > 0 and not said_before and runtime.name not in _SHELL_TOTALS:
            return _Words(runtime.line, runtime.name)
    return None


def _has_ended_nothing(run: Run, notice: Notice) -> bool:
    """Whether the same words were printed before in the middle of a training, which then went on."""
    shape = _DIGITS.sub("0", notice.text)
    return any(
        other.kind == notice.kind and _is_middle(run, other.row) and _DIGITS.sub("0", other.text) == shape
        for other in run.notices
    )


def _is_middle(run: Run, row: int) -> bool:
    """Whether training went on after this many rows as if nothing had been: no process began there."""
    return 0 < row < len(run) and all(segment.first_row != row for segment in run.segments)
