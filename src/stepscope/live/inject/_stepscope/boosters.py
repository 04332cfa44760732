"""What the probes of gradient boosting share: a `train` function that knows how many rounds there will be."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import marked, rebind


def hook_train(session: Session, module: Any, owner: str, tell: Callable[[dict[str, Any]], None]) -> None:
    """Replace `train` of a module, and where its package names it again; `tell` gets its arguments, defaults too."""
    original = module.train
    signature = inspect.signature(original)

    def told(*args: Any, **kwargs: Any) -> None:
        given = signature.bind_partial(*args, **kwargs)
        given.apply_defaults()
        tell(given.arguments)
        session.own(owner)

    quiet = session.quiet(f"{owner}.train", told)

    @functools.wraps(original)
    def train(*args: Any, **kwargs: Any) -> Any:
        quiet(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        finally:
            session.disown(owner)

    rebind(original, marked(train), (module.__name__, owner, f"{owner}.sklearn"), "train")
