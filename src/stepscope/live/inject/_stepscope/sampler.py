"""What no hook sees, by looking at the program's own functions from a thread beside it, some 70 times a second.

A hand-written program waits for its disk inside `save_checkpoint`, evaluates in `validate` without `eval()`, draws its
batches in `get_batch` or in a generator. Whether one of these is on the stack of the thread that trains is known within
some milliseconds. Only the program's own code counts: what a framework does is hooked. A function that trains is no
evaluation, whatever its name, and what happens in most steps is part of them.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType

from _stepscope.activity import Frame, is_own, named
from _stepscope.source_words import kind_at
from _stepscope.spans import SpanFile, now_ns

_HERE = os.path.dirname(os.path.abspath(__file__))
_EVERY_S = 0.015
# What has been seen in this many looks is worth saying at once; what was shorter than this is not worth a span.
_LOOKS = 2
_LEAST_NS = 30_000_000
_DRAWS = re.compile(r"_*(get|next|load|fetch|sample|draw|make|read)_(next_)?(mini)?(batch|data)(es)?$")
# Seen in more than this share of the steps, and more than a few times, it is part of a step.
_OFTEN, _FEW = 1 / 3, 3
# A batch that is drawn in every step counts from this many times the usual on, by what is beyond it.
_LONG, _LEAST_LONG_NS = 2, 20_000_000
_RECENT = 31
# Where nothing counts the steps, as many are taken to pass in a second.
_STEPS_A_SECOND = 3
_EVERY_WAIT = 20  # looks: how often it is asked whether imports go on
_GENERATOR = 0x20  # inspect.CO_GENERATOR
_MOST_FRAMES = 200
_MOST_CALLERS = 20
_MOST_PLACES = 20_000
DETAIL = "sampled"


_Place = tuple[CodeType, int]
_Call = tuple[int, CodeType, int]  # a frame, by its identity, with its line


class _Open:
    """A stretch of samples that show the same: since when, the last look at it, how well its begin is known."""

    __slots__ = ("begin", "code", "is_said", "is_usual", "last", "num", "slack")

    def __init__(self, begin: int, slack: int, code: CodeType, at_ns: int, *, is_usual: bool) -> None:
        self.begin, self.slack, self.code, self.last = begin, slack, code, at_ns
        self.num, self.is_said, self.is_usual = 1, False, is_usual


class _Seen:
    """How often a place was seen, and how long of late."""

    __slots__ = ("lengths", "num")

    def __init__(self) -> None:
        self.num, self.lengths = 0, list[int]()

    def add(self, length: int) -> None:
        self.num += 1
        self.lengths = [*self.lengths[1 - _RECENT :], length]

    @property
    def usual(self) -> int:
        return sorted(self.lengths)[len(self.lengths) // 2]


class Sampler:
    """Looks at the stack of one thread, and writes what it shows as spans of that thread."""

    def __init__(self, spans: SpanFile, num_steps: Callable[[], int]) -> None:
        self._spans, self._num_steps = spans, num_steps
        self._thread: threading.Thread | None = None
        self._ident = 0
        self._is_over = self._is_resting = False
        self._waits: list[tuple[CodeType, int, int, int]] = []  # for data: where, begin, end and slack
        self._looks_to_wait = 0  # 0: does not wait; else looks since it was asked whether imports go on
        self._when_imported: Callable[[], None] | None = None
        self._last = 0
        self._open: dict[str, _Open] = {}
        self._trains: set[CodeType | _Place] = set()
        self._seen: dict[tuple[str, CodeType], _Seen] = {}
        self._began = 0
        self._own: dict[CodeType, str | None] = {}
        self._callers: list[_Call] = []
        self._loop: _Call | None = None
        self._below_ns = 0
        self._places: dict[_Place, str | None] = {}

    def start_after_imports(self, then: Callable[[], None]) -> None:
        """As `start`, once all modules that are being imported are there; `then` is called first."""
        self._looks_to_wait, self._when_imported = 1, then
        self._begin()

    def start(self) -> None:
        """Look at the thread that calls this from now on; again in a process that was forked."""
        self._looks_to_wait = 0
        self._begin()

    def _begin(self) -> None:
        self._is_resting = False
        if self._thread is not None and self._thread.is_alive():
            return
        self._ident, self._open, self._last = threading.get_ident(), {}, 0
        self._thread = threading.Thread(target=self._run, name="stepscope", daemon=True)
        self._thread.start()

    def rest(self) -> None:
        """What has been seen is no training; do not look before the next `start`."""
        self._is_resting, self._last = True, 0
        self._open.clear()

    # -- where the loop goes round ----------------------------------------------------------------------------

    def stepped(self) -> None:
        """The thread that trains has made a step: the innermost function that it was in at the last one is its loop."""
        known, own = self._callers, list[_Call]()
        self._loop = None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(own) < _MOST_CALLERS:
            if self._is_own(frame.f_code):
                place = (id(frame), frame.f_code, frame.f_lineno)
                own.append(place)
                if self._loop is None and place in known:
                    self._loop = place
            frame = frame.f_back
        self._callers = own

    def here(self) -> None:
        """Something that takes its time is over in the thread that trains: a look of its own, at the right moment."""
        frame: FrameType | None = sys._getframe(1) if self._loop is not None else None
        while frame is not None:
            self._watch_loop(frame, frame.f_lineno, now_ns())
            frame = frame.f_back

    def last_after_step(self, since_ns: int) -> int:
        """When the loop was last seen below the line of its step, and had not gone round; 0 where it was not."""
        return self._below_ns if self._below_ns > since_ns else 0

    def _watch_loop(self, frame: FrameType, line: int, at_ns: int) -> None:
        loop = self._loop
        if loop is not None and id(frame) == loop[0] and frame.f_code is loop[1] and line > loop[2]:
            self._below_ns = at_ns

    def _is_own(self, code: CodeType) -> bool:
        if code not in self._own:
            self._own[code] = self._by_name(code)
        return self._own[code] is not None

    # -- what the functions say -------------------------------------------------------------------------------

    def trained(self, at_ns: int = 0) -> None:
        """The thread that trains works out gradients or steps: what it is in now is no evaluation and no save."""
        if not self._open:
            return
        at_ns = at_ns or now_ns()
        shown = self._shown(sys._getframe(1))
        for kind, own in list(self._open.items()):
            self._open.pop(kind, None)
            if kind not in shown:
                self._end(kind, own, at_ns)
                continue
            for code, line in shown[kind]:
                self._trains.add((code, line) if self._own.get(code) == "" else code)
            if own.is_said:
                self._spans.write_end(kind, own.begin, own.begin, DETAIL)

    def close(self) -> None:
        """The process ends, and with it what goes on."""
        self._is_over = True
        for kind, own in list(self._open.items()):
            self._end(kind, own, now_ns())
        self._open.clear()
        self._write_waits(now_ns())

    def _run(self) -> None:
        try:
            while not self._is_over and not self._spans.is_child:
                time.sleep(_EVERY_S)
                if self._is_resting or self._is_importing():
                    continue
                frame = sys._current_frames().get(self._ident)
                if frame is None or self._is_over:
                    return
                self.look(frame, now_ns())
                del frame  # it holds what the function holds
        except Exception as problem:
            self._spans.note("skipped", f"sampler: {problem!r}"[:300])

    def _is_importing(self) -> bool:
        """Whether packages are still being imported, where looking began before the training did."""
        if not self._looks_to_wait:
            return False
        if self._looks_to_wait < _EVERY_WAIT:
            self._looks_to_wait += 1
            return True
        own = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
        self._looks_to_wait = int(any(getattr(spec, "_initializing", False) for spec in own))
        if not self._looks_to_wait and self._when_imported is not None:
            self._when_imported()
        return bool(self._looks_to_wait)

    def look(self, frame: FrameType, at_ns: int) -> None:
        """One look at a stack."""
        self._take(self._shown(frame, at_ns), at_ns)

    def _shown(self, frame: FrameType | None, at_ns: int = 0) -> dict[str, list[_Place]]:
        """The kinds that the stack shows, with the lines that say so: a save in an evaluation is both."""
        found: dict[str, list[_Place]] = {}
        num = 0
        while frame is not None and num < _MOST_FRAMES:
            line = frame.f_lineno
            if at_ns:
                self._watch_loop(frame, line, at_ns)
            kind = self._said(frame.f_code, line)
            # What encloses an evaluation is no save.
            if kind is not None and not (kind == "checkpoint" and "evaluation" in found):
                found.setdefault(kind, []).append((frame.f_code, line))
            frame, num = frame.f_back, num + 1
        return found

    def _said(self, code: CodeType, line: int) -> str | None:
        if not self._is_own(code) or code in self._trains:
            return None
        own = self._own[code]
        if own:
            return own
        key = (code, line)
        if key in self._trains:
            return None
        if key not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[key] = kind_at(code.co_filename, line, conditions=False)
        return self._places[key]

    def _by_name(self, code: CodeType) -> str | None:
        """The kind that a function's name says, "" where the text around a line may, None for the code of others."""
        if not is_own(code.co_filename) or code.co_filename.startswith(_HERE):
            return None
        name = getattr(code, "co_qualname", code.co_name)
        kind = named(Frame(name, code.co_filename, 0))
        if kind == "training":
            return None
        if kind is None and (_DRAWS.match(code.co_name) or (code.co_flags & _GENERATOR and code.co_name[0] != "<")):
            return "data"
        return kind or ""

    def _take(self, found: dict[str, list[_Place]], at_ns: int) -> None:
        last, self._last = self._last, at_ns
        if not last:
            self._began = at_ns
            return
        for kind, own in list(self._open.items()):
            if kind not in found:
                self._open.pop(kind, None)
                self._end(kind, own, at_ns)
        self._write_waits(at_ns)
        for kind, places in found.items():
            known, code = self._open.get(kind), places[-1][0]
            if known is None:
                is_usual = self._is_often(kind, code, at_ns)
                self._open[kind] = _Open((last + at_ns) // 2, (at_ns - last) // 2, code, at_ns, is_usual=is_usual)
                continue
            known.num, known.last = known.num + 1, at_ns
            if kind != "data" and not known.is_said and not known.is_usual and known.num >= _LOOKS:
                known.is_said = True
                self._spans.write_begin(kind, known.begin, DETAIL)

    def _end(self, kind: str, own: _Open, at_ns: int) -> None:
        end = (own.last + at_ns) // 2
        if own.num < _LOOKS or end - own.begin < _LEAST_NS:
            if own.is_said:
                self._spans.write_end(kind, own.begin, own.begin, DETAIL)
            return
        slack = max(own.slack, (at_ns - own.last) // 2)
        seen = self._seen.setdefault((kind, own.code), _Seen())
        seen.add(end - own.begin)
        if kind != "data":
            if not own.is_usual:
                self._spans.write_end(kind, own.begin, end, f"{DETAIL} {slack}")
            return
        self._waits.append((own.code, own.begin, end, slack))

    def _write_waits(self, at_ns: int) -> None:
        """Write the waits for data once it is known whether every step has one: then, what is beyond the usual."""
        if not self._waits or not (self._is_over or self._steps_by(at_ns) * _OFTEN > _FEW):
            return
        waits, self._waits = self._waits, []
        for code, begin, end, slack in waits:
            usual = self._seen["data", code].usual if self._is_often("data", code, at_ns) else 0
            if not usual or end - begin > max(_LONG * usual, usual + _LEAST_LONG_NS):
                self._spans.write_end("data", begin + usual, end, f"{DETAIL} {slack}")

    def _steps_by(self, at_ns: int) -> float:
        return self._num_steps() or _STEPS_A_SECOND * (at_ns - self._began) / 1e9

    def _is_often(self, kind: str, code: CodeType, at_ns: int) -> bool:
        seen = self._seen.get((kind, code))
        if seen is None or seen.num <= _FEW:
            return False
        return seen.num > _OFTEN * self._steps_by(at_ns)
