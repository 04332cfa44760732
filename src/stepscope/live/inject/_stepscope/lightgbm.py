"""LightGBM: a step is a round, from one `Booster.update` to the next; numbered from 1, as its log does."""

from __future__ import annotations

from typing import Any

from _stepscope.boosters import hook_train
from _stepscope.session import Session
from _stepscope.wrapping import version_of


def hook_basic(session: Session, module: Any) -> None:
    """The booster."""
    session.probe("lightgbm", version_of("lightgbm"))
    booster = module.Booster

    def end(own: Any, *_: Any, **__: Any) -> None:
        session.end_step(int(own.current_iteration()))

    session.try_all(
        (
            ("Booster.update", lambda: session.around(booster, "update", lambda *_, **__: session.begin_step(), end)),
            ("Booster.eval_train", lambda: session.wrap(booster, "eval_train", "evaluation")),
            ("Booster.eval_valid", lambda: session.wrap(booster, "eval_valid", "evaluation")),
            ("Booster.save_model", lambda: session.wrap(booster, "save_model", "checkpoint")),
        )
    )


def hook_engine(session: Session, module: Any) -> None:
    """`train`, which knows how many rounds there will be."""
    hook_train(session, module, "lightgbm", lambda given: session.total(last=int(given["num_boost_round"])))


HOOKS = {"lightgbm.basic": hook_basic, "lightgbm.engine": hook_engine}
