"""A file that Prometheus' node exporter collects (`--collector.textfile`), written again with each view."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from stepscope.live.watch import View

_EVERY_S = 5.0


class MetricsFile:
    """The file; None as its path makes it do nothing."""

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path is not None else None
        self._next: float | None = None
        self._has_failed = False
        if self._path is None:
            return
        try:
            from stepscope.web.metrics import render_reports
        except ImportError:
            raise UsageError("needs-extra", place="--metrics-file", extra="web") from None
        self._render = render_reports
        if not self._path.parent.is_dir():
            raise InputError("cannot-write", place=str(path), reason=os.strerror(2))

    def write(self, view: View) -> None:
        """Write the figures of a view, every few seconds and at the end."""
        if view.report is None:
            return
        name, report = view.report.run.paths[0], view.report
        is_over = view.pulse.doing in {"finished", "ended"}
        self.write_text(lambda: self._render([(name, report)]), view.now.timestamp(), is_due=is_over)

    def write_text(self, make: Callable[[], str], now: float, *, is_due: bool) -> None:
        """Write a text, if some seconds have passed or it is due: aside, then renamed, so that none is half."""
        if self._path is None or (self._next is not None and now < self._next and not is_due):
            return
        self._next = now + _EVERY_S
        aside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            aside.write_text(make(), encoding="utf-8")
            aside.replace(self._path)
        except OSError as problem:
            aside.unlink(missing_ok=True)
            if not self._has_failed:
                print(f"--metrics-file: {problem}", file=sys.stderr)
            self._has_failed = True
