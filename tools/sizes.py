"""Print what has grown large: files, functions, branches and state. It reports and never fails.

    make sizes      or:  python tools/sizes.py [PATH…]

Lines are counted here, cyclomatic complexity by radon. A file that `tools/gen.py` writes is left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from radon.complexity import cc_visit
from radon.visitors import Class

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "tools", "bench")
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 50
MOST_COMPLEXITY = 20
MOST_REASSIGNED = 15

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    """Something past its limit: how far, and where."""

    size: int
    place: str


class Sizes:
    """The findings of all files, by limit."""

    def __init__(self) -> None:
        self.files: list[Finding] = []
        self.functions: list[Finding] = []
        self.branches: list[Finding] = []
        self.state: list[Finding] = []

    def measure(self, path: Path) -> None:
        """Add what one file has past the limits."""
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        if "tools/gen.py" in (ast.get_docstring(tree) or "").partition("\n")[0]:
            return
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        num_lines = len(text.splitlines())
        if num_lines > MOST_FILE_LINES:
            self.files.append(Finding(num_lines, str(name)))
        for node in ast.walk(tree):
            place = f"{name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, _Function):
                num_lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if num_lines > MOST_FUNCTION_LINES:
                    self.functions.append(Finding(num_lines, f"{place} {node.name}"))
            elif isinstance(node, ast.ClassDef):
                num_names = len(reassigned(node))
                if num_names > MOST_REASSIGNED:
                    self.state.append(Finding(num_names, f"{place} {node.name}"))
        for block in cc_visit(text):
            # A class counts as the mean of its methods, which are in the list themselves.
            if not isinstance(block, Class) and block.complexity > MOST_COMPLEXITY:
                self.branches.append(Finding(block.complexity, f"{name}:{block.lineno} {block.fullname}"))


def reassigned(node: ast.ClassDef) -> set[str]:
    """The attributes of `self` that methods other than `__init__` assign."""
    methods = [item for item in node.body if isinstance(item, _Function) and item.name != "__init__"]
    return {
        target.attr
        for method in methods
        for target in ast.walk(method)
        if isinstance(target, ast.Attribute)
        and isinstance(target.ctx, ast.Store)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    }


def sources(paths: list[Path]) -> Iterator[Path]:
    """The Python files below the paths, in order."""
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def show(title: str, findings: list[Finding]) -> None:
    print(f"{title}: {len(findings)}")
    for finding in sorted(findings, reverse=True):
        print(f"  {finding.size:>5}  {finding.place}")


def main() -> int:
    sizes = Sizes()
    for path in sources([Path(name).resolve() for name in sys.argv[1:]] or [ROOT / name for name in FOLDERS]):
        sizes.measure(path)
    show(f"files past {MOST_FILE_LINES} lines", sizes.files)
    show(f"functions past {MOST_FUNCTION_LINES} lines", sizes.functions)
    show(f"functions with a cyclomatic complexity above {MOST_COMPLEXITY}", sizes.branches)
    show(f"classes with more than {MOST_REASSIGNED} attributes assigned outside __init__", sizes.state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
