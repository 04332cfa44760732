"""The modules of the trainer import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

from tests.conftest import ROOT

FOLDER = ROOT / "src" / "stepscope" / "trainer"
PREFIX = "stepscope.trainer"
SIX = {"config", "data", "model", "accounts", "state", "train"}


def name_of(path):
    return ".".join(path.relative_to(FOLDER).with_suffix("").parts)


def imported(path):
    """The trainer's modules that a file imports, inside functions and under TYPE_CHECKING as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in {PREFIX, f"{PREFIX}.extras"}:
            folder = node.module.removeprefix(PREFIX).removeprefix(".")
            yield from (f"{folder}.{alias.name}".removeprefix(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX + "."):
            yield node.module.removeprefix(PREFIX + ".")


def test_no_modules_of_the_trainer_import_each_other():
    """A cycle raises CycleError, which names it."""
    graph = {name_of(path): set(imported(path)) - {name_of(path)} for path in FOLDER.rglob("*.py")}
    order = list(TopologicalSorter(graph).static_order())
    wanted = ["extras.writer", "extras.sharded", "state", "train", "extras.selftest"]
    assert sorted(wanted, key=order.index) == wanted


def test_what_the_loop_needs_is_six_files():
    """To be read in one sitting; what it can be understood without is in `extras`."""
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == SIX
    lines = {name: len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in SIX}
    assert sum(lines.values()) <= 1600, lines
    assert max(lines.values()) <= 500, lines
