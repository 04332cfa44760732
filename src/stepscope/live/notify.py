"""Sends alarms without waiting for the receiver: a slow or dead address never holds up the watch."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

# With more than this many unsent messages, new ones are dropped.
_MOST_WAITING = 100

Send = Callable[[str, str], bool]


class Notifier:
    """Sends messages in the background, in their order. `num_failed` counts those that did not arrive."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: queue.Queue[tuple[str, str]] = queue.Queue(_MOST_WAITING)
        self._num_open = 0
        self.num_failed = 0
        # A daemon: a receiver that never answers must not keep the program from ending.
        threading.Thread(target=self._work, name="stepscope-notify", daemon=True).start()

    def tell(self, title: str, body: str) -> None:
        """Queue a message for sending; one that finds the queue full counts as failed."""
        try:
            self._waiting.put_nowait((title, body))
            self._num_open += 1
        except queue.Full:
            self.num_failed += 1

    def close(self, patience_s: float) -> None:
        """Give queued messages `patience_s` seconds to arrive; the rest count as failed."""
        deadline = time.monotonic() + patience_s
        while self._num_open and time.monotonic() < deadline:
            time.sleep(0.02)
        self.num_failed += self._num_open

    def _work(self) -> None:
        while True:
            title, body = self._waiting.get()
            try:
                is_sent = self._send(title, body)
            except Exception:  # a third-party plug-in for a third-party service may raise anything
                is_sent = False
            self.num_failed += not is_sent
            self._num_open -= 1
