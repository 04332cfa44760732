"""The command line: one file per command, and here the table of them, errors and exit codes.

Exit codes: 0 answered · 1 could not · 2 asked wrongly · 3 a training log, but not enough in it ·
5 `compare --fail-on`: slower.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from stepscope import __version__
from stepscope.cli import _ascii, _help
from stepscope.cli._help import make_parser
from stepscope.core.errors import InputError, StepscopeError

# As `--help` shows them. A command is a module with a docstring, `add_arguments(parser)` and `run(args) -> int`.
GROUPS = {
    "Explain a log": ("explain", "why", "eta", "advise", "compare"),
    "Follow a run": ("run", "watch", "attach", "serve"),
    "Before a run": ("plan",),
    "Many runs": ("fleet",),
    "Train a network": ("train", "sample", "data", "bench", "export"),
    "More": ("formats", "doc", "schema", "replay", "mcp", "demo", "completion", "help"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
_DEFAULT = "explain"
# Hardly anything of a report goes in circles: to look for that after every 700 objects takes up to a fifth of its time.
_COLLECTED = (50_000, 20, 100)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(*_COLLECTED)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open as long as we are)
        _ascii.prepare(getattr(sys, name))
    try:
        return _dispatch(arguments)
    except StepscopeError as problem:
        _print_error(problem, arguments)
        return problem.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing left to say, and nothing to say it to.
        _leave_stdout()
        return 0
    except OSError as problem:
        # The answer cannot be written (a full disk): what cannot be read is an error of its own before this.
        _leave_stdout()
        _print_error(InputError("cannot-write", place="-", reason=problem.strerror or str(problem)), arguments)
        return 1


def _leave_stdout() -> None:
    """Let what is still to be written go nowhere, where standard output is a file or a pipe."""
    with contextlib.suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(_help.overview(GROUPS))
        return 0 if arguments else 2
    if arguments[0] in {"-V", "--version"}:
        print(f"stepscope {__version__}")
        return 0
    if arguments[0] not in COMMANDS:
        _help.ensure_command(arguments[0], arguments[1:], COMMANDS)
    name = arguments.pop(0) if arguments[0] in COMMANDS else _DEFAULT
    module = importlib.import_module(f"stepscope.cli.{name}")
    # After "--" comes another program's command line: none of it is ours to read.
    other_command: list[str] = []
    if "--" in arguments and getattr(module, "RUNS_A_COMMAND", False):
        cut = arguments.index("--")
        arguments, other_command = arguments[:cut], arguments[cut + 1 :]
    args = make_parser(name).parse(arguments)
    if other_command:
        args.command = other_command
    code: int = module.run(args)
    sys.stdout.flush()
    return code


def _print_error(problem: StepscopeError, arguments: list[str]) -> None:
    """What happened, where, what to do: on stderr, in the user's language."""
    from stepscope.core.redact import redact
    from stepscope.i18n import Language, languages, system_language
    from stepscope.i18n.plain import error_text

    # The error may come from parsing, so `--lang de` and `--lang=de` are looked for in the words themselves.
    words = [word for argument in arguments for word in argument.split("=", 1)]
    code = next((after for flag, after in pairwise(words) if flag == "--lang"), "")
    first = code.split(",")[0]
    language = Language.load(first if first in languages() else system_language())
    sentence, hint = error_text(problem, language)
    # Programs look for the key and its colon: those are alike in every language.
    print(f"{language.text('error-title')}[{problem.key}]: {sentence}", file=sys.stderr)
    if problem.place:
        print(f"  --> {redact(problem.place)}", file=sys.stderr)
    if problem.excerpt:
        print(f"   |  {problem.excerpt}", file=sys.stderr)
    if hint:
        print("  " + language.text("labelled", label=language.text("error-try"), text=hint), file=sys.stderr)
