"""Samples of a training's Python stack, taken in a thread of its own: about one a second, and one whenever asked.

A sample takes some 20 ms of one core beside the training (py-spy reads its memory and does not stop it). However often
it is asked, the thread rests several times as long as a sample took.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from stepscope.integrations import Activity, Frame, activity_of
from stepscope.live import process

_EVERY_S, _SOON_S = 1.0, 0.25
_REST_TIMES, _LEAST_REST_TIMES = 10.0, 3.0
_TRIES = 4
# Without permission to look into the process, it tries again this often.
_RETRY_S = 10.0
# Nobody has asked for this long: it need not go on.
_WANTED_S = 5.0
_KEPT = 8


class Sample(NamedTuple):
    """What the stack showed at a moment of the monotonic clock."""

    at_s: float
    activity: Activity


class StackSampler:
    """Samples the process that works, of what `pid` gives and of what that started.

    `refusal` is the reason why the last try gave nothing, None after one that did.
    """

    def __init__(
        self,
        pid: Callable[[], int | None],
        *,
        now: Callable[[], float] = time.monotonic,
        take: Callable[[int], tuple[list[Frame], str | None]] = process.sample,
    ) -> None:
        self._pid, self._now, self._take = pid, now, take
        self._samples: deque[Sample] = deque(maxlen=_KEPT)
        self._changed = threading.Condition()
        self._asked = self._is_closed = False
        self._asked_s = 0.0
        self._num_tries = 0
        self._thread: threading.Thread | None = None
        self.refusal: str | None = None

    def ask(self, patience_s: float) -> tuple[Sample, ...]:
        """The last samples, oldest first, with one of this moment if it comes in time.

        After the first call there are more of them by and by, until nobody asks any longer.
        """
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="stack-sampler", daemon=True)
                self._thread.start()
            wanted = self._num_tries + 1
            self._asked, self._asked_s = True, time.monotonic()
            self._changed.notify_all()
            if self.refusal is None:
                self._changed.wait_for(lambda: self._num_tries >= wanted or self._is_closed, patience_s)
            return tuple(self._samples)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=_RETRY_S)

    def _work(self) -> None:
        least_s = rest_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, least_s)
                is_wanted = time.monotonic() - self._asked_s < _WANTED_S
                self._changed.wait_for(lambda: self._is_closed or self._asked, rest_s if is_wanted else None)
                if self._is_closed:
                    return
                self._asked = False
            began = time.monotonic()
            sample = self._one()
            took = time.monotonic() - began
            with self._changed:
                is_new = False
                if sample is not None:
                    is_new = not self._samples or self._samples[-1].activity.kind != sample.activity.kind
                    self._samples.append(sample)
                self._num_tries += 1
                self._changed.notify_all()
            least_s = _LEAST_REST_TIMES * took
            rest_s = max(_SOON_S if is_new else _EVERY_S, _REST_TIMES * took)
            if self.refusal is not None:
                least_s, rest_s = _RETRY_S, 0.0

    def _one(self) -> Sample | None:
        pid = self._pid()
        if pid is None:
            return None
        target, refusal = process.training_process(pid), None
        # A stack that changes while it is read may not be readable; one that may not be read never is.
        for _ in range(_TRIES):
            frames, refusal = self._take(target)
            if frames or self._is_closed:
                break
        self.refusal = refusal
        return Sample(self._now(), activity_of(frames)) if frames else None
