"""Hugging Face's Trainer, and TRL's trainers, which derive from it.

Steps, totals and losses come from the events that its CallbackHandler sends; evaluations and saves are its methods, and
those of classes derived from it.
"""

from __future__ import annotations

import functools
from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import version_of

_OWNER = "transformers"


class TrainerEvents:
    """What the events of a Trainer mean; `args`, `state` and `control` are its own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def on_train_begin(self, args: Any, state: Any) -> None:
        """The number of steps is known."""
        self._session.total(last=int(state.max_steps), epochs=int(args.num_train_epochs or 0))

    def on_step_begin(self) -> None:
        """The batch of the next step is there."""
        self._session.begin_step()

    def on_step_end(self, state: Any) -> None:
        """The step has been counted."""
        self._session.end_step(int(state.global_step))

    def on_log(self, state: Any, logs: Any) -> None:
        """It reports its losses."""
        self._session.values(int(state.global_step), logs)


def hook_handler(session: Session, module: Any) -> None:
    """The events, for every Trainer of the process."""
    session.probe("transformers", version_of("transformers"))
    events, handler = TrainerEvents(session), module.CallbackHandler
    before: dict[str, Any] = {
        "on_train_begin": lambda _, *given, **__: events.on_train_begin(*given[:2]),
        "on_step_begin": lambda *_, **__: events.on_step_begin(),
        "on_log": lambda _, *given, logs=None, **__: events.on_log(given[1], given[3] if len(given) > 3 else logs),
    }
    after: dict[str, Any] = {"on_step_end": lambda _, *given, **__: events.on_step_end(given[1])}
    session.try_all(
        (f"CallbackHandler.{name}", functools.partial(session.around, handler, name, before.get(name), after.get(name)))
        for name in (*before, *after)
    )


def hook_trainer(session: Session, module: Any) -> None:
    """Its methods, and those of the classes derived from it."""
    phases = {
        "evaluate": "evaluation",
        "predict": "evaluation",
        "_save_checkpoint": "checkpoint",
        "save_model": "checkpoint",
    }
    session.on_creation(module.Trainer, phases, owner=_OWNER)


def hook_models(session: Session, module: Any) -> None:
    """Models that save themselves."""
    session.wrap(module.PreTrainedModel, "save_pretrained", "checkpoint")


HOOKS = {
    "transformers.trainer_callback": hook_handler,
    "transformers.trainer": hook_trainer,
    "transformers.modeling_utils": hook_models,
}
