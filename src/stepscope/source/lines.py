"""Turn bytes into clean lines, a chunk at a time, in any encoding and free of terminal codes.

Feeding the same bytes in other chunks gives the same lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from stepscope.source.encodings import TextDecoder, detect_encoding, find_code_page

BREAK = "\x1e"  # stands between lines that do not follow each other in the log
MAX_LINE_CHARS = 1 << 16
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_=>])")
_SNIFF_BYTES = 1 << 12
# A log never has NUL bytes; a binary file nearly always does.
_BINARY_NULS = 0.02


class LineSplitter:
    """Bytes in, lines out. A carriage return ends a line too: that is how progress bars are drawn."""

    def __init__(self) -> None:
        self._encoding: str | None = None
        self.num_bytes = 0
        self.looks_binary = False
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | TextDecoder | None = None
        self._rest = ""
        self._overlong = False

    @property
    def encoding(self) -> str | None:
        """The encoding, as far as it is known: a code page shows only where it differs from UTF-8."""
        if isinstance(self._decoder, TextDecoder) and self._decoder.encoding != "utf-8":
            return self._decoder.encoding
        return self._encoding

    def take_rest(self) -> bytes | None:
        """Hand the unfinished line over to another reader of UTF-8; None when that cannot be done here and now."""
        if not isinstance(self._decoder, TextDecoder) or self._overlong or self._decoder.encoding != "utf-8":
            return None
        rest = self._rest.encode("utf-8", errors="replace") + self._decoder.take_pending()
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
        self._encoding, skip = detect_encoding(head)
        sample = head[:_SNIFF_BYTES]
        if self._encoding in {"utf-8", "utf-8-sig"}:
            self.looks_binary = sample.count(0) > _BINARY_NULS * len(sample) or _is_garbage(sample)
            self._decoder = TextDecoder()
        else:
            self._decoder = codecs.getincrementaldecoder(self._encoding)(errors="replace")
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


def _is_garbage(sample: bytes) -> bool:
    """More than a tenth of control characters, or of what is neither UTF-8 nor a language in a code page."""
    control = sum(sample.count(code) for code in range(32) if code not in (8, 9, 10, 12, 13, 27))
    broken = sample.decode("utf-8", errors="replace").count("\ufffd")
    if control + broken <= 0.1 * max(1, len(sample)):
        return False
    return control > 0.02 * len(sample) or find_code_page(sample) is None


def clean(line: str) -> str:
    """`line` without colours, cursor movements, overstrikes and syslog's tabs, and of bounded length."""
    line = line[:MAX_LINE_CHARS].lstrip("\ufeff")  # files that were joined have their marks in the middle
    if "\x1b" in line:
        line = ANSI.sub("", line)
    if "\x08" in line:
        line = _overstruck(line)
    if "#011" in line:
        line = line.replace("#011", "\t")  # syslog's word for a tab, in the logs of cloud services
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
