"""Which format wrote a log: lines are held back until one of them shows it, or their structure does."""

from __future__ import annotations

import itertools
import re

from stepscope.catalogue import detect
from stepscope.lines.format import Format

_DIGITS = re.compile(r"\d+")
_SHAPE_CHARS = 400
_MAX_SHAPES = 4096
_MAX_PENDING = 20_000
# A log without any step is still known by its header: this many different lines, and not much else.
_ENOUGH_HEADER = 2
_HEADER_SHARE = 0.05
_WEAK_SHARE = 0.9


class Recognition:
    """The lines held back, and which formats have claimed some of them."""

    def __init__(self, user_formats: tuple[Format, ...]) -> None:
        self._user_formats = user_formats  # asked before the catalogue
        self.pending: list[str] = []
        self._inferred: tuple[int, Format | None] | None = None
        self._candidates: dict[str, set[int]] = {}
        self._num_weak: dict[str, int] = {}
        self._num_claimed = 0
        self._shapes: dict[str, list[tuple[str, int, bool]]] = {}  # shape of a line → who claimed it, and as what
        self._num_considered = 0

    def is_user_text(self, head: bytes) -> bool:
        """Whether a format that the user taught claims a line of a file's beginning: then it is a text of lines."""
        lines = head.decode("utf-8", errors="replace").splitlines() if self._user_formats else []
        return any(detect.settles(fmt, line.strip()) for fmt in self._user_formats for line in lines if line.strip())

    def consider(self, line: str) -> tuple[Format, str] | None:
        """Hold a line back; the format and the text that shows it, once one does."""
        if len(self.pending) < _MAX_PENDING:
            self.pending.append(line)
            if len(self.pending) == _MAX_PENDING and (fmt := self._by_structure()) is not None:
                return fmt, ""
        text = line.strip()
        if not text:
            return None
        self._num_considered += 1
        # A format that did not settle a line will not settle another that differs from it in its digits only.
        shape = _DIGITS.sub("0", text[:_SHAPE_CHARS])
        claims = self._shapes.get(shape)
        if claims is None:
            claims = []
            for fmt in itertools.chain(self._user_formats, detect.suspects(text)):
                which = detect.telling_line(fmt, text)
                if which is None:
                    continue
                if not fmt.lines[which].weak and fmt.lines[which].kind in detect.SETTLING:
                    return fmt, text
                claims.append((fmt.name, which, fmt.lines[which].weak))
            if len(self._shapes) < _MAX_SHAPES and len(text) <= _SHAPE_CHARS:
                self._shapes[shape] = claims
        for name, which, is_weak in claims:
            if is_weak:
                self._num_weak[name] = self._num_weak.get(name, 0) + 1
            self._candidates.setdefault(name, set()).add(which)
        self._num_claimed += bool(claims)
        return None

    def _by_structure(self) -> Format | None:
        """Many lines and no format claims them: go by their structure, if it is that of a training."""
        fmt = self._plugin() or self._infer()
        return None if fmt is None or (self._candidates and not fmt.is_timed) else fmt

    def _infer(self) -> Format | None:
        """The format that the lines so far suggest by their structure."""
        if self._inferred is None or self._inferred[0] != len(self.pending):
            from stepscope.infer.infer import infer

            self._inferred = len(self.pending), infer(self.pending)
        return self._inferred[1]

    def likeliest(self) -> Format | None:
        """Nothing but bars, then the structure of steps with times, then a header, then steps without times."""
        header = None
        if self._candidates:
            # No step yet, but perhaps a header that only one trainer writes. One such line may be a coincidence.
            best = max(self._candidates, key=lambda name: len(self._candidates[name]))
            fmt = next((own for own in self._user_formats if own.name == best), None) or detect.find_format(best)
            is_mostly_header = self._num_claimed >= _HEADER_SHARE * self._num_considered
            is_known = len(self._candidates[best]) >= _ENOUGH_HEADER and is_mostly_header
            # Nothing but bars: whose else should they be?
            has_bars = self._num_weak.get(best, 0) >= max(_ENOUGH_HEADER, _WEAK_SHARE * self._num_considered)
            if has_bars:
                return fmt
            header = fmt if is_known else None
        plugin = self._plugin()
        if plugin is not None:
            return plugin
        inferred = self._infer()
        if inferred is not None and (inferred.is_timed or header is None):
            return inferred
        return header

    def _plugin(self) -> Format | None:
        """The format of another package that claims a line, where no format of ours does."""
        plugins = detect.plugins()
        texts = [text for line in self.pending if (text := line.strip())] if plugins else []
        return next((fmt for text in texts for fmt in plugins if detect.settles(fmt, text)), None)
