"""How a run went, by its own log: tracebacks, signals, kills, and the word that it is done."""

from __future__ import annotations

import numpy as np

from stepscope.core.redact import redact
from stepscope.lines import notices
from stepscope.reading.rows import RowStore
from stepscope.run.model import NO_TIME, Notice

_MAX_NOTICES = 200


class NoticeTrack:
    """The notices so far, and whether a traceback is being read."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.in_traceback = False
        self.is_ignored = False  # of the traceback that is being read, or that comes next
        self.moment = NO_TIME  # the last stamp there was

    def take(self, text: str, *, line: int) -> bool:
        """Take a line that belongs to no format; whether it says how the run went."""
        kind = notices.classify(text)
        if kind == "traceback":
            self.in_traceback = True
            if not self.is_ignored:
                self._add(kind, text, line)
            return True
        if self.in_traceback and kind in {None, "error"}:
            self.in_traceback = False
            exception = notices.EXCEPTION.match(text)
            if exception is not None:
                if not self.is_ignored:
                    self._add("exception", text, line, exception["type"].rpartition(".")[2])
                self.is_ignored = False
                return True
        self.is_ignored = notices.is_ignored(text)
        if kind is None:
            return self.is_ignored
        self.in_traceback = False
        self._add(kind, text, line)
        return True

    def hear(self, text: str, *, line: int) -> None:
        """Take a line of the format that carries nothing else: it may say that training is over."""
        kind = notices.closing_words(text)
        if kind is not None:
            self._add(kind, text, line)

    @property
    def is_fatal(self) -> bool:
        """Whether the last notice is that of an end."""
        return bool(self.notices) and self.notices[-1].kind in notices.FATAL

    def _add(self, kind: notices.NoticeKind, text: str, line: int, type_name: str | None = None) -> None:
        # The first notices say what happened, the last ones how it ended.
        if len(self.notices) >= _MAX_NOTICES:
            del self.notices[_MAX_NOTICES // 2]
        self.notices.append(
            Notice(kind=kind, line=line, row=-1, text=redact(text), type_name=type_name, t_ns=self.moment)
        )

    def placed(self, rows: RowStore) -> list[Notice]:
        """The notices, each with the number of rows printed before it."""
        before = rows.rows_before(np.array([notice.line for notice in self.notices], dtype=np.int64)).tolist()
        return [notice._replace(row=row) for notice, row in zip(self.notices, before, strict=True)]
