"""the catalogue of log formats: list it, `show NAME`, or `try FILE` to see how far each one gets"""

from __future__ import annotations

import argparse
import sys

from stepscope.cli import _common
from stepscope.errors import InputError, UsageError
from stepscope.formats._base import Format
from stepscope.formats._claim import claim
from stepscope.formats._detect import catalogue, find_format
from stepscope.i18n import Language
from stepscope.quote import quote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`show NAME` or `try FILE`."""
    parser.add_argument("action", nargs="?", choices=("show", "try"), help="without it: list the formats")
    parser.add_argument("what", nargs="?", metavar="NAME|FILE")
    parser.add_argument("--lang", metavar="L", help="language (default: the locale's)")


def run(args: argparse.Namespace) -> int:
    """List, show or try."""
    language = _common.chosen_languages(args)[0]
    if args.action is None:
        for fmt in catalogue():
            print(f"{fmt.name:<16}{fmt.title:<20}{fmt.url}")
        return 0
    if args.what is None:
        raise UsageError("no-such-format")
    if args.action == "show":
        found = find_format(args.what)
        if found is None:
            raise InputError("no-such-format", place=args.what)
        sys.stdout.write(page(found, language))
        return 0
    return _try(args.what, language)


def page(fmt: Format, language: Language) -> str:
    """A format's page: what its figure means, and its lines with their samples."""
    lines = [language.text("formats-title", name=fmt.name, title=fmt.title), fmt.url, ""]
    lines.append(language.text("formats-clock", covers=fmt.clock.covers, includes=", ".join(fmt.clock.includes)))
    lines += [fmt.clock.note, "", language.text("formats-lines")]
    for kind in dict.fromkeys(line.kind for line in fmt.lines):
        for sample in fmt.samples:
            if sample.kind == kind:
                lines.append(f"  {kind:<11} {sample.text}")
    return "\n".join(lines) + "\n"


def _try(path: str, language: Language) -> int:
    """How many lines of a file each format claims, and where it first does not understand."""
    from stepscope.source.files import resolve
    from stepscope.source.lines import LineSplitter

    splitter = LineSplitter()
    lines: list[str] = []
    for chunk in resolve(path)[0].chunks():
        lines.extend(splitter.feed(chunk))
        if len(lines) > 200_000:
            break
    lines.extend(splitter.close())
    if not any(line.strip() for line in lines):
        raise InputError("empty", place=path)
    if splitter.looks_binary:
        raise InputError("binary", place=path)
    claimed_any = False
    for fmt in catalogue():
        claimed, steps, miss = _coverage(fmt, lines)
        claimed_any = claimed_any or claimed > 0
        print(language.text("formats-try-claimed", name=fmt.name, count=claimed, lines=len(lines), steps=steps))
        if miss is not None:
            print("  " + language.text("formats-try-first-miss", line=miss[0], text=miss[1]))
    if not claimed_any:
        print(language.text("formats-try-none"), file=sys.stderr)
    return 0 if claimed_any else 1


def _coverage(fmt: Format, lines: list[str]) -> tuple[int, int, tuple[int, str] | None]:
    claimed = steps = 0
    miss: tuple[int, str] | None = None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        index = claim(fmt, text).which
        if index is None:
            miss = miss or (number, quote(text))
        else:
            claimed += 1
            steps += fmt.lines[index].kind == "step"
    return claimed, steps, miss
