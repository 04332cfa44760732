"""List the log formats, or try them on a file.

stepscope formats                                       list them all
stepscope formats show nanogpt                          one format: its lines, what its figure means
stepscope formats try run.log                           how far each format gets
stepscope formats try run.log --suggest > mine.toml     a format file to start from
stepscope run.log --format-file mine.toml
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from stepscope.catalogue.detect import catalogue, find_format, plugins, words_of
from stepscope.catalogue.taught import config_folder, taught_formats
from stepscope.cli import _answer, _flags
from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import Seconds, Share
from stepscope.core.nearest import nearest
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.lines.format import Format
from stepscope.lines.match import claim
from stepscope.run.model import Candidate

_MAX_LINES = 20_000
_MAX_SHAPES = 60
_SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`show NAME` or `try FILE`."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("show", "try"),
        help="Action: show one format, or try all of them on a file (default: list them)",
    )
    parser.add_argument("what", nargs="?", metavar="NAME|FILE", help="Format to show, or file to try")
    parser.add_argument(
        "--suggest", action="store_true", help="Write a format file for this log to start from (with try)"
    )
    _flags.add_format_argument(parser)
    _flags.add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """List, show or try."""
    language = _answer.chosen_languages(args)[0]
    if args.suggest and args.action != "try":
        raise UsageError("suggest-needs-file")
    if args.action is None:
        shown = [(fmt.name, fmt.title, fmt.url) for fmt in _all_formats()]
        name_columns, title_columns = (max(len(row[at]) for row in shown) for at in (0, 1))
        for name, title, url in shown:
            print(f"{name:<{name_columns}}  {title:<{title_columns}}  {url}")
        return 0
    if args.what is None:
        raise UsageError("no-such-format", nearest="none")
    if args.action == "show":
        found = find_format(args.what)
        if found is None:
            meant = nearest(args.what, [fmt.name for fmt in _all_formats()]) or "none"
            raise InputError("no-such-format", place=args.what, nearest=meant)
        sys.stdout.write(page(found, language))
        return 0
    lines = _lines_of(args.what)
    return _suggest(args.what, lines, language) if args.suggest else _try(args.what, lines, language)


def _all_formats() -> tuple[Format, ...]:
    return (*taught_formats(), *catalogue(), *plugins())


def page(fmt: Format, language: Language) -> str:
    """A format's page: what its figure means, what it is known by, and its lines with their samples."""
    lines = [language.text("formats-title", name=fmt.name, title=fmt.title), fmt.url, ""]
    lines.append(language.text("formats-clock", covers=fmt.clock.covers, includes=", ".join(fmt.clock.includes)))
    lines.append(fmt.clock.note)
    words = sorted(word for word in words_of(fmt) if word)
    if words:
        lines.append(language.text("formats-words", words=", ".join(f"“{word}”" for word in words)))
    lines += ["", language.text("formats-lines")]
    for kind in dict.fromkeys(line.kind for line in fmt.lines):
        for sample in fmt.samples:
            if sample.kind == kind:
                lines.append(f"  {kind:<11} {sample.text}")
    return "\n".join(lines) + "\n"


def _lines_of(path: str) -> list[str]:
    from stepscope.source.files import resolve
    from stepscope.source.lines import LineSplitter

    splitter = LineSplitter()
    lines: list[str] = []
    for chunk in resolve(path)[0].chunks():
        lines.extend(splitter.feed(chunk))
        if len(lines) > _MAX_LINES:
            break
    lines.extend(splitter.close())
    if not any(line.strip() for line in lines):
        raise InputError("empty", place=path)
    if splitter.looks_binary:
        raise InputError("binary", place=path)
    return lines[:_MAX_LINES]


class _Coverage(NamedTuple):
    """How far a format got with a file: lines claimed, steps among them, and where it gave up."""

    fmt: Format
    claimed: int
    steps: int
    line: int
    column: int
    text: str


