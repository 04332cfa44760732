"""The page of numeric constants: `docs/constants.md`, made by `tools/gen.py` from the sources.

It shows somebody who tunes a figure which others exist and which of them share a name. Formats and learned tables are
left out: a format's numbers belong to its trainer, and a program makes the tables.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src" / "stepscope"
_LEFT_OUT = ("formats", "demo")
_LONGEST_VALUE = 60


class Constant(NamedTuple):
    """A module-level number, or a tuple of numbers, as the source has it."""

    module: str
    name: str
    value: str
    comment: str


def page() -> str:
    """All constants as one table, in the order of the modules and of their lines."""
    found = [constant for path in sorted(SOURCE.rglob("*.py")) if _is_listed(path) for constant in constants(path)]
    lines = [
        "# Constants",
        "",
        "Numbers at the top of the modules in `src/stepscope`, each with the comment above or after it. Log formats "
        "and learned tables are left out.",
        "",
        "| module | name | value | comment |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {constant.module} | `{constant.name}` | `{constant.value}` | {constant.comment} |" for constant in found
    ]
    return "\n".join(lines) + "\n"


def _is_listed(path: Path) -> bool:
    return path.relative_to(SOURCE).parts[0] not in _LEFT_OUT and "learned" not in path.stem


def constants(path: Path) -> Iterator[Constant]:
    """The constants of one module, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    comments = _comments(text)
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for statement in ast.parse(text).body:
        for name, value in _numbers(statement):
            comment = _comment_of(statement, comments).replace("|", "\\|")
            yield Constant(module, name, _shortened(ast.get_source_segment(text, value) or ""), comment)


def _numbers(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Name and value of each number that a statement assigns: `A = 1`, `A: int = 1`, `A = (1, 2)`, `A, B = 1, 2`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return
    if isinstance(target, ast.Name) and (_is_number(value) or _is_numbers(value)):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=True):
            if isinstance(one, ast.Name) and _is_number(its):
                yield one.id, its


def _is_number(node: ast.expr) -> bool:
    """A number, or arithmetic on numbers such as `64 << 20`."""
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
    return False


def _is_numbers(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and bool(node.elts) and all(map(_is_number, node.elts))


def _comments(text: str) -> dict[int, tuple[str, bool]]:
    """By line: the comment, and whether it has the line to itself."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("#").strip()
            if not words.startswith(("noqa", "fmt:", "type:")):
                found[token.start[0]] = (words, not token.line[: token.start[1]].strip())
    return found


def _comment_of(statement: ast.stmt, comments: dict[int, tuple[str, bool]]) -> str:
    """The comment lines right above, then the comments inside and after the statement."""
    above: list[str] = []
    line = statement.lineno - 1
    while line in comments and comments[line][1]:
        above.insert(0, comments[line][0])
        line -= 1
    own = [comments[line][0] for line in range(statement.lineno, (statement.end_lineno or 0) + 1) if line in comments]
    return " ".join(above + own)


def _shortened(source: str) -> str:
    value = " ".join(source.split())
    return value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + "…"
