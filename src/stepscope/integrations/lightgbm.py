"""Record a training of LightGBM: `lightgbm.train(…, callbacks=[StepscopeCallback()])`."""

from __future__ import annotations

import os
from typing import Any

import lightgbm  # noqa: F401 (what is to be hooked)

from stepscope.integrations import callbacks


class StepscopeCallback:
    """Times rounds, evaluations and saves of every booster of this process from now on."""

    order = 1000
    before_iteration = False

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._session = callbacks.start("lightgbm", folder)

    def __call__(self, env: Any) -> None:
        """A round is done; the booster itself is timed, this says how many there will be."""
        self._session.total(last=int(env.end_iteration))
