"""A folder that holds several runs: found, explained one after the other within bounds, shown as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli import _answer, _report
from stepscope.cli._progress import Progress
from stepscope.cli._write import write_file
from stepscope.core.errors import InputError, StepscopeError, UsageError
from stepscope.core.unseen import visible
from stepscope.source.recording import recorded_log
from stepscope.source.trainer_records import trainer_records

if TYPE_CHECKING:
    from stepscope.reading.folder_runs import FolderRuns, FoundRun
    from stepscope.report.runs import FolderRun
    from stepscope.run.model import Run

_FORMATS = ("terminal", "json", "markdown")
# A screen's worth; all that --full and documents have. More is for `stepscope fleet`.
_MOST_ROWS, _MOST_RUNS = 18, 200
_MOST_BYTES = 256 << 20  # of a run, unpacked: a table must not wait for one log
_MOST_BYTES_IN_ALL = 1 << 30


def several_runs(args: argparse.Namespace) -> FolderRuns | None:
    """The runs of the folder that was named; None where it is no folder, or one with one run, which is named then."""
    if len(args.log) != 1 or not args.log[0]:
        return None
    path = Path(args.log[0])
    try:
        if not path.is_dir() or recorded_log(path) is not None or trainer_records(path) is not None:
            return None
    except (OSError, ValueError):
        return None  # what is wrong with it is said by who reads it
    from stepscope.reading.folder_runs import runs_below

    is_short = args.format == "terminal" and not args.full
    found = runs_below(args.log[0], most=_MOST_ROWS if is_short else _MOST_RUNS)
    if len(found.runs) == 1:
        run = found.runs[0]
        args.log = [source.name for source in run.sources]
        args.heads = run.heads if len(run.sources) > 1 else None  # so that nobody reads them again
    return found if len(found.runs) > 1 else None


def show(args: argparse.Namespace, found: FolderRuns) -> int:
    """Print the table; 3 where no run of it has a step time."""
    if args.format not in _FORMATS:
        raise UsageError("several-runs", place=args.log[0], count=len(found.runs), path=found.runs[0].sources[0].name)
    from stepscope.report import runs as drawn

    language = _answer.chosen_languages(args)[0]
    folder = drawn.Folder(args.log[0], tuple(_explained(args, found)), found.num_unseen)
    if args.format == "json":
        text = drawn.render_json(folder)
    elif args.format == "markdown":
        text = drawn.render_markdown(folder, language)
    else:
        text = drawn.render(folder, language, width=_answer.terminal_size(args)[0])
    if args.output is None:
        _answer.put_out(text, args.format)
    else:
        write_file(args.output, text)
    return 0 if any(run.report is not None and run.report.has_times for run in folder.runs) else 3


def say_which(args: argparse.Namespace, run: Run) -> None:
    """On stderr, which run the answer is about where a folder was named that holds several."""
    folder = args.log[0]
    if len(args.log) != 1 or not folder or not Path(folder).is_dir():
        return
    found = several_runs(argparse.Namespace(**vars(args) | {"full": True}))
    if found is not None:
        language = _answer.chosen_languages(args)[0]
        names = {"folder": visible(folder), "path": visible(run.paths[0])}
        text = language.text("runs-one-of", count=len(found.runs), **names)
        print(text, file=sys.stderr)


def _explained(args: argparse.Namespace, found: FolderRuns) -> list[FolderRun]:
    from stepscope.report.runs import FolderRun

    flags, (config, hardware) = _report.stated_settings(args), _report.read_companions(args)
    progress, explained = Progress(args.log), list[FolderRun]()
    at = 0
    for run in found.runs:
        at += run.size
        if run.size > _MOST_BYTES or at > _MOST_BYTES_IN_ALL:
            explained.append(FolderRun(run, None))
            continue
        try:
            read = _read(run, progress, at - run.size)
            report = _report.explain_run(read, args, flags=flags, config=config, hardware=hardware)
            explained.append(FolderRun(run, report))
        except StepscopeError as problem:
            explained.append(FolderRun(run, None, problem))
    progress.clear()
    return explained


def _read(run: FoundRun, progress: Callable[[int], None], before: int) -> Run:
    """Read a run of a folder; an archive that goes on and on is an error."""
    from stepscope.reading.reader import read_sources

    def check(num_bytes: int) -> None:
        if num_bytes > _MOST_BYTES:
            raise InputError("too-large-inside", place=run.sources[0].name, size=f"{_MOST_BYTES >> 20} MiB")
        progress(before + num_bytes)

    return read_sources(run.sources, heads=run.heads, progress=check)
