"""The modules of the trainer import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

from tests.conftest import ROOT

FOLDER = ROOT / "src" / "stepscope" / "trainer"
PREFIX = "stepscope.trainer"


def imported(path):
    """The trainer's modules that a file imports, inside functions and under TYPE_CHECKING as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == PREFIX:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX + "."):
            yield node.module.removeprefix(PREFIX + ".")


def test_no_modules_of_the_trainer_import_each_other():
    """A cycle raises CycleError, which names it."""
    graph = {path.stem: set(imported(path)) - {path.stem} for path in FOLDER.glob("*.py")}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("writer") < order.index("sharded") < order.index("checkpoint") < order.index("train")
