"""`%load_ext stepscope` and `%stepscope train.log`: the command line in a notebook, its report as the cell's value."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from stepscope.analysis.report import Report


class Shell(Protocol):
    """What of IPython's shell is used."""

    def register_magic_function(self, func: Callable[[str], object], magic_kind: str, magic_name: str) -> None:
        """Make a function a magic."""


def load(shell: Shell) -> None:
    """Make `%stepscope` known to IPython."""
    shell.register_magic_function(stepscope, "line", "stepscope")


def stepscope(line: str) -> Report | None:
    """The report of a log with the options of `stepscope explain`; of any other command, what it prints."""
    from stepscope.cli import COMMANDS, _help, _report, _runs, main
    from stepscope.core.errors import StepscopeError, UsageError

    try:
        words = shlex.split(line)
    except ValueError as problem:  # a quote that does not end
        print(f"usage: {problem}")
        return None
    is_report = bool(words) and words[0] not in set(COMMANDS) - {"explain"} and not words[0].startswith("-")
    try:
        if not is_report:
            main(words)
            return None
        args = _help.make_parser("explain").parse(words[words[0] == "explain" :])
        found = _runs.several_runs(args)
        if args.format != "terminal" or args.output is not None or found is not None:
            main(words)
            return None
        return _report.build_report(args)
    except StepscopeError as problem:
        # A sentence is enough: nobody needs the stack of a log that is not there.
        kind = "usage" if isinstance(problem, UsageError) else "error"
        print(f"{kind}: {problem}")
    except SystemExit:
        pass  # argparse's way out after --help
    return None
