"""Programs of one's own, with or without a framework: what they write with NumPy and pickle, and loops without a step.

A loop of NumPy, JAX or scikit-learn has no call that ends a step. What its own functions do is looked at all the same,
and garbage collections are timed: the log has the steps, the spans what is between them. Where a framework that is
hooked is imported as well, its own probe says when to look.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from _stepscope.activity import is_own
from _stepscope.session import Session
from _stepscope.wrapping import is_wrapped, marked

_ARRAYS = ("save", "savez", "savez_compressed")
_OBJECTS = ("dump",)


def hook_arrays(session: Session, module: Any) -> None:
    """NumPy: its ways to save, and a first look at what the program does."""
    session.look_at_plain()
    _hook_writers(session, module, _ARRAYS)


def hook_objects(session: Session, module: Any) -> None:
    """Pickle and joblib."""
    _hook_writers(session, module, _OBJECTS)


def _hook_writers(session: Session, module: Any, names: tuple[str, ...]) -> None:
    session.try_all((f"{module.__name__}.{name}", functools.partial(_hook, session, module, name)) for name in names)


def _hook(session: Session, module: Any, name: str) -> None:
    """Time a function where the program itself calls it: packages write with it, too, and not only models."""
    original = getattr(module, name)
    if is_wrapped(original):
        return
    timed = session.timed(original, "checkpoint")

    @functools.wraps(original)
    def write(*args: Any, **kwargs: Any) -> Any:
        is_model = session.is_training and is_own(sys._getframe(1).f_code.co_filename)
        return (timed if is_model else original)(*args, **kwargs)

    setattr(module, name, marked(write))


HOOKS = {"numpy": hook_arrays, "pickle": hook_objects, "joblib": hook_objects}
