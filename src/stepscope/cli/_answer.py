"""Writing the answer: in which languages, how wide, and where to."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli._write import make_folder, write_file
from stepscope.core.errors import UsageError
from stepscope.i18n import Language, system_language

if TYPE_CHECKING:
    from stepscope.analysis.report import Report

# Endings of files that are not called like their format.
_SUFFIX = {"terminal": ".txt", "markdown": ".md", "note": ".md", "trace": ".trace.json"}
# (report, language, is a translation) → text, or the bytes of a file that is none
Renderer = Callable[["Report", Language, bool], str | bytes]


def chosen_languages(args: argparse.Namespace) -> list[Language]:
    """The languages asked for, the first one first."""
    return [Language.load(code) for code in dict.fromkeys(args.lang or [system_language()])]


def write(args: argparse.Namespace, report: Report, renderers: dict[str, Renderer], stem: str) -> None:
    """Render the report in every language asked for and put it where asked."""
    chosen = chosen_languages(args)
    render = renderers[args.format]
    if args.output is None:
        if len(chosen) > 1:
            raise UsageError("languages-need-folder")
        _print(render(report, chosen[0], False), args.format)
        return
    target = Path(args.output)
    as_folder = len(chosen) > 1 or target.is_dir() or args.output.endswith(("/", os.sep))
    if as_folder:
        make_folder(target)
    ending = _SUFFIX.get(args.format, f".{args.format}")
    for index, language in enumerate(chosen):
        path = target / f"{stem}-{language.code}{ending}" if as_folder else target
        write_file(path, render(report, language, index > 0))
        print(chosen[0].text("written", path=str(path)), file=sys.stderr)


def put_out(text: str, name: str) -> None:
    """An answer in a format to standard output. A document is UTF-8 whatever the locale, but for a terminal's sake."""
    if name != "terminal" and not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.write(text)


def _print(answer: str | bytes, name: str) -> None:
    """To standard output; bytes only where no terminal would have to show them."""
    if isinstance(answer, str):
        put_out(answer, name)
        return
    if sys.stdout.isatty():
        raise UsageError("binary-to-terminal", place=f"--format {name}", name=name)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def terminal_size(args: argparse.Namespace) -> tuple[int, bool]:
    """Width and whether to use colours: those of the terminal, or 80 plain columns elsewhere."""
    if args.output is None and sys.stdout.isatty():
        width = max(60, min(110, shutil.get_terminal_size((80, 24)).columns))
        return width, "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return 80, False


def stem_of(report: Report) -> str:
    """A file name for the answer, after the log's own."""
    name = Path(report.run.paths[0]).name if report.run.paths and report.run.paths[0] != "-" else "stdin"
    for suffix in (".gz", ".xz", ".zst", ".log", ".txt", ".out"):
        name = name.removesuffix(suffix)
    return name or "report"
