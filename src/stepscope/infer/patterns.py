"""Writes the pattern of a kind of line: its text unchanged, any number for a number, groups for those that matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stepscope.infer.line_parts import PATTERNS, Field, LineParts

# Numbers are bounded, so that no line can make the search for them long.
_ANY = r"\S{1,24}?"
_WHOLE = r"\d[\d,]{0,40}"
_PLAIN = r"[-+]?[\d.,]{1,40}(?:[eE][-+]?\d+)?"
_LOSS = r"[-+]?(?:[\d.,]{1,40}(?:[eE][-+]?\d+)?|nan|NaN|NAN|inf|Inf|INF)"
_WHOLE_GROUPS = frozenset(
    {"step", "epoch", "batch", "total", "batches", "epochs", "per_steps", "took_batch", "took_batches"}
    | {"tokens_per_step", "samples_per_step"}
)
_FAR = 2000


def write_pattern(
    shapes: Sequence[LineParts], groups: Mapping[int, str], *, anchor: int, abbreviated: bool = False
) -> str:
    """A pattern for lines of these shapes that names the fields in `groups` (by their index in the first shape).

    Up to the field `anchor` all shapes are the same. After it the text is copied as far as they agree; a field
    after that is looked for by the word before it, and may be missing.
    """
    first = shapes[0]
    last = max(groups)
    copied = max(anchor, min(last, common_fields(shapes) - 1))
    pattern = copy_fields(first, copied + 1, groups)
    if copied == last:
        pattern += _unit_after(first, copied)
    elif first.fields[copied].unit:
        # Only looked at: the unit may begin the words before the next number (`21 rows/sec; 0.05 sec/batch`).
        pattern += f"(?={_unit_after(first, copied)})"
    else:
        pattern += r"(?![\d.])"
    for index in sorted(groups):
        if index > copied:
            field = literal(_key_text(first.texts[index])) + _value(first.fields[index], groups[index])
            pattern += rf"(?:(?=.{{0,{_FAR}}}?{field}{_unit_after(first, index)})|)"
    return pattern.replace(f"<step>{_WHOLE})", f"<step>{_WHOLE}[KM]?)") if abbreviated else pattern


def common_fields(shapes: Sequence[LineParts]) -> int:
    """How many numbers all shapes have in common from the start."""
    first = shapes[0].skeleton
    for index in range(len(first)):
        if any(shape.skeleton[index : index + 1] != first[index : index + 1] for shape in shapes[1:]):
            return index
    return len(shapes[0].fields)


def copy_fields(shape: LineParts, num: int, groups: Mapping[int, str]) -> str:
    """The pattern of the first `num` numbers of a line and the texts before them."""
    return "".join(
        literal(shape.texts[index], at_start=index == 0) + _value(shape.fields[index], groups.get(index))
        for index in range(num)
    )


def literal(text: str, *, at_start: bool = False) -> str:
    """Text as a pattern: any blanks for blanks, any drawing for a bar."""
    if not text:
        return ""
    if text.isspace():
        return r"\s+"
    pieces = [_escape(word).replace("\1", r".{0,300}?") for word in text.split()]
    return ("" if at_start else r"\s*") + r"\s+".join(pieces) + r"\s*"


def _escape(text: str) -> str:
    """`re.escape` without backslashes before characters that have no special meaning."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _value(field: Field, group: str | None) -> str:
    if group is None:
        return _ANY if field.kind == "number" else PATTERNS[field.kind]
    if field.kind != "number":
        inner = PATTERNS[field.kind]
    elif group in _WHOLE_GROUPS:
        inner = _WHOLE
    else:
        inner = _LOSS if group in {"loss", "val_loss", "train_loss"} else _PLAIN
        inner += "[kKMG]?" if group == "samples_per_s" else ""
    return f"(?P<{group}>{inner})"


def _unit_after(shape: LineParts, index: int) -> str:
    """What follows a number directly, so that a line cut in the middle of it is not taken for a whole one."""
    after = shape.texts[index + 1]
    word = re.match(r"\S{1,12}", after)
    if word is None or "\1" in word[0]:
        return r"(?!\d)"
    return r"\s*" + _escape(word[0])


def _key_text(text: str) -> str:
    """The end of the text before a number: its last word and the signs after it."""
    found = re.search(r"[^\W\d][\w./-]*[\s\"']*[^\w]*$", text)
    return found[0] if found else text[-1:]


def has_key(shape: LineParts, index: int) -> bool:
    """Whether a word before a number, or a unit after it, lets it be found anywhere in a line."""
    return bool(shape.fields[index].unit) or bool(re.search(r"[^\W\d]\w*\W*$", shape.texts[index]))
