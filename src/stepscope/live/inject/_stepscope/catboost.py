"""CatBoost: its rounds run in native code, which tells Python of each one that is done, on the CPU only."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import marked, version_of

_OWNER = "catboost"


class Rounds:
    """A callback of CatBoost's own kind: called after each round, and asks for the next."""

    def __init__(self, session: Session) -> None:
        self._end = session.quiet("after_iteration", self._next)
        self._session = session

    def _next(self, info: Any) -> None:
        self._session.end_step(int(info.iteration) - 1)
        self._session.begin_step()

    def after_iteration(self, info: Any) -> bool:
        """A round is done; the next begins."""
        self._end(info)
        return True


def hook_core(session: Session, module: Any) -> None:
    """Fitting, and saving by hand."""
    session.probe("catboost", version_of("catboost"))
    session.try_all(
        (
            ("CatBoost._fit", lambda: _hook_fit(session, module.CatBoost)),
            ("CatBoost.save_model", lambda: session.wrap(module.CatBoost, "save_model", "checkpoint")),
        )
    )


def _hook_fit(session: Session, base: Any) -> None:
    original = base._fit
    signature = inspect.signature(original)

    def with_rounds(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = signature.bind(*args, **kwargs)
        parameters = args[0].get_params() if hasattr(args[0], "get_params") else {}
        if str(parameters.get("task_type", "CPU")).upper() != "CPU":
            raise NotImplementedError("callbacks of CatBoost work on the CPU only")
        given.arguments["callbacks"] = [*(given.arguments.get("callbacks") or []), Rounds(session)]
        num = next((parameters[name] for name in _ROUNDS if parameters.get(name)), 1000)
        session.total(last=int(num) - 1, steps=int(num))
        return given.args, given.kwargs

    @functools.wraps(original)
    def fit(*args: Any, **kwargs: Any) -> Any:
        try:
            args, kwargs = with_rounds(*args, **kwargs)
            session.own(_OWNER)
            session.begin_step()
        except Exception as problem:
            session.skip("CatBoost.fit", problem)
        try:
            return original(*args, **kwargs)
        finally:
            session.drop_step()
            session.disown(_OWNER)

    base._fit = marked(fit)


_ROUNDS = ("iterations", "n_estimators", "num_boost_round", "num_trees")
HOOKS = {"catboost.core": hook_core}
