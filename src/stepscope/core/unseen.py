"""Characters that are not seen but change what is: what a name or a line from outside shows is what it says.

Marks that turn the direction of writing make `exe.gol` look like `log.exe`; tags hide whole sentences from a person,
but not from an assistant; half characters (bytes of a file name that are no UTF-8) cannot be written at all.
"""

from __future__ import annotations

import re
from typing import Any

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_HIDDEN = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f"
_BYTES = range(0xDC80, 0xDD00)  # how Python has bytes of a file name that are no UTF-8


def visible(text: str) -> str:
    """`text` without control characters (but tabs and ends of lines), and a mark for each hidden one: `⟨U+202E⟩`."""
    if text.isprintable():
        return text
    return re.sub(f"[{_HIDDEN}]", _mark, re.sub(f"[{_CONTROL}]", "", text))


def to_json(data: Any, *, indent: int | None = None) -> str:
    """`data` as JSON in which hidden characters are escapes: a program gets them all, a person sees them."""
    import json

    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    return re.sub(f"[\x7f-\x9f{_HIDDEN}]", lambda found: json.dumps(found[0])[1:-1], text)


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"⟨{code - 0xDC00:02X}⟩" if code in _BYTES else f"⟨U+{code:04X}⟩"
