"""Wrappers around what a framework calls, which never raise.

A wrapper calls the original with the same arguments and returns what it returned. Nothing here touches the random
generators, so results are the same to the bit. An error of our own is recorded as skipped and goes no further.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from _stepscope.spans import now_ns

_MARK = "_stepscope_wrapped"


class Wrapping:
    """Sets hooks; what is done in them is a session's."""

    def own(self, owner: str) -> None:
        """A framework's training begins."""
        raise NotImplementedError

    def disown(self, owner: str) -> None:
        """It is over."""
        raise NotImplementedError

    def enter(self, kind: str) -> int:
        """A phase begins."""
        raise NotImplementedError

    def leave(self, kind: str, began: int, detail: str = "") -> None:
        """It ends."""
        raise NotImplementedError

    def num_ended(self, kind: str) -> int:
        """How many phases of a kind have ended."""
        raise NotImplementedError

    def was(self, kind: str, began: int) -> None:
        """What began then, and is over now, was a phase."""
        raise NotImplementedError

    def skip(self, what: str, problem: BaseException) -> None:
        """Something could not be hooked, or a hook failed."""
        raise NotImplementedError

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

    def saving_in(self, names: Iterable[str]) -> Callable[[type], object]:
        """For classes of callbacks that save in these methods: the whole of a call that does is the save."""

        def prepare(own: type) -> None:
            for name in names:
                if callable(vars(own).get(name)):
                    self._wrap_around(own, name, "checkpoint")

        return prepare

    def _wrap_around(self, holder: type, name: str, kind: str) -> None:
        """A method that is all of a phase whenever it holds one: what a callback does besides is the save's."""
        original = holder.__dict__[name]
        if is_wrapped(original):
            return

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            began, before = now_ns(), self.num_ended(kind)
            try:
                return original(*args, **kwargs)
            finally:
                if self.num_ended(kind) != before:
                    self.was(kind, began)

        setattr(holder, name, marked(wrapper))

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
