"""Lines as they were before somebody pasted them into a forum: without quote signs, bold marks and code marks."""

from __future__ import annotations

import re

from stepscope.core.lazy_pattern import LazyPattern

_QUOTE = LazyPattern(r"^\s{0,3}(?:>\s?)+(?=\s*\S)")
_FENCE = LazyPattern(r"^\s{0,3}(?:```|~~~)[\w+-]*\s*$")
_BOLD = LazyPattern(r"(?<!\*)\*\*(?=[^\s*])(.{1,400}?)(?<=[^\s*])\*\*(?!\*)|(?<!\w)__(?=\S)(.{1,400}?)(?<=\S)__(?!\w)")
_TAG = LazyPattern(r"</?(?:b|i|em|strong|code|pre|p|br|span|div|font|tt|samp)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_ENTITY = LazyPattern(r"&(?:lt|gt|amp|quot|nbsp|#\d{1,5});")
_ESCAPED = LazyPattern(r"\\([\[\]_*|#<>-])")


# A table whose lines became one: its rows end and begin with a rule.
_FOLDED = LazyPattern(r"(?<=\|)[ \t]+(?=\|)")
_LEAST_FOLDED = 4
# The name of a source file at the right edge, as rich's logger prints it.
_AT_RIGHT_EDGE = LazyPattern(r" {3,}[\w./-]{1,60}\.py:\d{1,5}\s*$")


def unfolded(line: str) -> list[str]:
    """The rows of a table that became one line; any other line as it is, without a source's name at its right edge."""
    if line.lstrip()[:1] == "|":
        rows = _FOLDED.split(line)
        if len(rows) > _LEAST_FOLDED:
            return rows
    return [_AT_RIGHT_EDGE.sub("", line) if ".py:" in line else line]


def without_marks(line: str) -> str:
    """The line without the marks of Markdown and HTML; the same line where it has none."""
    text = _QUOTE.sub("", line)
    if _FENCE.match(text):
        return ""
    if "**" in text or "__" in text:
        text = _BOLD.sub(lambda found: found[1] or found[2], text)
        text = text.replace("**", "") if text.count("**") == 1 and "***" not in text else text
    if text.lstrip()[:2].strip("`") and text.lstrip()[:1] == "`":
        body = text.replace("`", "", 1)
        end = len(body.rstrip())
        text = body[:end].removesuffix("`") + body[end:]
    elif text.rstrip()[-1:] == "`" and text.count("`") == 1:  # the end of code that began lines ago
        text = text.replace("`", "")
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        import html

        text = _ENTITY.sub(lambda found: html.unescape(found[0]).replace("\u00a0", " "), text)
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text
