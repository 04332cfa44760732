"""What `--change` asks: settings under any name a trainer has for them, checked before the log is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from stepscope.advice._whatif import CHANGEABLE
from stepscope.core.errors import UsageError
from stepscope.core.nearest import nearest
from stepscope.core.settings import COUNTS, Value, parse_value
from stepscope.lines.format import Format

# The similarity of a name that was mistyped.
_ALIKE = 0.8


class Change(NamedTuple):
    """One `--change`: the setting by the name it was asked in, its value, and the text as it was typed."""

    name: str
    value: Value
    text: str


def parse_change(text: str) -> Change:
    """The change in `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    name = key.strip()
    if not equals or not name.strip("- ") or not value.strip():
        raise UsageError("bad-change", place=text)
    return Change(name, parse_value(value), text)


def by_name(changes: Sequence[Change]) -> dict[str, Value]:
    """The values by the names they were asked in; the same name twice is an error."""
    found: dict[str, Value] = {}
    for change in changes:
        if change.name in found:
            raise UsageError("change-twice", place=f"--change {change.text}", setting=change.name)
        found[change.name] = change.value
    return found


def named_changes(changes: dict[str, Value], fmt: Format) -> dict[str, Value]:
    """The changes by Stepscope's own names; values that cannot be, and two names for one setting, are errors."""
    found: dict[str, Value] = {}
    for key, value in changes.items():
        name = canonical_name(key, fmt)
        if name in found:
            raise UsageError("change-twice", place=f"--change {key}={value}", setting=name)
        if name in COUNTS and (isinstance(value, bool | str) or value < 1 or value != int(value)):
            raise UsageError("bad-change-value", place=f"--change {key}={value}", setting=key)
        if name == "always_save_checkpoint" and not isinstance(value, bool):
            raise UsageError("bad-change-switch", place=f"--change {key}={value}", setting=key)
        found[name] = value
    return found


def canonical_name(key: str, fmt: Format) -> str:
    """Stepscope's name for a setting that somebody calls `eval_steps`, `--eval-interval` or `TEST.EVAL_PERIOD`.

    The log's own trainer is asked first, then what most others mean by it. A name that no trainer has stays as it
    is, unless it looks like a known name that was mistyped: that is an error with a hint.
    """
    from stepscope.catalogue.detect import catalogue

    wanted = _plain(key)
    own = _names(fmt).get(wanted)
    if own is not None:
        return own
    meant = Counter(names[wanted] for names in map(_names, catalogue()) if wanted in names)
    if meant:
        return meant.most_common(1)[0][0]
    known = {*CHANGEABLE, *_names(fmt)}
    meant_by = nearest(wanted, known, alike=_ALIKE)
    if meant_by is not None:
        raise UsageError("unknown-change", place=f"--change {key}", known=meant_by)
    return key


def _names(fmt: Format) -> dict[str, str]:
    """Every name this trainer has for what can be changed, made alike, and what Stepscope calls it."""
    found = {name: name for name in CHANGEABLE}
    for theirs, ours in fmt.controls.names.items():
        if ours in CHANGEABLE:
            found[_plain(theirs)] = ours
    for ours in CHANGEABLE & set(fmt.controls.settable):
        own = fmt.controls.own_name(ours)
        if own is not None:
            found[_plain(own)] = ours
            found.setdefault(_plain(own.rpartition(".")[2]), ours)
    return found


def _plain(key: str) -> str:
    return key.strip().lstrip("-").replace("-", "_").lower()
