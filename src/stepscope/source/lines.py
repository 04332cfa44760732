"""Turn bytes into clean lines, a chunk at a time, in any encoding and free of terminal codes.

Feeding the same bytes in other chunks gives the same lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

MAX_LINE_CHARS = 1 << 16
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_=>])")
_SNIFF_BYTES = 1 << 12
# A log never has NUL bytes; a binary file nearly always does.
_BINARY_NULS = 0.02


class LineSplitter:
    """Bytes in, lines out. A carriage return ends a line too: that is how progress bars are drawn."""

    def __init__(self) -> None:
        self.encoding: str | None = None
        self.num_bytes = 0
        self.looks_binary = False
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest = ""
        self._overlong = False

    def take_rest(self) -> bytes | None:
        """Hand the unfinished line over to another reader of UTF-8; None when that cannot be done here and now."""
        if self._decoder is None or self._overlong or self.encoding not in {"utf-8", "utf-8-sig"}:
            return None
        pending, _ = self._decoder.getstate()
        rest = self._rest.encode("utf-8", errors="replace") + pending
        self._decoder.reset()
        self._rest = ""
        return rest

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that `chunk` completes."""
        self.num_bytes += len(chunk)
        if self._decoder is None:
            self._head += chunk
            if len(self._head) < _SNIFF_BYTES:
                return
            chunk = self._start()
        assert self._decoder is not None
        yield from self._split(self._decoder.decode(chunk), final=False)

    def close(self) -> Iterator[str]:
        """The last line, when it has no newline."""
        text = ""
        if self._decoder is None and self._head:
            head = self._start()
            assert self._decoder is not None
            text = self._decoder.decode(head)
        if self._decoder is not None:
            text += self._decoder.decode(b"", final=True)
        yield from self._split(text, final=True)

    def _start(self) -> bytes:
        """Pick the encoding from the first bytes; give back the bytes to decode."""
        head, self._head = self._head, b""
        self.encoding, skip = detect_encoding(head)
        sample = head[:_SNIFF_BYTES]
        if self.encoding in {"utf-8", "utf-8-sig"}:
            self.looks_binary = sample.count(0) > _BINARY_NULS * len(sample) or _is_garbage(sample)
        decoder = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        self._decoder = codecs.getincrementaldecoder(decoder)(errors="replace")
        return head[skip:]

    def _split(self, text: str, *, final: bool) -> Iterator[str]:
        # A file that was cut while it was written to has a hole of NULs, perhaps in the middle of a line.
        text = self._rest + (text.replace("\0", "") if "\0" in text else text)
        if "\r" in text:
            # "\r\n" is one end of line; a "\r" at the very end may be the first half of one.
            hold = "\r" if not final and text.endswith("\r") else ""
            text = text[: len(text) - len(hold)].replace("\r\n", "\n").replace("\r", "\n")
        else:
            hold = ""
        pieces = text.split("\n")
        self._rest = pieces.pop()
        for piece in pieces:
            if self._overlong:
                self._overlong = False  # the tail of a line whose head was already given out
            else:
                yield clean(piece)
        if self._overlong:
            self._rest = ""
        elif len(self._rest) > MAX_LINE_CHARS:
            yield clean(self._rest)
            self._rest, self._overlong = "", True
        if final:
            if self._rest and not self._overlong:
                yield clean(self._rest)
            self._rest = ""
        else:
            self._rest += hold


def detect_encoding(head: bytes) -> tuple[str, int]:
    """The encoding of a text that begins with `head`, and how many bytes of byte-order mark to skip."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(mark):
            return name, len(mark)
    sample = head[:_SNIFF_BYTES]
    if len(sample) >= 8:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        if odd > 0.6 * half and even < 0.05 * half:
            return "utf-16-le", 0
        if even > 0.6 * half and odd < 0.05 * half:
            return "utf-16-be", 0
    return "utf-8", 0


def _is_garbage(sample: bytes) -> bool:
    """More than a tenth of control characters or of what is not even UTF-8. A stray Latin-1 word is no garbage."""
    control = sum(sample.count(code) for code in range(32) if code not in (8, 9, 10, 12, 13, 27))
    broken = sample.decode("utf-8", errors="replace").count("\ufffd")
    return control + broken > 0.1 * max(1, len(sample))


def clean(line: str) -> str:
    """`line` without colours, cursor movements and overstrikes, and of bounded length."""
    line = line[:MAX_LINE_CHARS].lstrip("\ufeff")  # files that were joined have their marks in the middle
    if "\x1b" in line:
        line = ANSI.sub("", line)
    if "\x08" in line:
        line = _overstruck(line)
    return line.replace("\x00", "") if "\x00" in line else line


def _overstruck(line: str) -> str:
    """`line` as a terminal would show it: a backspace takes back the character before it."""
    shown: list[str] = []
    for char in line:
        if char != "\x08":
            shown.append(char)
        elif shown:
            shown.pop()
    return "".join(shown)
