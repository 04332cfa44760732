"""How long a run was asked to be: by the command that somebody pasted with its log, or by the settings it echoes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern

_LAUNCH = LazyPattern(
    r"(?:^|[\s$>#!/])(?:python[\d.]*|torchrun|accelerate launch|deepspeed|srun|mpirun|CUDA_VISIBLE_DEVICES=\S+)"
    r"\s.*\s(?:-|[\w.]+=)"
    r"|(?:^|[\s/\\])lightgbm(?:\.exe)?\s.*\w="
)
# `--max_iters=200`, `-niter 5`, and `num_trees=500` or `trainer.max_steps=500` of programs that take no dashes
_OPTION = LazyPattern(
    r"(?:^|\s)(?:-{1,2}(?P<name>[A-Za-z][\w-]*)(?:=|\s+)|\+{0,2}(?:\w+\.){0,4}(?P<key>[A-Za-z]\w*)=)"
    r"(?P<value>\d[\d_]{0,20})(?=\s|$|\\)"
)
_MOST_CHARS = 400
_STEPS = frozenset(
    {"max_iters", "max_iter", "max_steps", "num_steps", "total_steps", "train_steps", "num_train_steps", "iterations"}
    | {"num_iterations", "max_iterations", "max_train_steps", "train_iters", "niter", "total_iters", "num_iters"}
    | {"num_trees", "num_boost_round", "n_estimators"}
)
_EPOCHS = frozenset(
    {"epochs", "epoch", "num_epochs", "max_epochs", "num_train_epochs", "n_epochs", "max_epoch", "train_epochs"}
)
# What an echo of settings calls the length of the training and nothing else: `max_iters` of another part of the
# program is often that of its evaluation.
_ECHOED_STEPS = frozenset({"max_steps", "max_train_steps", "num_train_steps", "total_train_steps", "train_iters"}) | {
    "max_update",
    "max_updates",
}
_ECHOED_EPOCHS = (_EPOCHS - {"epoch"}) | {"nepochs", "total_epochs", "nb_epoch", "nb_epochs"}
# `max_epoch=5`, `'epochs': 30`, `num_epochs: 4`, `trainer.max_epochs = 8`, `--max-updates 9000`
_ECHOED = LazyPattern(
    r"(?i)(?<![\w-])(?P<dashes>--)?(?P<name>[a-z]{2,6}[_-](?:[a-z]{3,8}[_-])?(?:epochs?|steps|iters|updates?)|n?epochs)"
    r"['\"]?(?:\s{0,20}[=:]\s{0,20}|(?(dashes)\s|(?!)))['\"]?(?P<value>[1-9]\d{0,11})(?![\w.])"
)
_ECHO_CHARS = 20_000

# `Namespace(..., epoch=100, ...)`: the arguments, as argparse shows them
_ARGUMENTS = LazyPattern(r"\bNamespace\(")
_ARGUMENT = LazyPattern(r"[(\s](?P<name>[A-Za-z]\w*)=(?P<value>\d{1,12})(?=[,)])")


# `Training for 10 iterations`
_SPOKEN = LazyPattern(
    r"(?i)\b(?:train|run|test|go|benchmark)\w*\b.{0,30}?\bfor (?P<num>\d{1,15}) (?P<what>iterations|steps|epochs)\b"
)


class Asked(NamedTuple):
    """How long a command asks for: in steps, in epochs, or neither."""

    steps: int | None = None
    epochs: int | None = None


def asked_for(lines: list[str]) -> Asked:
    """What the last command among some lines asks for."""
    found = Asked()
    for line in _joined(lines):
        spoken = _SPOKEN.search(line[:_MOST_CHARS])
        if spoken is not None:
            is_epochs = spoken["what"].lower() == "epochs"
            found = Asked(epochs=int(spoken["num"])) if is_epochs else Asked(steps=int(spoken["num"]))
        if _ARGUMENTS.search(line) is not None:
            found = _asked({own["name"].lower(): int(own["value"]) for own in _ARGUMENT.finditer(line)}) or found
            continue
        if ("-" not in line and "=" not in line) or _LAUNCH.search(line) is None:
            continue
        options = {
            (option["name"] or option["key"]).lower().replace("-", "_"): int(option["value"].replace("_", ""))
            for option in _OPTION.finditer(line)
        }
        found = _asked(options) or found
    return found


def _asked(options: dict[str, int]) -> Asked | None:
    """What named values ask for; None where none of them says how long."""
    steps = next((value for name, value in options.items() if name in _STEPS), None)
    epochs = next((value for name, value in options.items() if name in _EPOCHS), None)
    return Asked(steps, epochs) if steps or epochs else None


def echoed(lines: list[str]) -> Asked:
    """What the settings that a program prints before its first step ask for; nothing where they disagree."""
    steps: set[int] = set()
    epochs: set[int] = set()
    for line in lines:
        for found in _ECHOED.finditer(line[:_ECHO_CHARS]):
            name, value = found["name"].lower().replace("-", "_"), int(found["value"])
            if name in _ECHOED_STEPS:
                steps.add(value)
            elif name in _ECHOED_EPOCHS:
                epochs.add(value)
    return Asked(steps.pop() if len(steps) == 1 else None, epochs.pop() if len(epochs) == 1 else None)


def _joined(lines: list[str]) -> Iterator[str]:
    """The lines, those that a backslash continues as one."""
    held = ""
    for line in lines:
        text = line.rstrip()
        if text.endswith("\\") and len(held) < _MOST_CHARS:
            held += text[:-1] + " "
            continue
        yield held + line
        held = ""
    if held:
        yield held
