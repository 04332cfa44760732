"""The YAML that settings are written in: mappings by indentation, plain and quoted scalars, lists, comments.

Anchors, tags and merges are passed over; nothing is ever constructed but numbers, truths, text, dicts and lists.
"""

from __future__ import annotations

import re

Tree = dict[str, "Node"]
Node = Tree | list["Node"] | str | int | float | bool | None

_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\-?:,\[\]{}&*!|>'"%@`][^#]*?|-[^\s#:][^#]*?)\s*:(?:\s+|$)"""
)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", ""), None),
}
_MARKS = re.compile(r"(?:[&!]\S*\s*)+")  # anchors and tags before a value
_MAX_DEPTH = 60


class YamlError(ValueError):
    """A line that is not of this YAML; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class _Line:
    def __init__(self, number: int, indent: int, text: str) -> None:
        self.number, self.indent, self.text = number, indent, text


def parse_yaml(text: str) -> Node:
    """The first document of a YAML text as plain data."""
    lines = _lines(text)
    if not lines:
        return {}
    node, rest = _block(lines, 0, lines[0].indent, 0)
    if rest < len(lines):
        raise YamlError(lines[rest].number, "unexpected indentation")
    return node


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    scalar_indent: int | None = None  # inside a block of text, everything set in further belongs to it
    for number, raw in enumerate(text.splitlines(), 1):
        bare = raw.strip()
        indent = len(raw) - len(raw.lstrip(" "))
        if not bare or (scalar_indent is not None and indent > scalar_indent):
            continue
        scalar_indent = None
        if bare.startswith(("#", "%")):
            continue
        if bare == "---" or bare.startswith("--- "):
            if found:
                break
            continue
        if bare == "...":
            break
        if raw[indent : indent + 1] == "\t":
            raise YamlError(number, "a tab in the indentation")
        body = _without_comment(bare)
        if re.search(r"(?:^|[:\-]\s+)(?:[&!]\S+\s+)?[|>][-+\d]*$", body):
            scalar_indent = indent
        found.append(_Line(number, indent, body))
    return found


def _without_comment(text: str) -> str:
    quoted = ""
    for index, char in enumerate(text):
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "\"'" and (index == 0 or text[index - 1] in " [{,:"):
            quoted = char
        elif char == "#" and index and text[index - 1] == " ":
            return text[:index].rstrip()
    return text


def _block(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[Node, int]:
    if depth > _MAX_DEPTH:
        raise YamlError(lines[at].number, "nested too deeply")
    if lines[at].text == "-" or lines[at].text.startswith("- "):
        return _list(lines, at, indent, depth)
    return _mapping(lines, at, indent, depth)


def _mapping(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[Node, int]:
    found: Tree = {}
    while at < len(lines) and lines[at].indent == indent and not lines[at].text.startswith("- "):
        line = lines[at]
        match = _KEY.match(line.text)
        if match is None:
            if not found and at + 1 == len(lines):
                return _scalar(line.text), at + 1
            raise YamlError(line.number, "neither `name: value` nor `- item`")
        key, value = str(_scalar(match["key"])), line.text[match.end() :].strip()
        value = _MARKS.sub("", value, count=1) if value[:1] in "&!" else value
        at += 1
        if value and not value.startswith(("|", ">")):
            at = _skip_continued(lines, at, indent, value)
            found.setdefault(key, _scalar(value))
        elif at < len(lines) and (lines[at].indent > indent or _is_item_at(lines[at], indent)):
            inner, at = _block(lines, at, lines[at].indent, depth + 1)
            found.setdefault(key, inner)
        else:
            found.setdefault(key, None)
    return found, at


def _is_item_at(line: _Line, indent: int) -> bool:
    """A list may stand under its key without being set in."""
    return line.indent == indent and (line.text == "-" or line.text.startswith("- "))


def _skip_continued(lines: list[_Line], at: int, indent: int, value: str) -> int:
    """Past the lines that a long value or an open bracket goes on over."""
    depth = value.count("[") + value.count("{") - value.count("]") - value.count("}")
    while at < len(lines) and (depth > 0 or lines[at].indent > indent):
        text = lines[at].text
        depth += text.count("[") + text.count("{") - text.count("]") - text.count("}")
        at += 1
    return at


def _list(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[Node, int]:
    found: list[Node] = []
    while at < len(lines) and _is_item_at(lines[at], indent):
        line = lines[at]
        rest = line.text[1:].strip()
        inner = indent + len(line.text) - len(line.text[1:].lstrip())
        if rest and _KEY.match(rest):
            lines[at] = _Line(line.number, inner, rest)
            node, at = _block(lines, at, inner, depth + 1)
        elif rest:
            node, at = _scalar(rest), _skip_continued(lines, at + 1, indent, rest)
        elif at + 1 < len(lines) and lines[at + 1].indent > indent:
            node, at = _block(lines, at + 1, lines[at + 1].indent, depth + 1)
        else:
            node, at = None, at + 1
        found.append(node)
    return found, at


def _scalar(text: str) -> Node:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1].replace('\\"', '"')
    if text.startswith("{") and text.endswith("}"):
        pairs = (part.partition(":") for part in text[1:-1].split(",") if ":" in part)
        return {str(_scalar(key)): _scalar(value) for key, _, value in pairs}
    if text.startswith("["):
        return [_scalar(part) for part in text.strip("[]").split(",") if part.strip()]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text) and len(text) < 40:
        plain = text.replace("_", "")
        return int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain)
    return text
