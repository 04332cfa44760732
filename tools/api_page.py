"""`docs/python.md`: the public API from its own signatures and docstrings, around text that a test runs."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from pathlib import Path
from types import UnionType
from typing import Any, get_type_hints

import stepscope

_INTRO = Path(__file__).with_name("python_intro.md")
_FUNCTIONS = ("read", "explain", "advise", "attribute")
_CLASSES = ("Run", "Report", "Recorder")
_ERRORS = ("StepscopeError", "InputError", "UsageError")
# What the parts of a report are made of, one by one: found through its annotations.
_WIDE = 100
_MAGIC = ("__len__", "__str__", "_repr_html_")


def api_page() -> str:
    lines = [_INTRO.read_text(encoding="utf-8").rstrip(), "", "## Functions", ""]
    for name in _FUNCTIONS:
        lines += _function(name, getattr(stepscope, name))
    for name in _CLASSES:
        lines += _class(name, getattr(stepscope, name))
    lines += ["## Errors", "", "| name | is a | exit code | for |", "|---|---|---|---|"]
    for name in _ERRORS:
        own = getattr(stepscope, name)
        lines.append(f"| `{name}` | `{own.__mro__[1].__name__}` | {own.exit_code} | {_first(own)} |")
    left = set(stepscope.__all__) - {*_FUNCTIONS, *_CLASSES, *_ERRORS, "__version__"}
    assert not left, f"not on the page: {left}"
    return "\n".join(lines) + "\n"


def _function(name: str, own: Any) -> list[str]:
    return [f"### `stepscope.{name}`", "", "```python", f"{name}{_signature(own)}", "```", "", _text(own), ""]


def _class(name: str, own: type) -> list[str]:
    lines = [f"## `stepscope.{name}`", "", _text(own), "", "| member | type | meaning |", "|---|---|---|"]
    for member, kind, about in _members(own):
        lines.append(f"| `{member}` | {_cell(kind)} | {about.replace('|', chr(92) + '|')} |")
    return [*lines, ""]


def _cell(kind: str) -> str:
    return f"`{kind}`".replace("|", "\\|") if kind else ""


def _members(own: type) -> list[tuple[str, str, str]]:
    """Fields, properties and methods, in the order of the source."""
    found = []
    if dataclasses.is_dataclass(own):
        hints = get_type_hints(own)
        found += [(one.name, _type(hints[one.name]), _field_about(own, one.name)) for one in dataclasses.fields(own)]
    for name, value in vars(own).items():
        if name.startswith("_") and name not in _MAGIC:
            continue
        function: Any = value.fget if isinstance(value, property) else getattr(value, "func", value)
        if not inspect.isfunction(inspect.unwrap(function)) or not function.__doc__:
            continue
        result = str(inspect.signature(function).return_annotation)
        if function is value:
            found.append((_call(name, function), result if result != "None" else "", _first(function)))
        else:
            found.append((name, result, _first(function)))
    return found


def _call(name: str, function: Any) -> str:
    words = {"__len__": "len(…)", "__str__": "str(…)"}
    return words.get(name) or f"{name}{_signature(function, with_result=False)}"


def _signature(own: Any, *, with_result: bool = True) -> str:
    signature = inspect.signature(own)
    kept = [one for name, one in signature.parameters.items() if name != "self"]
    if not with_result:
        return str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)).replace("'", "")
    text = str(signature.replace(parameters=kept)).replace("'", "")
    if len(text) <= _WIDE:
        return text
    inside, _, result = text[1:].rpartition(")")
    return "(\n    " + ",\n    ".join(inside.split(", ")) + ",\n)" + result


def _type(hint: Any) -> str:
    if isinstance(hint, UnionType) or typing.get_origin(hint) is not None:
        return re.sub(r"(?:\w+\.)+(\w+)", r"\1", str(hint))
    return getattr(hint, "__name__", str(hint))


def _field_about(own: type, name: str) -> str:
    """The comment behind a field, where it has one."""
    match = re.search(rf"^    {name}: .*?  # (.+)$", inspect.getsource(own), re.MULTILINE)
    return match[1] if match else ""


def _text(own: Any) -> str:
    """The docstring, its parameters as a list."""
    return re.sub(r"^(\w+)\n    (.+)$", r"- `\1`: \2", inspect.cleandoc(own.__doc__ or ""), flags=re.MULTILINE)


def _first(own: Any) -> str:
    return _text(own).partition("\n")[0]
