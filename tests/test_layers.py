"""Data flows one way: no module imports from a later stage."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

ORDER = [
    {"trainer"},
    {"core"},
    {"i18n", "source"},
    {"columns", "lines"},
    {"formats"},
    {"catalogue"},
    {"infer"},
    {"run"},
    {"reading"},
    {"ledger"},
    {"causes"},
    {"forecast", "plan"},
    {"advice", "alarms"},
    {"analysis"},
    {"live"},
    {"report"},
    {"web"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
PACKAGE = ROOT / "src" / "stepscope"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "demo")


def stage(path_or_name: str) -> str:
    return path_or_name.removeprefix("stepscope.").split(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_back(path):
    """Imports under TYPE_CHECKING count too: a type from a later stage is a dependency on it."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in {"__init__", "__main__"}:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stepscope"):
            names = [node.module] if node.module != "stepscope" else [f"stepscope.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("stepscope.")]
        else:
            continue
        for name in names:
            other = stage(name)
            if other in RANK:
                assert RANK[other] <= RANK[own], f"{own} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_readers_look_at_what_a_clock_covers(path):
    """The stages after them ask the clock: `is_per_step`, `runs_during("evaluation")`."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if RANK.get(own, 0) <= RANK["reading"]:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            compared = {getattr(side, "attr", None) for side in (node.left, *node.comparators)}
            assert "covers" not in compared, f"line {node.lineno}"


def test_every_module_has_a_rank():
    for path in MODULES:
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        assert name in RANK or name in {"__init__", "__main__"}, f"{name} has no place in the flow"


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


@pytest.mark.parametrize("arguments", [["--help"], ["eta"], ["mcp", "--help"], ["serve", "--help"]], ids=" ".join)
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
