"""Record a training of Hugging Face's Trainer, or of one of TRL's: `trainer.add_callback(StepscopeCallback())`."""

from __future__ import annotations

import os

import transformers

from stepscope.integrations import callbacks


class StepscopeCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Times steps, evaluations, saves, data and compiles of every Trainer of this process from now on.

    The Trainer's own events have no beginning of an evaluation or a save; so its methods are timed, as
    `stepscope run --trace` does it.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._session = callbacks.with_torch("huggingface", folder)

    def on_init_end(self, args: object, state: object, control: object, **kwargs: object) -> None:
        """Nothing: that it is there is enough."""
        del args, state, control, kwargs
