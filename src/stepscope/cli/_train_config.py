"""nanoGPT's config files for `train`, `sample` and `bench`: read, never run, and a misspelt setting is an error.

And the settings that count where there is none.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stepscope.core.configfile import parse_config, parse_python, read_config_text
from stepscope.core.errors import InputError
from stepscope.core.nearest import nearest
from stepscope.core.redact import redact

if TYPE_CHECKING:
    from stepscope.trainer.config import Plain

# What `stepscope train` does without a config file: a minute or two on any machine, and text that begins to look
# like Python.
SMALL: dict[str, Plain] = {
    "out_dir": "out-stdlib",
    "dataset": "stdlib",
    "device": "cpu",
    "compile": False,
    "recipe": "modern",
    "eval_interval": 50,
    "eval_iters": 40,
    "log_interval": 10,
    "gradient_accumulation_steps": 1,
    "batch_size": 16,
    "block_size": 128,
    "n_layer": 4,
    "n_head": 4,
    "n_embd": 128,
    "learning_rate": 1e-2,
    "min_lr": 1e-3,
    "beta2": 0.99,
    "warmup_iters": 20,
    "max_iters": 400,
    "lr_decay_iters": 400,
}
# As alike as a slip of the finger leaves a name.
_ALIKE = 0.8


class ConfigFile(NamedTuple):
    """The settings of a file, its text, and what it assigns that is no setting of the command."""

    values: dict[str, Plain]
    text: str
    others: tuple[str, ...]


def read_settings(path: Path, names: Collection[str], known: Collection[str] = ()) -> ConfigFile:
    """The settings in a config file. What only running could show is refused: a guess would train wrongly.

    names
        The settings of the command.
    known
        Settings that nanoGPT's files have and that mean nothing to the command.
    """
    text = read_config_text(path)
    values = parse_config(text, path)
    used: set[str] = set()
    if path.suffix not in {".json", ".toml"}:
        values = parse_python(text, str(path))
        tree = ast.parse(text)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        for name, line, is_changed in _assigned(tree):
            if name in names and (name not in values or is_changed):
                if name.startswith("wandb_") and name != "wandb_log":
                    # nanoGPT's own files put the time into the name: what a run is called changes nothing in it.
                    values[name] = f"{path.stem}-{time.time():.0f}"
                    continue
                shown = redact(text.splitlines()[line - 1])
                raise InputError("train-config-expression", place=f"{path}:{line}", excerpt=shown, setting=name)
    others = [name for name in values if name not in names and name not in known and name not in used]
    for name in others:
        meant = nearest(name, names, alike=_ALIKE)
        if meant is not None:
            raise InputError("train-misspelt", place=f"{path}: {redact(name)}", setting=redact(name), meant=meant)
    return ConfigFile({name: value for name, value in values.items() if name in names}, text, tuple(others))


def _assigned(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """The names that a file assigns, with their lines, and whether that changes an earlier value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id, target.lineno, isinstance(node, ast.AugAssign)
