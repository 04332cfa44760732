"""Ultralytics: steps from the events of its trainers, validation and saves from their methods."""

from __future__ import annotations

from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import version_of

_OWNER = "ultralytics"


class TrainEvents:
    """What the events of a trainer mean. Steps are batches, counted over all epochs from 1."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = 0

    def take(self, trainer: Any, event: str) -> None:
        """One event."""
        if event == "on_train_start":
            self._steps = 0
            batches, epochs = len(trainer.train_loader), int(trainer.epochs)
            self._session.total(last=batches * epochs, epochs=epochs)
        elif event == "on_train_batch_start":
            self._session.begin_step()
        elif event == "on_train_batch_end":
            self._steps += 1
            self._session.end_step(self._steps)


def hook_trainer(session: Session, module: Any) -> None:
    """The trainer of every task."""
    session.probe("ultralytics", version_of("ultralytics"))
    events, base = TrainEvents(session), module.BaseTrainer
    phases = {"validate": "evaluation", "final_eval": "evaluation", "save_model": "checkpoint"}
    session.try_all(
        (
            ("BaseTrainer", lambda: session.on_creation(base, phases, owner=_OWNER)),
            (
                "BaseTrainer.run_callbacks",
                lambda: session.around(
                    base, "run_callbacks", lambda trainer, event, *_, **__: events.take(trainer, event)
                ),
            ),
        )
    )


HOOKS = {"ultralytics.engine.trainer": hook_trainer}
