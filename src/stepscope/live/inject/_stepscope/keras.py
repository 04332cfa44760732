"""Keras 3: steps and evaluations from the events of its CallbackList, saves from its callback and its models."""

from __future__ import annotations

import atexit
import functools
from typing import Any

from _stepscope.session import Session
from _stepscope.spans import now_ns
from _stepscope.wrapping import version_of

_OWNER = "keras"


class FitEvents:
    """What the events of a fit mean. Steps are counted over all epochs, from 1."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = 0
        self._is_fitting = False
        self._test_began = 0
        self._free_since = 0

    def on_train_begin(self, params: Any) -> None:
        """The numbers of epochs and steps are known, unless the data has no length."""
        self._session.own(_OWNER)
        self._is_fitting, self._steps = True, 0
        epochs, steps = (params or {}).get("epochs"), (params or {}).get("steps")
        self._session.total(last=(epochs or 0) * (steps or 0), epochs=epochs)

    def on_epoch_begin(self) -> None:
        """The data is about to be read."""
        self._free_since = now_ns()

    def on_train_batch_begin(self) -> None:
        """The batch is there: what passed since the last one was its fetch."""
        if self._free_since:
            self._session.spans.end("fetch", self._free_since, now_ns())
            self._free_since = 0
        self._session.begin_step()

    def on_train_batch_end(self) -> None:
        """A step, or as many as one execution has, is done."""
        self._steps += 1
        self._session.end_step(self._steps)
        self._free_since = now_ns()

    def on_test_begin(self) -> None:
        """Validation begins, or an evaluation by itself."""
        self._free_since = 0
        self._test_began = self._session.enter("evaluation")

    def on_test_end(self) -> None:
        """It ends."""
        began, self._test_began = self._test_began, 0
        if began:
            self._session.leave("evaluation", began)

    def on_epoch_end(self) -> None:
        """What follows is no fetch."""
        self._free_since = 0

    def on_train_end(self) -> None:
        """The fit is over."""
        self._is_fitting, self._free_since = False, 0
        self._session.disown(_OWNER)


class LoopEvents:
    """A loop of one's own: `train_on_batch`, `test_on_batch`, or an optimizer of Keras that is applied by hand.

    An evaluation is what lies between the first and the last `test_on_batch` without training between them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = self._depth = 0
        self._tested_since = self._tested_until = 0
        session.at_save.append(lambda _: self._end_test())
        atexit.register(self._end_test)

    def begin_batch(self) -> None:
        """`train_on_batch` begins."""
        self._end_test()
        self._depth += 1
        if not self._session.is_owned:
            self._session.begin_step()

    def end_batch(self) -> None:
        """It is over."""
        self._depth -= 1
        if not self._session.is_owned:
            self._end_step()

    def applied(self) -> None:
        """Gradients have been applied; within a fit or a batch, that says when it is over."""
        if self._depth or not self._session.is_main() or self._session.is_owned:
            return
        self._end_test()
        self._session.begin_after_last()
        self._end_step()

    def begin_test(self) -> None:
        """`test_on_batch` begins."""
        if not self._tested_since and self._session.is_main() and not self._session.is_owned:
            self._tested_since = now_ns()
            self._session.spans.begin("evaluation", self._tested_since)

    def end_test(self) -> None:
        """It is over; another one may follow."""
        self._tested_until = now_ns()

    def _end_test(self) -> None:
        since, self._tested_since = self._tested_since, 0
        if since:
            self._session.spans.end("evaluation", since, max(since, self._tested_until))

    def _end_step(self) -> None:
        self._session.end_step(f"~{self._steps}")
        self._session.sampler.stepped()
        self._steps += 1


_loops: dict[int, LoopEvents] = {}


def _loop(session: Session) -> LoopEvents:
    if id(session) not in _loops:
        _loops[id(session)] = LoopEvents(session)
    return _loops[id(session)]


def hook_list(session: Session, module: Any) -> None:
    """The events, for every fit of the process."""
    session.probe("keras", version_of("keras"))
    events, holder = FitEvents(session), module.CallbackList
    before = {
        "on_train_begin": lambda self, *_, **__: events.on_train_begin(
            getattr(self, "params", None) or getattr(self, "_params", None)
        ),
        "on_train_batch_begin": lambda *_, **__: events.on_train_batch_begin(),
        "on_test_begin": lambda *_, **__: events.on_test_begin(),
        "on_epoch_end": lambda *_, **__: events.on_epoch_end(),
    }
    after = {
        "on_epoch_begin": lambda *_, **__: events.on_epoch_begin(),
        "on_train_batch_end": lambda *_, **__: events.on_train_batch_end(),
        "on_test_end": lambda *_, **__: events.on_test_end(),
        "on_train_end": lambda *_, **__: events.on_train_end(),
    }
    session.try_all(
        (f"CallbackList.{name}", functools.partial(session.around, holder, name, before.get(name), after.get(name)))
        for name in (*before, *after)
    )


def hook_checkpoint(session: Session, module: Any) -> None:
    """The callback that saves, and those derived from it."""
    events = ("on_train_batch_end", "on_epoch_end")
    session.on_creation(module.ModelCheckpoint, {"_save_model": "checkpoint"}, prepare=session.saving_in(events))


def hook_model(session: Session, module: Any) -> None:
    """Models that are saved by hand, and those that are given their batches one by one."""
    session.try_all(
        (f"Model.{name}", functools.partial(session.wrap, module.Model, name, "checkpoint"))
        for name in ("save", "save_weights")
    )
    loop = _loop(session)
    batches = {
        "train_on_batch": (lambda *_, **__: loop.begin_batch(), lambda *_, **__: loop.end_batch()),
        "test_on_batch": (lambda *_, **__: loop.begin_test(), lambda *_, **__: loop.end_test()),
    }

    def hook(name: str) -> None:
        holder = next(own for own in module.Model.__mro__ if name in vars(own))
        session.around(holder, name, *batches[name])

    session.try_all((f"Model.{name}", functools.partial(hook, name)) for name in batches)


def hook_optimizer(session: Session, module: Any) -> None:
    """Optimizers that are applied by hand."""
    loop = _loop(session)

    def begin(*_: Any, **__: Any) -> None:
        session.look()

    session.try_all(
        (
            (
                "BaseOptimizer.apply",
                lambda: session.around(module.BaseOptimizer, "apply", begin, lambda *_, **__: loop.applied()),
            ),
        )
    )


HOOKS = {
    "keras.src.callbacks.callback_list": hook_list,
    "keras.src.callbacks.model_checkpoint": hook_checkpoint,
    "keras.src.models.model": hook_model,
    "keras.src.optimizers.base_optimizer": hook_optimizer,
}