def _try(path: str, lines: list[str], language: Language) -> int:
    """What would read a file, how many of its lines each format claims, and where each one gives up."""
    code = _verdict(path, language)
    shapes = _distinct(lines)
    found = [_coverage(fmt, lines, shapes) for fmt in _all_formats()]
    found.sort(key=lambda coverage: (-coverage.steps, -coverage.claimed, -coverage.column))
    shown = [coverage for coverage in found if coverage.claimed or coverage.column > 1][:_SHOWN]
    for coverage in shown:
        name, count, steps = coverage.fmt.name, coverage.claimed, coverage.steps
        print(language.text("formats-try-claimed", name=name, count=count, lines=len(lines), steps=steps))
        if coverage.text:
            print("  " + language.text("formats-try-gave-up", line=coverage.line, column=coverage.column))
            print(f"    {coverage.text}")
            print("    " + " " * (min(coverage.column, len(coverage.text)) - 1) + "^")
    print(language.text("formats-try-others", count=len(found) - len(shown)))
    return code


def _verdict(path: str, language: Language) -> int:
    """Say what Stepscope reads the file as."""
    from stepscope.reading.reader import read
    from stepscope.report.inferred import assumption_lines

    try:
        run = read(path)
    except InputError as problem:
        if problem.key not in {"not-a-training-log", "no-format-fits"}:
            raise
        print(language.text("formats-try-none"), file=sys.stderr)
        return 1
    print(language.text("formats-try-read-as", name=run.format.name, steps=len(run)))
    for candidate in run.candidates if len(run.candidates) > 1 else ():
        print(f"  {_candidate_text(candidate, language)}")
    for line in assumption_lines(run.format, language):
        print(f"  {line}")
    return 0


def _candidate_text(candidate: Candidate, language: Language) -> str:
    """One format's account of the log, in the competition that decided which one reads it."""
    share = Share(candidate.share)
    if candidate.seconds is None:
        return language.text("formats-try-behind", name=candidate.format, share=share, steps=candidate.num_rows)
    return language.text(
        "formats-try-account",
        name=candidate.format,
        share=share,
        steps=candidate.num_rows,
        seconds=Seconds(candidate.seconds),
        unread=candidate.num_unread or 0,
    )


def _distinct(lines: list[str]) -> list[tuple[int, str]]:
    """The first line of each shape, with its number: enough to see where a format gives up."""
    from stepscope.infer.line_parts import take_apart

    found: dict[tuple[str, ...], tuple[int, str]] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and len(found) < _MAX_SHAPES:
            found.setdefault(take_apart(text).skeleton, (number, text))
    return list(found.values())


def _coverage(fmt: Format, lines: list[str], shapes: list[tuple[int, str]]) -> _Coverage:
    from stepscope.catalogue.partial_match import furthest

    claimed = steps = 0
    words = [word for word in words_of(fmt) if word]
    missed: dict[int, str] = {}
    may_claim = fmt.document is None and (not words or any(word in text for _, text in shapes for word in words))
    for number, line in enumerate(lines, 1) if may_claim else ():
        text = line.strip()
        index = claim(fmt, text).which if text else None
        if index is not None:
            claimed += 1
            steps += fmt.lines[index].kind == "step"
        elif text and len(missed) < _MAX_SHAPES:
            missed[number] = text
    reach = [(furthest(fmt, text), number, text) for number, text in shapes if number in missed] if may_claim else []
    column, number, text = max(reach, key=lambda item: (item[0], -item[1]), default=(0, 0, ""))
    return _Coverage(fmt, claimed, steps, number, column + 1, redact(text) if text else "")


def _suggest(path: str, lines: list[str], language: Language) -> int:
    """Write a format file made from the log's structure; from nothing but its lines where it has none."""
    from stepscope.catalogue.suggest import blank, to_toml
    from stepscope.infer.infer import infer
    from stepscope.report.inferred import assumption_text

    fmt = infer(lines[:_MAX_LINES], settle_doubts=True)
    remarks = [
        language.text("suggest-what", path=redact(path, 200)),
        language.text("suggest-where", folder=str(config_folder()), path=redact(path, 200)),
        language.text("suggest-groups"),
        language.text("suggest-total"),
    ]
    if fmt is None:
        print(language.text("suggest-none"), file=sys.stderr)
        fmt = blank([text for _, text in _distinct(lines)])
    text = to_toml(
        fmt, title=redact(Path(path).name, 60), say=lambda item: assumption_text(item, language), remarks=remarks
    )
    sys.stdout.write(text)
    return 0
