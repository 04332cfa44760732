"""Data flows one way: no module imports from a later stage."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

ORDER = [
    {"trainer", "integrations"},
    {"core"},
    {"i18n", "source", "columns", "lines"},
    {"formats"},
    {"catalogue"},
    {"infer"},
    {"run"},
    {"reading"},
    {"ledger"},
    {"causes"},
    {"forecast", "plan"},
    {"audit"},
    {"advice", "alarms"},
    {"analysis"},
    {"live"},
    {"fleet"},
    {"report"},
    {"web"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
PACKAGE = ROOT / "src" / "stepscope"
ROOT_MODULES = {"__init__", "__main__"}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "demo")


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The packages that a module imports from, under TYPE_CHECKING and inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: line {node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("stepscope.")}
    return found & RANK.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_back(path):
    """A type from a later stage is a dependency on it too. Packages of one rank do not import each other."""
    own = package_of(path)
    if own in ROOT_MODULES:
        return
    for other in imported(path) - {own}:
        assert RANK[other] < RANK[own], f"{own} imports {other}"


def test_the_root_holds_nothing_but_the_public_face():
    assert {path.stem for path in PACKAGE.glob("*.py")} == ROOT_MODULES
    assert {package_of(path) for path in MODULES} - ROOT_MODULES == RANK.keys()


def test_formats_holds_formats_and_nothing_else():
    """What several formats share is in `_shared`; every other file is a format."""
    for path in (PACKAGE / "formats").glob("*.py"):
        assert path.stem == "__init__" or "\nFORMAT = " in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_readers_look_at_what_a_clock_covers(path):
    """The stages after them ask the clock: `is_per_step`, `runs_during("evaluation")`."""
    if RANK.get(package_of(path), 0) <= RANK["reading"]:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            compared = {getattr(side, "attr", None) for side in (node.left, *node.comparators)}
            assert "covers" not in compared, f"line {node.lineno}"


def test_starting_up_loads_nothing_heavy():
    """`import stepscope` costs no NumPy, and a command imports its renderer only."""
    import subprocess
    import sys

    script = (
        "import sys, stepscope; assert 'numpy' not in sys.modules; "
        "import stepscope.cli.eta; assert 'rich' not in sys.modules and 'babel' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# Each is imported where it is needed, by the one command or file that needs it.
HEAVY = {"yaml", "mcp", "anyio", "pydantic", "prometheus_client", "starlette", "uvicorn", "apprise", "pyarrow", "torch"}
HEAVY |= {"duckdb", "obstore", "ray", "distributed"}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["eta"], ["mcp", "--help"], ["serve", "--help"], ["fleet", "--help"]], ids=" ".join
)
def test_a_command_does_not_pay_for_the_libraries_of_others(arguments):
    import subprocess
    import sys

    demo = PACKAGE / "demo"
    given = [str(demo / "train.log"), "--config", str(demo / "config.py")] if arguments == ["eta"] else []
    script = (
        "import sys; from stepscope.cli import main\n"
        "try: code = main(sys.argv[1:])\n"
        "except SystemExit as end: code = end.code\n"
        f"print(sorted({HEAVY!r} & sys.modules.keys()), file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, *arguments, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.splitlines()[-1] == "[]"
