"""XGBoost: a step is a round, from one `Booster.update` to the next; numbered from 0, as its log does."""

from __future__ import annotations

from typing import Any

from _stepscope.boosters import hook_train
from _stepscope.session import Session
from _stepscope.wrapping import version_of


def hook_core(session: Session, module: Any) -> None:
    """The booster."""
    session.probe("xgboost", version_of("xgboost"))
    booster = module.Booster

    def end(_: Any, dtrain: Any = None, iteration: Any = None, *__: Any, **___: Any) -> None:
        del dtrain
        session.end_step(int(iteration) if iteration is not None else f"~{session.num_steps}")

    session.try_all(
        (
            ("Booster.update", lambda: session.around(booster, "update", lambda *_, **__: session.begin_step(), end)),
            ("Booster.eval_set", lambda: session.wrap(booster, "eval_set", "evaluation")),
            ("Booster.save_model", lambda: session.wrap(booster, "save_model", "checkpoint")),
        )
    )


def hook_training(session: Session, module: Any) -> None:
    """`train`, which knows how many rounds there will be."""

    def tell(given: dict[str, Any]) -> None:
        rounds = int(given["num_boost_round"])
        model: Any = given.get("xgb_model")
        done = int(model.num_boosted_rounds()) if hasattr(model, "num_boosted_rounds") else 0
        session.total(last=done + rounds - 1, steps=rounds)

    hook_train(session, module, "xgboost", tell)


HOOKS = {"xgboost.core": hook_core, "xgboost.training": hook_training}
