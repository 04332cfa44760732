"""Drawing with ASCII alone, for a terminal that shows nothing else: `LANG=C`, or an encoding without the signs.

Each sign of a drawing becomes one character, so that columns stay where they are; words keep their letters without the
accents. Documents (JSON, Markdown, HTML) are UTF-8 everywhere.
"""

from __future__ import annotations

import codecs
import os
from typing import TextIO

_HANDLER = "stepscope-ascii"
_SIGNS = {
    **dict.fromkeys("█▉▊▋▌▐▓■●⣿", "#"),
    **dict.fromkeys("▍▎▏▒▆▇", "="),
    **dict.fromkeys("░▃▄▅─━┄╌═╴╶╸╺–—−‐‑", "-"),
    **dict.fromkeys("▁▂", "_"),
    **dict.fromkeys("·•⠂⠄", "."),
    **dict.fromkeys("│┃┆╎║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛╞╡╪╷╵", "+"),
    **dict.fromkeys("→▶►›▸", ">"),
    **dict.fromkeys("←◀◄‹◂", "<"),
    **dict.fromkeys("↑▲", "^"),
    **dict.fromkeys("↓▼", "v"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’‚", "'"),
    **dict.fromkeys("\u00a0\u202f\u2009\u2007", " "),
    "…": "...",
    "×": "x",
    "≈": "~",
    "±": "+-",
    "≤": "<=",
    "≥": ">=",
    "✓": "+",
    "✗": "x",
    "⚠": "!",
    "°": "",
    "µ": "u",
    "μ": "u",
    "ß": "ss",
    "œ": "oe",
    "€": "EUR",
}


def to_ascii(text: str) -> str:
    """`text` as it is drawn where only ASCII can be shown."""
    return "".join(_plain(sign) for sign in text)


def _plain(sign: str) -> str:
    if sign.isascii():
        return sign
    if sign in _SIGNS:
        return _SIGNS[sign]
    if "\u2800" <= sign <= "\u28ff":  # a cell of a chart in Braille
        return "." if sign != "\u2800" else " "
    import unicodedata

    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def _replace(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return to_ascii(problem.object[problem.start : problem.end]), problem.end


def prepare(stream: TextIO) -> None:
    """Let a stream take every text: signs that its encoding lacks, or that `LANG=C` forbids, are drawn in ASCII."""
    if not hasattr(stream, "reconfigure"):
        return
    codecs.register_error(_HANDLER, _replace)
    if wants_ascii(dict(os.environ)):
        stream.reconfigure(encoding="ascii", errors=_HANDLER)
    else:
        stream.reconfigure(errors=_HANDLER)


def wants_ascii(environment: dict[str, str]) -> bool:
    """Whether the locale is stated to be C.

    Python itself puts `LC_CTYPE=C.UTF-8` in its place (PEP 538) and writes UTF-8, so its encoding does not tell. Where
    no locale is stated, as in most containers, the terminal beyond nearly always shows UTF-8.
    """
    everything, language = environment.get("LC_ALL", ""), environment.get("LANG", "")
    if everything:
        return everything in {"C", "POSIX"}
    kind = environment.get("LC_CTYPE", "")
    return language in {"C", "POSIX"} and kind in {"", "C", "POSIX", "C.UTF-8", "C.utf8", "UTF-8"}
