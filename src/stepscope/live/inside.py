"""What a run is doing now, from inside: its own open spans, else a sample of its Python stack, else what its log says.

The stack is sampled wherever spans do not settle it: a log says what was, and at the earliest when it is over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stepscope.core.clock import ClockSource
from stepscope.live.open_spans import OpenSpans
from stepscope.live.pulse import Doing, Pulse
from stepscope.live.stack_sampler import Sample, StackSampler
from stepscope.live.watch import View

_OVER = {"finished", "ended"}
_STOPS: dict[str | None, Doing] = {"evaluation": "evaluation", "checkpoint": "checkpoint"}
# A view waits this long for a sample of its own moment, and takes none that is older than that.
_PATIENCE_S, _OLDEST_S = 1.0, 3.0
# After a silence of this long it is worth saying in which line the process is.
_QUIET_S = 1.0


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
        self._stack = StackSampler(pid, now=clock.monotonic)
        self._has_refused = False

    def close(self) -> None:
        """Close the files of spans, and end the sampling."""
        if self._spans is not None:
            self._spans.close()
        self._stack.close()

    def look(self, view: View) -> View:
        """The view with what goes on inside."""
        if view.pulse.doing in _OVER:
            return view
        if self._spans is not None:
            span = self._spans.now()
            if span is not None:
                return _with_stop(view, _STOPS[span.doing], span.since_s)
            saved_s = self._spans.since_save()
            if saved_s is not None and self._sampled_kind() != "training":
                return _with_stop(view, "checkpoint", saved_s)
            if self._spans.has_any:
                return _training(view)
        return self._sampled(view)

    def _sampled(self, view: View) -> View:
        samples = self._samples()
        if not samples:
            return view
        last = samples[-1].activity
        if view.quiet_s >= _QUIET_S or last.kind in _STOPS:
            view = view._replace(place=last.place)
        if view.pulse.doing == "stalled":
            return view
        if last.kind in _STOPS:
            return _with_stop(view, _STOPS[last.kind], max(0.0, self._clock.monotonic() - _since(samples)))
        return _training(view) if last.kind == "training" else view

    def _sampled_kind(self) -> str | None:
        samples = self._samples()
        return samples[-1].activity.kind if samples else None

    def _samples(self) -> tuple[Sample, ...]:
        """The samples up to now, none where the last is old."""
        if self._pid() is None:
            return ()
        samples = self._stack.ask(_PATIENCE_S)
        refusal = self._stack.refusal
        if refusal is not None and not self._has_refused:
            self._has_refused = True
            self._on_refusal(refusal)
        return samples if samples and self._clock.monotonic() - samples[-1].at_s <= _OLDEST_S else ()


def _since(samples: tuple[Sample, ...]) -> float:
    """Since when the samples show what the last one does."""
    since, last = samples[-1].at_s, samples[-1].activity
    for sample in reversed(samples):
        if sample.activity.kind != last.kind:
            break
        since = sample.at_s
    return since


def _with_stop(view: View, doing: Doing, since_s: float) -> View:
    usual_s = view.pulse.usual_s if view.pulse.doing == doing else None
    return view._replace(pulse=Pulse(doing, since_s, usual_s, view.pulse.limit_s))


def _training(view: View) -> View:
    """The view of a run that trains, where its log suggested an evaluation or a checkpoint."""
    is_guessed = view.pulse.doing in {"evaluation", "checkpoint"}
    return view._replace(pulse=view.pulse._replace(doing="training")) if is_guessed else view
