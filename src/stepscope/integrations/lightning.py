"""Record a fit of Lightning: `Trainer(callbacks=[StepscopeCallback()])`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import lightning.pytorch

from stepscope.integrations import callbacks

# Set it, and the entry point of this package adds the callback to every Trainer.
OPT_IN = "STEPSCOPE_LIGHTNING"


class StepscopeCallback(lightning.pytorch.Callback):  # type: ignore[misc]
    """Times steps, validation, tests, saves and data of every Trainer of this process from now on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._session = callbacks.with_torch("lightning", folder)


def opted_in() -> Sequence[StepscopeCallback]:
    """For Lightning's entry point `lightning.pytorch.callbacks_factory`: nothing, unless the variable is set."""
    return [StepscopeCallback()] if os.environ.get(OPT_IN) else []
