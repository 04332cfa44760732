"""Record a training of Stable-Baselines3: `model.learn(…, callback=StepscopeCallback())`."""

from __future__ import annotations

import os

from stable_baselines3.common.callbacks import BaseCallback

from stepscope.integrations import callbacks, stable_baselines3


class StepscopeCallback(BaseCallback):  # type: ignore[misc]
    """Times rollouts and the training on them, evaluations and saves of this process from now on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self._session = callbacks.start("stable_baselines3", folder)

    def _on_training_start(self) -> None:
        # `learn` was looked up before this object was made, and may be the original.
        stable_baselines3.events_of(self._session).begin_learning()

    def _on_training_end(self) -> None:
        stable_baselines3.events_of(self._session).end_learning()

    def _on_step(self) -> bool:
        return True
