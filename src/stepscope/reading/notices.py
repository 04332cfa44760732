"""How a run went, by its own log: tracebacks, signals, kills, and the word that it is done."""

from __future__ import annotations

import numpy as np

from stepscope.core.redact import MAX_LENGTH, redact
from stepscope.lines import notices
from stepscope.lines.closing import goes_on
from stepscope.reading.rows import RowStore
from stepscope.run.model import NO_TIME, Notice

_MAX_NOTICES = 200
_MOST_OF_HANG = 320  # how long the ranks waited comes last
_NO_DEPTH = -1
_QUOTABLE = {"traceback", "error", "oom"}
_RECOVERABLE = {"traceback", "error", "oom", "exception"}


class NoticeTrack:
    """The notices so far, and whether a traceback is being read."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.in_traceback = False
        self.is_ignored = False  # of the traceback that is being read, or that comes next
        self.indent = 0  # of the traceback's first line: its exception comes at the same depth
        self.is_told = False  # whether the exception of the traceback that is being read has come
        self.moment = NO_TIME  # the last stamp there was

    def take(self, text: str, *, line: int, head: str = "", indent: int = 0) -> bool:
        """Take a line that belongs to no format; whether it says how the run went.

        `head` is the prefix that was cut off from it: the level of a logger may be there.
        """
        kind = notices.classify(text)
        if kind in _QUOTABLE and notices.is_warning(head, text):
            # A warning that quotes a traceback is none.
            self.is_ignored, self.in_traceback, self.indent = True, kind == "traceback", indent
            return True
        if kind == "traceback":
            self.in_traceback, self.indent, self.is_told = True, indent, False
            if not self.is_ignored:
                self._add(kind, text, line)
            return True
        if self.in_traceback and kind in {None, "error"}:
            self.in_traceback = False
            exception = None if self.is_told else notices.EXCEPTION.match(text)
            if exception is not None:
                if not self.is_ignored:
                    self._add("exception", text, line, exception["type"].rpartition(".")[2])
                # Ray quotes the traceback of the worker after the exception that wraps it.
                self.in_traceback = exception["inner"] is not None
                if indent:  # a launcher quotes it: the rest of its message comes at the same depth
                    self.in_traceback, self.is_told, self.indent = True, True, _NO_DEPTH
                self.is_ignored = self.is_ignored and self.in_traceback
                return True
        self.is_ignored = notices.is_ignored(text)
        if kind is None:
            if self.notices and self.notices[-1].kind == "closing" and goes_on(text):
                self.notices.pop()
            return self.is_ignored
        self.in_traceback = False
        self._add(kind, text, line)
        return True

    def hear(self, text: str, *, line: int) -> bool:
        """Take a line of the format that carries nothing else; whether it says that the process is over.

        A trainer's own logger repeats errors that it gets over, so of those only the words of a launcher count.
        """
        kind = notices.classify(text)
        if kind is None or kind in _RECOVERABLE:
            return False
        self._add(kind, text, line)
        return kind in notices.FATAL

    @property
    def is_fatal(self) -> bool:
        """Whether the last notice is that of an end."""
        return bool(self.notices) and self.notices[-1].kind in notices.FATAL

    def _add(self, kind: notices.NoticeKind, text: str, line: int, type_name: str | None = None) -> None:
        # The first notices say what happened, the last ones how it ended.
        if len(self.notices) >= _MAX_NOTICES:
            del self.notices[_MAX_NOTICES // 2]
        most = _MOST_OF_HANG if kind == "hang" else MAX_LENGTH
        self.notices.append(
            Notice(kind=kind, line=line, row=-1, text=redact(text, most), type_name=type_name, t_ns=self.moment)
        )

    def placed(self, rows: RowStore) -> list[Notice]:
        """The notices, each with the number of rows printed before it."""
        before = rows.rows_before(np.array([notice.line for notice in self.notices], dtype=np.int64)).tolist()
        return [notice._replace(row=row) for notice, row in zip(self.notices, before, strict=True)]
