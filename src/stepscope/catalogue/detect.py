"""The catalogue: which formats there are, in which order to ask them, and which ones could have written a file.

The order is worked out from the samples (`work_out_order`): a format that also claims another's samples is asked
after it. With dozens of formats that takes a while, so `tools/gen.py` writes it down in `order.py`, together with a few
words that a line of each format must contain: a format whose words are not in a file need not even be imported to be
ruled out. `line_words.py` has the words of each line, so that its pattern is compiled only when one of them is there.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

from stepscope import formats
from stepscope.catalogue.line_words import LINE_WORDS, TELLING_LINES
from stepscope.catalogue.order import ORDER
from stepscope.core.errors import InputError
from stepscope.lines.format import Format, LineKind, match_line
from stepscope.lines.match import claim
from stepscope.lines.sieve import are_met, certain_words

# A line of one of these kinds settles which trainer it was; one of the others may help where there is no step yet.
SETTLING: frozenset[LineKind] = frozenset({"step", "evaluation"})
_WORDS = {name: tuple(words) for name, words in ORDER}
_PLACES = {name: place for place, (name, _) in enumerate(ORDER)}
TELLING: frozenset[LineKind] = frozenset({"step", "evaluation", "checkpoint", "fact", "start", "resume"})
# The names of three columns or more, apart by tabs or by more than one space.
_COLUMNS = re.compile(rb"[A-Za-z_][\w/%.()-]*(?:(?:\t| {2,}+)\s*+[A-Za-z_][\w/%.()-]*){2,}\s*")


@cache
def load(name: str) -> Format:
    """The format in the file of that name."""
    fmt: Format = importlib.import_module(f"{formats.__name__}.{name}").FORMAT
    return dataclasses.replace(fmt, name=name, words=_WORDS.get(name), line_words=LINE_WORDS.get(name))


def names() -> list[str]:
    """The names of all formats there are, in the order of the alphabet."""
    return sorted(module.name for module in pkgutil.iter_modules(formats.__path__) if not module.name.startswith("_"))


@cache
def catalogue() -> tuple[Format, ...]:
    """Every format, most particular first; one that is too new for `order.py` comes before all others."""
    return tuple(load(name) for name in [*_unordered(), *(name for name, _ in ORDER)])


@cache
def documents() -> tuple[Format, ...]:
    """The formats of files that are no text of lines, in the order of the catalogue; the others are not imported."""
    known = [name for name, _ in ORDER if name not in LINE_WORDS]
    return tuple(load(name) for name in [*_unordered(), *known])


@cache
def plugins() -> tuple[Format, ...]:
    """Formats that other packages bring, by the entry point group `stepscope.formats`.

    Looking for them takes longer than reading a small log, so they are asked only where no format of ours claims one.
    """
    from importlib.metadata import entry_points

    found = []
    for entry in sorted(entry_points(group="stepscope.formats"), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except Exception as problem:  # another package's code may fail in any way; which one, is what helps
            raise InputError("broken-plugin", place=entry.value, name=entry.name, reason=str(problem)) from None
        fmt = getattr(loaded, "FORMAT", loaded)
        if not isinstance(fmt, Format):
            raise InputError("broken-plugin", place=entry.value, name=entry.name, reason=type(fmt).__name__)
        found.append(dataclasses.replace(fmt, name=entry.name))
    return tuple(found)


def suspects(text: str) -> Iterator[Format]:
    """The formats that could have written a line, most particular first."""
    for name in _unordered():
        yield load(name)
    for name, words in ORDER:
        if any(map(text.__contains__, words)):
            telling = TELLING_LINES.get(name)
            if telling is None or any(are_met(LINE_WORDS[name][line], text) for line in telling):
                yield load(name)


def place_of(name: str) -> int:
    """Where a format of ours comes in the order of detection; one that is too new for `order.py` comes first."""
    return _PLACES.get(name, -1)


@cache
def _unordered() -> tuple[str, ...]:
    known = {name for name, _ in ORDER}
    return tuple(name for name in names() if name not in known)


def find_document(head: bytes) -> Format | None:
    """The format of a file that is no text of lines, by its first bytes."""
    first = head.lstrip()[:400].split(b"\n")[0]
    # Most logs begin like none of these files, so none of those formats is asked.
    is_table = (b"," in first and b": " not in first) or _COLUMNS.fullmatch(first) is not None
    if b"\0" not in head and not first.startswith((b"{", b"[", b":::ML", b"H\t")) and not is_table:
        return None
    for fmt in documents():
        if fmt.document is not None and fmt.document.sniff(head):
            first_lines = fmt.document.first_lines
            if first_lines is None or not _are_known(first_lines(head)):
                return fmt
    return None


def _are_known(lines: list[str]) -> bool:
    """Whether a format of plain lines claims one of them."""
    for text in filter(None, map(str.strip, lines)):
        for fmt in suspects(text):
            index = telling_line(fmt, text) if fmt.document is None else None
            if index is not None and fmt.lines[index].kind in SETTLING:
                return True
    return False


def work_out_order() -> list[tuple[str, list[str]]]:
    """The order of the catalogue by its samples, with each format's words; a circle is an error."""
    import graphlib

    found = {name: load(name) for name in names()}
    before: dict[str, set[str]] = {name: set() for name in found}
    for name, fmt in found.items():
        settling = [sample for sample in fmt.samples if sample.kind in SETTLING and settles(fmt, sample.text)]
        for other, rival in found.items():
            if other != name and any(_takes_for_step(rival, sample.text, unlike=fmt) for sample in settling):
                before[other].add(name)
    sorter = graphlib.TopologicalSorter(before)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())  # the same on every machine
        order += ready
        sorter.done(*ready)
    return [(name, sorted(words_of(found[name]))) for name in order]


def words_of(fmt: Format) -> set[str]:
    """Words of which every identifying line of a format contains one; the empty word where nothing is certain."""
    if fmt.document is not None:
        return set()
    settling = {word for line in fmt.lines if line.kind in SETTLING for word in certain_words(line.pattern)}
    others = {word for line in fmt.lines if line.kind in TELLING - SETTLING for word in certain_words(line.pattern)}
    words = settling | {word for word in others if word}
    # A word that contains another one is found with it.
    return {word for word in words if not any(other != word and other in word for other in words)}


def find_format(name: str) -> Format | None:
    """The format of that name, taught, ours or another package's; None when there is none."""
    from stepscope.catalogue.taught import taught_formats

    taught = next((fmt for fmt in taught_formats() if fmt.name == name), None)
    if taught is not None or name in names():
        return taught or load(name)
    return next((fmt for fmt in plugins() if fmt.name == name), None)


def _takes_for_step(fmt: Format, text: str, *, unlike: Format) -> bool:
    """Whether a format claims a line by a pattern of its own: one that both have says nothing of their order."""
    found = match_line(fmt, text)
    return found is not None and fmt.lines[found[0]].kind in SETTLING and fmt.lines[found[0]] not in unlike.lines


def settles(fmt: Format, text: str) -> bool:
    """Whether a line, from its start, is one that only this trainer writes."""
    found = match_line(fmt, text)
    return found is not None and fmt.lines[found[0]].kind in SETTLING and not fmt.lines[found[0]].weak


def telling_line(fmt: Format, text: str) -> int | None:
    """The index of the line under which `fmt` claims `text`, when that says something about the trainer."""
    which = claim(fmt, text).which
    return which if which is not None and fmt.lines[which].kind in TELLING else None
