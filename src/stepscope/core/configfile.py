"""Read a settings file without running it: nanoGPT's `config.py`, JSON, TOML, YAML.

Leaves the meaning of the names to the format that knows the trainer.
"""

from __future__ import annotations

import ast
from pathlib import Path

from stepscope.core.boundary import read_file
from stepscope.core.errors import InputError
from stepscope.core.redact import redact
from stepscope.core.settings import Value, evaluate_constant

_MAX_BYTES = 4 << 20


def read_config(path: Path) -> dict[str, Value]:
    """The plain values in a settings file, by the names the file uses; nested tables are flattened."""
    return parse_config(read_config_text(path), path)


def read_config_text(path: Path) -> str:
    """The text of a settings file, or of a pipe in place of one."""
    try:
        if path.is_dir():
            raise InputError("config-is-folder", place=str(path))
        data = read_file(path, _MAX_BYTES)
        if data is None:
            raise InputError("config-too-large", place=str(path))
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise InputError("no-such-config", place=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("config-not-text", place=str(path)) from None
    except OSError as problem:
        raise InputError("unreadable", place=str(path), reason=problem.strerror or str(problem)) from None


def parse_config(text: str, path: Path) -> dict[str, Value]:
    """The plain values in the text of a settings file; the ending of `path` says what kind it is."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _flatten(_parse_json(text, path))
    if suffix == ".toml":
        return _flatten(_parse_toml(text, path))
    if suffix in {".yaml", ".yml"}:
        from stepscope.core.yaml_file import parse_yaml

        return _flatten(parse_yaml(text, str(path)))
    return parse_python(text, str(path))


def parse_python(text: str, place: str) -> dict[str, Value]:
    """The constant assignments at the top level of a Python file, in order, none of it executed."""
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        line = (problem.text or "").rstrip()
        raise InputError(
            "config-syntax", place=f"{place}:{problem.lineno or 1}", excerpt=redact(line), reason=problem.msg
        ) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise InputError("config-syntax", place=place, reason=str(problem)) from None
    values: dict[str, Value] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            targets, expression = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, expression = [statement.target], statement.value
        else:
            continue
        value = evaluate_constant(expression, values)
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                values[target.id] = value
    return values


def _parse_json(text: str, path: Path) -> object:
    import json

    try:
        parsed: object = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        line = getattr(problem, "lineno", 1)
        raise InputError("config-syntax", place=f"{path}:{line}", reason=str(problem)) from None
    return parsed


def _parse_toml(text: str, path: Path) -> object:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise InputError("config-syntax", place=str(path), reason=str(problem)) from None


def _flatten(tree: object) -> dict[str, Value]:
    """The values of nested tables by their own names; where two share a name, the outer one counts."""
    values: dict[str, Value] = {}
    level: list[object] = [tree]
    while level:
        inner: list[object] = []
        for node in level:
            if isinstance(node, dict):
                for name, entry in node.items():
                    # W&B writes every setting as a table of its value and a description.
                    is_boxed = isinstance(entry, dict) and "value" in entry and entry.keys() <= {"value", "desc"}
                    value = entry["value"] if is_boxed else entry
                    if isinstance(value, bool | str) or (isinstance(value, int | float) and abs(value) < 1e15):
                        values.setdefault(str(name), value)
                    else:
                        inner.append(value)
        level = inner
    return values
