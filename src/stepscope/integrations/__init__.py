"""Recording a training from inside, for programs that have Stepscope: the recorder, and a callback per framework.

The code is that of the probes of `stepscope run --trace`, which must also run where Stepscope is not installed. It is a
package of its own, `_stepscope`, and is loaded here from where it is.
"""

from __future__ import annotations

import importlib.util
import os
import sys

__all__ = ["Activity", "Frame", "Recorder", "activity_of", "callbacks", "kind_at", "stable_baselines3"]


def _load_inside() -> None:
    """Make `_stepscope` importable; under `stepscope run --trace` it has been loaded already."""
    if "_stepscope" in sys.modules:
        return
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    folder = os.path.join(package, "live", "inject", "_stepscope")  # noqa: PTH118
    place = os.path.join(folder, "__init__.py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location("_stepscope", place, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_stepscope"] = module
    spec.loader.exec_module(module)


_load_inside()

from _stepscope import callbacks, stable_baselines3  # noqa: E402 (needs the lines above)
from _stepscope.activity import Activity, Frame, activity_of  # noqa: E402
from _stepscope.recorder import Recorder  # noqa: E402
from _stepscope.source_words import kind_at  # noqa: E402
