"""Record a training of XGBoost: `xgboost.train(…, callbacks=[StepscopeCallback()])`."""

from __future__ import annotations

import os

import xgboost

from stepscope.integrations import callbacks


class StepscopeCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Times rounds, evaluations and saves of every booster of this process from now on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self._session = callbacks.start("xgboost", folder)
