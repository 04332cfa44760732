"""What a process is doing, by its Python stack: an evaluation, a checkpoint, training, or a place in its code.

The innermost function whose name says evaluation or saving decides, as a save inside an evaluation is a save. Where a
program does either without a function of its own, the text around the line does (`source_words.py`). What trains
has such functions too; where there are none, the stack cannot tell, and says no more than where it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from _stepscope.source_words import SAVES, kind_at, kind_of_name

Kind = Literal["evaluation", "checkpoint", "training"]


class Frame(NamedTuple):
    """A line of Python that a process is in; the name has the class where it is known."""

    name: str
    file: str
    line: int


class Activity(NamedTuple):
    """What a stack shows: its kind, None where it cannot tell, and the place in words, None for an unknown one."""

    kind: Kind | None
    place: str | None


_EVALUATES = re.compile(
    r"_*(do_|run_|maybe_|inner_)?((eval|evaluate|evaluation|val|valid|validate|validation)(_|\d|$)(?!actions?$|frame)"
    r"|estimate_loss|prediction_loop|test$|test_(step|epoch|loop|end))"
)
# Classes whose every method is part of one, but for what is called at each step.
_EVALUATORS = re.compile(r"_?[A-Z]?\w*(Evaluation|Eval|Validation)Loop$|\w*(Validator|Evaluator)$")
_TRAINS = re.compile(
    r"_*(inner_)?(training_step|training_loop|train_step|train_on_batch|train_epoch|train_one_epoch|train_batch"
    r"|backward|optimizer_step|collect_rollouts|fit|learn|training_epoch_loop)$"
)
_TRAINERS = re.compile(r"_?(TrainingEpoch|Training|Fit)Loop$")
# Inside these, a common name means something else: only what is listed here is read in PyTorch itself.
_LIBRARY = re.compile(r"/lib(64)?/python3[^/]*/(?!site-packages/|dist-packages/)|^<")
_TORCH = re.compile(r"(site|dist)-packages/torch/")
_TORCH_SAVES = re.compile(r"/torch/(serialization\.py|distributed/checkpoint/|jit/_serialization\.py)")
_PACKAGES = re.compile(r"(site|dist)-packages/")
# What is worth a word where nothing better is known: names, files, the word.
_DETAILS = (
    (re.compile(r"compile_fx|_compile|call_user_compiler|codegen"), "/torch/_", "compile"),
    (re.compile(r"get_batch|_next_data|_try_get_data|__next__"), "", "data"),
    (re.compile(r"backward"), "", "backward"),
    (re.compile(r"step"), "/torch/optim", "optimizer"),
)


def activity_of(frames: Sequence[Frame], words_at: Callable[[str, int], str | None] = kind_at) -> Activity:
    """What a stack shows, innermost frame first; `words_at` reads a line's surroundings in the program's own code."""
    trains = False
    for frame in frames:
        kind = named(frame) or (_by_words(frame, words_at) if is_own(frame.file) else None)
        if kind == "training":
            trains = True
        elif kind is not None:
            return Activity(kind, f"{_word(frame, kind)} ({_at(frame)})")
    return Activity("training" if trains else None, _detail(frames))


def named(frame: Frame) -> Kind | None:
    """What the names of a frame say."""
    owner, _, name = frame.name.replace(".<locals>", "").rpartition(".")
    owner = owner.rpartition(".")[2]
    if _TORCH.search(frame.file):
        if _TORCH_SAVES.search(frame.file) and SAVES.match(name):
            return "checkpoint"
        return "training" if name == "backward" or "/torch/optim/" in frame.file else None
    if _LIBRARY.search(frame.file):
        return None
    if SAVES.match(name):
        return "checkpoint"
    if _EVALUATES.match(name) or _EVALUATORS.match(owner):
        return "evaluation"
    if _TRAINS.match(name) or _TRAINERS.match(owner):
        return "training"
    said = kind_of_name(name) if is_own(frame.file) else None
    return "evaluation" if said == "evaluation" else "checkpoint" if said == "checkpoint" else None


def _by_words(frame: Frame, words_at: Callable[[str, int], str | None]) -> Kind | None:
    said = words_at(frame.file, frame.line)
    return "evaluation" if said == "evaluation" else "checkpoint" if said == "checkpoint" else None


def is_own(file: str) -> bool:
    """Whether a file is the program's own: no package that was installed, nothing of Python's library."""
    return not _PACKAGES.search(file) and not _LIBRARY.search(file)


def _word(frame: Frame, kind: Kind) -> str:
    if kind == "checkpoint" and _TORCH_SAVES.search(frame.file):
        return "torch.save"
    return "safetensors" if "/safetensors/" in frame.file else kind


def _at(frame: Frame) -> str:
    name = frame.name.rpartition(".")[2]
    return f"{name}, {os.path.basename(frame.file)}:{frame.line}"


def _detail(frames: Sequence[Frame]) -> str | None:
    """A known activity in a word, else the innermost function of the program's own code."""
    for names, where, word in _DETAILS:
        for frame in frames:
            if names.match(frame.name.rpartition(".")[2]) and where in frame.file:
                return f"{word} ({_at(frame)})"
    own = next((frame for frame in frames if is_own(frame.file)), None)
    return _at(own) if own else None
