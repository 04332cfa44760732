"""What a run is doing now, from inside: its own open spans, else a sample of its Python stack, else what its log says.

The stack is sampled only while no line comes, and not more often than every other second.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.core.clock import ClockSource
from stepscope.live import process
from stepscope.live.open_spans import OpenSpans
from stepscope.live.pulse import Doing, Pulse
from stepscope.live.watch import View

_QUIET_S = 1.0
_REST_S = 2.0
_DOING: dict[str, Doing] = {"torch.save": "checkpoint", "safetensors": "checkpoint", "evaluation": "evaluation"}
_OVER = {"finished", "ended"}


class Inside:
    """Looks into the process `pid` gives, and into the recording in `folder`, if there is one.

    `on_refusal` is called once with the reason, when the process cannot be sampled.
    """

    def __init__(
        self,
        clock: ClockSource,
        *,
        pid: Callable[[], int | None] = lambda: None,
        folder: Path | None = None,
        on_refusal: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._clock, self._pid, self._on_refusal = clock, pid, on_refusal
        self._spans = OpenSpans(folder) if folder is not None else None
        self._next = 0.0
        self._has_refused = False
        self._place: str | None = None
        self._seen: tuple[Doing, float] | None = None  # what the last samples show, and since when

    def close(self) -> None:
        """Close the files of spans."""
        if self._spans is not None:
            self._spans.close()

    def look(self, view: View) -> View:
        """The view with what goes on inside."""
        if view.pulse.doing in _OVER:
            return view
        if self._spans is not None:
            span = self._spans.now()
            if span is not None:
                usual_s = view.pulse.usual_s if view.pulse.doing == span.doing else None
                doing: Doing = "evaluation" if span.doing == "evaluation" else "checkpoint"
                return view._replace(pulse=Pulse(doing, span.since_s, usual_s, view.pulse.limit_s))
            if self._spans.has_any:
                is_guessed = view.pulse.doing in {"evaluation", "checkpoint"}
                return view._replace(pulse=view.pulse._replace(doing="training")) if is_guessed else view
        return self._sampled(view)

    def _sampled(self, view: View) -> View:
        pid, now = self._pid(), self._clock.monotonic()
        if pid is None or view.quiet_s < _QUIET_S:
            self._place = self._seen = None
            return view
        if now >= self._next:
            frames, refusal = process.sample(process.training_process(pid))
            self._next = now + _REST_S
            self._place = process.place_of(frames)
            self._note(now)
            if self._place is None and refusal is not None and not self._has_refused:
                self._has_refused = True
                self._on_refusal(refusal)
        if self._place is None:
            return view
        view = view._replace(place=self._place)
        if self._seen is None or view.pulse.doing == "stalled":
            return view
        doing, since = self._seen
        usual_s = view.pulse.usual_s if view.pulse.doing == doing else None
        return view._replace(pulse=Pulse(doing, now - since, usual_s, view.pulse.limit_s))

    def _note(self, now: float) -> None:
        """Remember since when the samples show the same."""
        activity = (self._place or "").partition(" (")[0]
        doing = _DOING.get(activity)
        if doing is None:
            self._seen = None
        elif self._seen is None or self._seen[0] != doing:
            self._seen = doing, now
