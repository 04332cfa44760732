"""Record a fit of Keras 3: `model.fit(…, callbacks=[StepscopeCallback()])`."""

from __future__ import annotations

import os

import keras

from stepscope.integrations import callbacks


class StepscopeCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Times steps, validation, saves and data of every fit of this process from now on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self._session = callbacks.start("keras", folder)
