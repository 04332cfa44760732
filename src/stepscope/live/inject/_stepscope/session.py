"""What all probes share: the file they write to, who is in charge of the steps, and wrappers that never raise.

A wrapper calls the original with the same arguments and returns what it returned. Nothing here touches the random
generators, so results are the same to the bit. An error of our own is recorded as skipped and goes no further.
"""

from __future__ import annotations

import atexit
import functools
import gc
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from _stepscope.sampler import Sampler
from _stepscope.spans import SpanFile, now_ns

_MARK = "_stepscope_wrapped"
# Shorter collections than this are not worth a record.
_LEAST_NS = 1_000_000


class Session:
    """One process's recording, as the probes see it."""

    def __init__(self, spans: SpanFile) -> None:
        self.spans = spans
        self._main = threading.main_thread().ident
        self._owners: list[str] = []
        self._depth: dict[str, int] = {}
        self._began: dict[str, int] = {}
        self._said: set[str] = set()
        self.at_save: list[Callable[[int], None]] = []  # called when a checkpoint begins
        self.step_begin_ns = 0
        self.step_end_ns = 0  # of the last one
        self.num_steps = 0
        self._has_framework = self._is_plain = self._times_collections = False
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
        """Whether steps have been made, or nothing would tell of one."""
        return self.num_steps > 0 or not self._has_framework

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
            self.spans.end(kind, began, now_ns(), detail)
            self.sampler.here()

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

    # -- hooks ------------------------------------------------------------------------------------------------

    def try_all(self, hooks: Iterable[tuple[str, Callable[[], object]]]) -> None:
        """Set several hooks; one that fails takes none of the others with it."""
        for name, hook in hooks:
            try:
                hook()
            except Exception as problem:
                self.skip(name, problem)

    def quiet(self, what: str, function: Callable[..., object]) -> Callable[..., None]:
        """A function of ours that never raises."""

        def call(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except Exception as problem:
                self.skip(what, problem)

        return call

    def wrap(self, holder: Any, name: str, kind: str) -> None:
        """Time a function or method of a module or class as a phase."""
        original = holder.__dict__[name] if isinstance(holder, type) else getattr(holder, name)
        if not is_wrapped(original):
            setattr(holder, name, self.timed(original, kind))

    def timed(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """The function, recorded as a phase whenever it is called."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            began = self.enter(kind)
            try:
                return function(*args, **kwargs)
            finally:
                self.leave(kind, began)

        return marked(wrapper)

    def around(
        self,
        holder: Any,
        name: str,
        before: Callable[..., object] | None = None,
        after: Callable[..., object] | None = None,
    ) -> None:
        """Call ours before and after a method, with the same arguments."""
        original = holder.__dict__[name] if isinstance(holder, type) else getattr(holder, name)
        if is_wrapped(original):
            return
        label = f"{getattr(holder, '__name__', holder)}.{name}"
        first = self.quiet(label, before) if before is not None else None
        last = self.quiet(label, after) if after is not None else None

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if first is not None:
                first(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                if last is not None:
                    last(*args, **kwargs)

        setattr(holder, name, marked(wrapper))

    def on_creation(
        self,
        base: type,
        phases: dict[str, str],
        owner: str | None = None,
        prepare: Callable[[type], object] | None = None,
    ) -> None:
        """Time methods of a class and of those derived from it, each when its first object is made.

        phases
            Methods by name, with the kind of span each is.
        owner
            The framework whose training the method `train` or `fit` is.
        prepare
            What else to do with each of these classes.
        """
        runs = ("train", "fit") if owner else ()

        def wrap_class(own: type) -> None:
            for name, kind in phases.items():
                if callable(vars(own).get(name)):
                    self.wrap(own, name, kind)
            for name in runs:
                if owner and callable(vars(own).get(name)):
                    self.around(own, name, lambda *_, **__: self.own(owner), lambda *_, **__: self.disown(owner))
            if prepare is not None:
                prepare(own)

        def before(new: Any, *_: Any, **__: Any) -> None:
            for own in type(new).__mro__:
                if issubclass(own, base):
                    wrap_class(own)

        for known in _with_derived(base):  # where the framework has been in use for a while
            wrap_class(known)
        self.around(base, "__init__", before=before)


def _with_derived(base: Any) -> list[Any]:
    found = [base]
    for own in found:
        found += [derived for derived in own.__subclasses__() if derived not in found]
    return found


def marked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of ours, so that it is not wrapped again."""
    setattr(function, _MARK, True)
    return function


def is_wrapped(function: Any) -> bool:
    """Whether a function is a wrapper of ours."""
    return getattr(function, _MARK, False) is True


def rebind(original: Any, wrapper: Any, modules: Iterable[str], name: str) -> None:
    """Put a wrapper where modules hold the original under a name: those that have been imported."""
    for own in modules:
        module = sys.modules.get(own)
        if module is not None and getattr(module, name, None) is original:
            setattr(module, name, wrapper)


def version_of(name: str) -> str:
    """The version of a module that has been imported."""
    return str(getattr(sys.modules.get(name), "__version__", "?"))
