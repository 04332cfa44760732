"""Lightning, under both of its names: steps from the events it sends to callbacks, evaluations from its loops."""

from __future__ import annotations

from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import version_of

_OWNER = "lightning"


class FitEvents:
    """What the events of a fit mean."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = -1

    def on_train_start(self, trainer: Any) -> None:
        """The loaders are there, and with them the number of steps."""
        self._last = int(trainer.global_step)
        every = max(1, int(getattr(trainer, "accumulate_grad_batches", 1) or 1))
        batches, epochs = getattr(trainer, "num_training_batches", 0), trainer.max_epochs
        last = int(trainer.max_steps or -1)
        if epochs is not None and epochs > 0 and 0 < batches < float("inf"):
            by_epochs = -(-int(batches) // every) * int(epochs)
            last = by_epochs if last < 0 else min(last, by_epochs)
        self._session.total(last=last, epochs=epochs)

    def on_train_batch_start(self) -> None:
        """A batch is there; several may make a step."""
        if not self._session.step_begin_ns:
            self._session.begin_step()

    def on_train_batch_end(self, trainer: Any) -> None:
        """It is done, and the step with it if the optimizer has stepped."""
        now = int(trainer.global_step)
        if now != self._last:
            self._last = now
            self._session.end_step(now)


def hook_calls(session: Session, module: Any) -> None:
    """The events: every callback gets them from one function."""
    name = module.__name__.partition(".")[0]
    session.probe(name, version_of(name))
    events = FitEvents(session)

    def before(trainer: Any, hook_name: str, *_: Any, **__: Any) -> None:
        if hook_name == "on_train_batch_start":
            events.on_train_batch_start()
        elif hook_name == "on_train_start":
            events.on_train_start(trainer)

    def after(trainer: Any, hook_name: str, *_: Any, **__: Any) -> None:
        if hook_name == "on_train_batch_end":
            events.on_train_batch_end(trainer)

    session.around(module, "_call_callback_hooks", before, after)


def hook_trainer(session: Session, module: Any) -> None:
    """Fitting, and saving by hand or by a callback."""
    session.on_creation(module.Trainer, {"save_checkpoint": "checkpoint"}, owner=_OWNER)


def hook_evaluation(session: Session, module: Any) -> None:
    """Validation, testing and the sanity check."""
    session.wrap(module._EvaluationLoop, "run", "evaluation")


def hook_checkpoint(session: Session, module: Any) -> None:
    """The callback that saves, and those derived from it."""
    events = ("on_train_batch_end", "on_train_epoch_end", "on_validation_end", "on_train_end", "on_exception")
    session.on_creation(module.ModelCheckpoint, {"_save_checkpoint": "checkpoint"}, prepare=session.saving_in(events))


def hook_files(session: Session, module: Any) -> None:
    """The write itself, to whatever file system."""
    session.wrap(module, "_atomic_save", "checkpoint")


HOOKS = {
    "lightning.fabric.utilities.cloud_io": hook_files,
    **{f"{name}.trainer.call": hook_calls for name in ("lightning.pytorch", "pytorch_lightning")},
    **{f"{name}.trainer.trainer": hook_trainer for name in ("lightning.pytorch", "pytorch_lightning")},
    **{f"{name}.loops.evaluation_loop": hook_evaluation for name in ("lightning.pytorch", "pytorch_lightning")},
    **{f"{name}.callbacks.model_checkpoint": hook_checkpoint for name in ("lightning.pytorch", "pytorch_lightning")},
}
