"""Loads a framework's probe when the program imports that framework, and never otherwise.

A probe is a module with `HOOKS`: which module's import makes it act, and what to call then with the session and that
module. Packages of others bring probes through the entry point group `stepscope.probes`: its name is the module to wait
for, its value the function to call.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from _stepscope.session import Session
from _stepscope.spans import SpanFile

# Which file of this package to load when a module is imported.
_PROBES = {
    "numpy": "plain",
    "pickle": "plain",
    "joblib": "plain",
    "torch": "torch_loop",
    "torch.utils.data.dataloader": "torch_loop",
    "torch._dynamo.callback": "torch_loop",
    "torch.distributed.checkpoint.state_dict_saver": "torch_loop",
    "safetensors.torch": "torch_loop",
    "transformers.trainer": "huggingface",
    "transformers.trainer_callback": "huggingface",
    "transformers.modeling_utils": "huggingface",
    "accelerate.accelerator": "accelerate",
    "lightning.pytorch.trainer.trainer": "lightning",
    "lightning.pytorch.trainer.call": "lightning",
    "lightning.pytorch.loops.evaluation_loop": "lightning",
    "lightning.pytorch.callbacks.model_checkpoint": "lightning",
    "lightning.fabric.utilities.cloud_io": "lightning",
    "pytorch_lightning.trainer.trainer": "lightning",
    "pytorch_lightning.trainer.call": "lightning",
    "pytorch_lightning.loops.evaluation_loop": "lightning",
    "pytorch_lightning.callbacks.model_checkpoint": "lightning",
    "keras.src.callbacks.callback_list": "keras",
    "keras.src.callbacks.model_checkpoint": "keras",
    "keras.src.models.model": "keras",
    "keras.src.optimizers.base_optimizer": "keras",
    "stable_baselines3.common.base_class": "stable_baselines3",
    "stable_baselines3.common.on_policy_algorithm": "stable_baselines3",
    "stable_baselines3.common.off_policy_algorithm": "stable_baselines3",
    "stable_baselines3.common.evaluation": "stable_baselines3",
    "xgboost.core": "xgboost",
    "xgboost.training": "xgboost",
    "lightgbm.basic": "lightgbm",
    "lightgbm.engine": "lightgbm",
    "catboost.core": "catboost",
    "ultralytics.engine.trainer": "ultralytics",
}
_GROUP = "stepscope.probes"


_running: list[Session] = []


def install(folder: str) -> Session:
    """Watch for the frameworks; what a process does before it imports one is not training."""
    session = Session(SpanFile(folder, source="probes"))
    _running.append(session)
    sys.meta_path.insert(0, _Watcher(session))
    return session


def running() -> Session | None:
    """The session of `stepscope run --trace` around this process; None without one."""
    return _running[-1] if _running else None


class _Watcher:
    """Runs a hook right after a module it waits for has been imported."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: dict[str, Callable[[], Callable[[Session, Any], object]]] = {
            name: _loader(name, probe) for name, probe in _PROBES.items()
        }
        self._has_asked_others = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        del path, target
        if not self._has_asked_others and name in self._waiting:
            self._ask_others()
        load = self._waiting.pop(name, None)
        if load is None:
            return None
        spec = importlib.util.find_spec(name)  # the search goes to the other finders: this name is no longer in ours
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def then_hook(module: Any) -> None:
            execute(module)
            try:
                load()(self._session, module)
            except Exception as problem:
                self._session.skip(name, problem)

        spec.loader.exec_module = then_hook  # type: ignore[method-assign]
        return spec

    def _ask_others(self) -> None:
        """Probes of other packages; asked for when the first framework comes, as looking for them takes a while."""
        self._has_asked_others = True
        if os.environ.get("STEPSCOPE_NO_PLUGINS"):
            return
        try:
            from importlib.metadata import entry_points

            for entry in entry_points(group=_GROUP):
                self._waiting.setdefault(entry.name, entry.load)
        except Exception as problem:
            self._session.skip(_GROUP, problem)


def _loader(name: str, probe: str) -> Callable[[], Callable[[Session, Any], object]]:
    def load() -> Callable[[Session, Any], object]:
        hook: Callable[[Session, Any], object] = importlib.import_module(f"_stepscope.{probe}").HOOKS[name]
        return hook

    return load


def hook_imported(session: Session, probe: str) -> None:
    """Hook a framework that is there already: for the integrations, which are imported after it."""
    hooks = importlib.import_module(f"_stepscope.{probe}").HOOKS
    for name, hook in hooks.items():
        module = sys.modules.get(name)
        if module is not None:
            try:
                hook(session, module)
            except Exception as problem:
                session.skip(name, problem)
