"""What all probes share: the file they write to, who is in charge of the steps, and the spans that are going on."""

from __future__ import annotations

import atexit
import gc
import threading
from collections.abc import Callable
from typing import Any

from _stepscope.sampler import Sampler
from _stepscope.spans import SpanFile, now_ns
from _stepscope.wrapping import Wrapping

# Shorter collections than this are not worth a record.
_LEAST_NS = 1_000_000


class Session(Wrapping):
    """One process's recording, as the probes see it."""

    def __init__(self, spans: SpanFile) -> None:
        self.spans = spans
        self._main = threading.main_thread().ident
        self._owners: list[str] = []
        self._depth: dict[str, int] = {}
        self._num_ended: dict[str, int] = {}
        self._said: set[str] = set()
        self.at_save: list[Callable[[int], None]] = []  # called when a checkpoint begins
        self.step_begin_ns = 0
        self.step_end_ns = 0  # of the last one
        self.num_steps = 0
        self._has_framework = self._is_plain = self._times_collections = self._learns = False
        self.sampler = Sampler(spans, lambda: self.num_steps)
        atexit.register(self.close)

    # -- who counts the steps ---------------------------------------------------------------------------------

    @property
    def is_owned(self) -> bool:
        """Whether a framework's training is going on, which says itself when a step begins."""
        return bool(self._owners)

    def own(self, owner: str) -> None:
        """A framework's training begins."""
        self._owners.append(owner)
        self.look()

    def disown(self, owner: str) -> None:
        """It is over; a step that is still open ends with it."""
        if owner in self._owners:
            self._owners.remove(owner)
        if not self._owners and self.step_begin_ns:
            self.drop_step()

    @property
    def is_training(self) -> bool:
        """Whether steps have been made or gradients worked out, or nothing would tell of one."""
        return self.num_steps > 0 or self._learns or not self._has_framework

    def learn(self) -> None:
        """Gradients are worked out, by whatever optimizer they are used."""
        if not self._learns:
            self._learns = True
            self.look()

    def look(self) -> None:
        """A training is about to begin: look at the program's own functions from now on."""
        if self.is_main():
            self._is_plain = False
            self.sampler.start()

    def look_at_plain(self) -> None:
        """The same in a program of which nothing else may tell that a training begins; over when a framework comes."""
        if not self._has_framework and self.is_main():
            self._is_plain = True
            self.sampler.start_after_imports(self.time_collections)

    def time_collections(self) -> None:
        """Record the garbage collections of this process."""
        if self._times_collections:
            return
        self._times_collections, began = True, 0

        def watch(phase: str, info: dict[str, int]) -> None:
            nonlocal began
            at_ns = now_ns()
            if phase == "start":
                began = at_ns
            elif at_ns - began >= _LEAST_NS and began and not self.spans.is_child:
                self.spans.end("gc", began, at_ns, f"generation {info.get('generation')}")
                if self.is_main():
                    self.sampler.here()

        gc.callbacks.append(watch)

    def is_main(self) -> bool:
        """Whether this is the thread that trains, of a process that records."""
        if self.spans.is_child:
            return False
        return threading.get_ident() == self._main

    def begin_step(self, at_ns: int = 0) -> None:
        """A training step begins."""
        self._adopt()
        self.step_begin_ns = at_ns or now_ns()
        self.spans.begin("step", self.step_begin_ns)

    def end_step(self, number: int | str) -> None:
        """It ends; nothing where none began."""
        if self.step_begin_ns:
            self.sampler.trained()
            self.step_end_ns = now_ns()
            self.spans.end("step", self.step_begin_ns, self.step_end_ns, str(number))
            self.step_begin_ns = 0
            self.num_steps += 1

    def begin_after_last(self) -> None:
        """A step is going on that nothing has announced: it began when its loop went round after the last one."""
        if not self.step_begin_ns:
            self.begin_step(max(self.step_end_ns, self.sampler.last_after_step(self.step_end_ns)))

    def drop_step(self) -> None:
        """What began was no step: it is marked as over, with another name."""
        if self.step_begin_ns:
            self.spans.end("step dropped", self.step_begin_ns, self.step_begin_ns)
            self.step_begin_ns = 0

    def _adopt(self) -> None:
        """A process that was forked and trains by itself writes to a file of its own."""
        if self.spans.is_child:
            self.spans.reopen()
            self._main = threading.get_ident()
            self.look()

    # -- other spans ------------------------------------------------------------------------------------------

    def enter(self, kind: str) -> int:
        """A phase begins; 0 where it is inside another one of its kind."""
        at_ns = now_ns()
        if not self.is_main():
            return at_ns
        depth = self._depth.get(kind, 0)
        self._depth[kind] = depth + 1
        if depth:
            return 0
        if kind == "checkpoint":
            for tell in self.at_save:
                tell(at_ns)
        self.spans.begin(kind, at_ns)
        return at_ns

    def leave(self, kind: str, began: int, detail: str = "") -> None:
        """It ends."""
        if self.is_main():
            self._depth[kind] = max(0, self._depth.get(kind, 0) - 1)
        if began:
            self._num_ended[kind] = self._num_ended.get(kind, 0) + 1
            self.spans.end(kind, began, now_ns(), detail)
            self.sampler.here()

    def num_ended(self, kind: str) -> int:
        """How many phases of a kind have ended."""
        return self._num_ended.get(kind, 0)

    def was(self, kind: str, began: int) -> None:
        """What began then, and is over now, was a phase: known only afterwards."""
        if self.is_main():
            self.spans.end(kind, began, now_ns())

    def total(self, **counts: int | None) -> None:
        """How many steps (`steps`), the number of the last (`last`), how many epochs."""
        text = " ".join(f"{name}={int(count)}" for name, count in counts.items() if count and count > 0)
        if text and f"total {text}" not in self._said:
            self._said.add(f"total {text}")
            self.spans.note("total", text)

    def values(self, step: int | None, figures: Any) -> None:
        """Losses of a step, as far as they are plain numbers: asking a GPU for one would make it wait."""
        found = [] if step is None else [f"step={step}"]
        for name, value in dict(figures or {}).items():
            if "loss" in str(name) and isinstance(value, (int, float)) and not isinstance(value, bool):
                found.append(f"{str(name).replace(' ', '_')}={value:.7g}")
        if len(found) > (step is not None):
            self.spans.note("values", " ".join(found))

    def probe(self, name: str, version: Any) -> None:
        """A framework is hooked."""
        self._has_framework = True
        if self._is_plain:
            self._is_plain = False
            self.sampler.rest()
        self.spans.note("probe", f"{name} {version}")

    def skip(self, what: str, problem: BaseException) -> None:
        """Something could not be hooked, or a hook failed: said once."""
        if what not in self._said:
            self._said.add(what)
            self.spans.note("skipped", f"{what}: {problem!r}"[:300])

    def close(self) -> None:
        """The process ends."""
        if not self.spans.is_child:
            self.sampler.close()
            self.spans.flush()
