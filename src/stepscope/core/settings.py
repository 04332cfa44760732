"""What is known about how a run was set up, and from where.

Priority: flag > config > log > detected > default. Each value remembers its origin,
so that a report can say "every 500 (detected)" rather than "every 500".
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

Origin = Literal["flag", "config", "log", "detected", "default"]
Value = int | float | str | bool
# Settings that count something: whole numbers from 1 on. In the order in which reports show them.
COUNTS = (
    "max_steps",
    "eval_interval",
    "eval_iters",
    "checkpoint_interval",
    "log_interval",
    "batch_size",
    "gradient_accumulation_steps",
    "block_size",
    "parameters",
    "tokens_per_step",
    "world_size",
)
_RANK: dict[str, int] = {"flag": 4, "config": 3, "log": 2, "detected": 1, "default": 0}


class Setting(NamedTuple):
    """A value and where it came from."""

    value: Value
    origin: Origin


class Settings(Mapping[str, Setting]):
    """Settings by Stepscope's own names; an immutable mapping."""

    def __init__(
        self, values: Mapping[str, Setting] | None = None, overruled: Mapping[str, Setting] | None = None
    ) -> None:
        self._values = dict(values or {})
        self.overruled = dict(overruled or {})  # settings as stated, where another value is believed

    def __getitem__(self, name: str) -> Setting:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def with_layer(self, values: Mapping[str, Value], origin: Origin) -> Settings:
        """These settings with one more layer; a weaker origin never replaces a stronger one."""
        merged = dict(self._values)
        for name, value in values.items():
            known = merged.get(name)
            if known is None or _RANK[origin] >= _RANK[known.origin]:
                merged[name] = Setting(value, origin)
        return Settings(merged, self.overruled)

    def replaced(self, name: str, value: Value, origin: Origin) -> Settings:
        """These settings with `name` overruled, also where its origin is stronger."""
        known = self._values.get(name)
        overruled = dict(self.overruled)
        if known is not None and _RANK[known.origin] > _RANK[origin] and known.value != value:
            overruled[name] = known
        return Settings({**self._values, name: Setting(value, origin)}, overruled)

    def as_stated(self) -> Settings:
        """Without what was detected: what was stated takes its place."""
        stated = {name: setting for name, setting in self._values.items() if setting.origin != "detected"}
        return Settings({**stated, **self.overruled})

    def number(self, name: str) -> float | None:
        """The value as a number, or None when it is unknown or not a number."""
        setting = self._values.get(name)
        if setting is None or isinstance(setting.value, bool | str):
            return None
        try:
            number = float(setting.value)
        except OverflowError:  # hundreds of digits
            return None
        return number if math.isfinite(number) else None

    def count(self, name: str) -> int | None:
        """The value as a positive whole number, or None."""
        number = self.number(name)
        return int(number) if number is not None and number >= 1 and number == int(number) else None

    def truth(self, name: str) -> bool | None:
        """The value as a yes or no, or None when it is unknown or neither."""
        setting = self._values.get(name)
        return setting.value if setting is not None and isinstance(setting.value, bool) else None

    def text(self, name: str) -> str | None:
        """The value as text, or None."""
        setting = self._values.get(name)
        return setting.value if setting is not None and isinstance(setting.value, str) else None


def _power(base: float, exponent: float) -> float:
    """10 ** 5 and the like; nothing that would take long to compute."""
    if abs(exponent) > 64 or abs(base) > 1e6:
        raise ValueError("too large for a setting")
    return float(base**exponent) if isinstance(base, float) or exponent < 0 else base**exponent


# Larger than any setting; beyond it a number is a mistake or an attack.
_MAX_VALUE = 1e15

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Pow: _power,
}


def evaluate_constant(node: ast.expr, names: Mapping[str, Value]) -> Value | None:
    """The value of a constant expression such as `5 * 8` or `max_iters`; None for anything else.

    Nothing is executed: names, numbers, strings and the four operations are all it knows.
    """
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool | str):
            return node.value
        return _finite(node.value) if isinstance(node.value, int | float) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = evaluate_constant(node.operand, names)
        return -inner if isinstance(inner, int | float) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = evaluate_constant(node.left, names), evaluate_constant(node.right, names)
        if isinstance(left, int | float) and isinstance(right, int | float):
            try:
                return _finite(_OPERATORS[type(node.op)](left, right))
            except (ArithmeticError, ValueError):
                return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"int", "float"}:
        inner = evaluate_constant(node.args[0], names) if len(node.args) == 1 and not node.keywords else None
        if isinstance(inner, int | float):
            return int(inner) if node.func.id == "int" else float(inner)
    return None


def _finite(value: float) -> float | None:
    """`value` if it is finite and no larger than a setting can be; else None."""
    return value if math.isfinite(value) and abs(value) < _MAX_VALUE else None


def parse_value(text: str) -> Value:
    """A value as a person types it after `key=`: a number, a yes or no, or text."""
    try:
        tree = ast.parse(text.strip().replace(",", "_") if text[:1].isdigit() else text.strip(), mode="eval")
        value = evaluate_constant(tree.body, {"true": True, "false": False})
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        value = None
    return text.strip() if value is None else value
