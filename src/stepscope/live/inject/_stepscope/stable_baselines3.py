"""Stable-Baselines3: a step is a rollout and the training on it; evaluations are `evaluate_policy`."""

from __future__ import annotations

from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import is_wrapped, rebind, version_of

_OWNER = "stable_baselines3"


class LearnEvents:
    """What an algorithm does. Steps are its iterations, which its table counts from 1."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._iteration = 0
        self._timesteps = 0
        self._depth = 0

    def begin_learning(self) -> None:
        """`learn` begins, or that of the class it derives from."""
        self._depth += 1
        if self._depth == 1:
            self._session.own(_OWNER)
            self._iteration = 0

    def begin_rollout(self, algorithm: Any) -> None:
        """The step before, with its training, is over."""
        self._end_step()
        if self._iteration == 1:
            self._tell_total(algorithm)
        self._timesteps = int(algorithm.num_timesteps)
        self._session.begin_step()

    def _end_step(self) -> None:
        if self._session.step_begin_ns:
            self._iteration += 1
            self._session.end_step(self._iteration)

    def _tell_total(self, algorithm: Any) -> None:
        each = int(algorithm.num_timesteps) - self._timesteps
        total = int(algorithm._total_timesteps) - self._timesteps
        if each > 0:
            self._session.total(last=-(-total // each))

    def end_learning(self) -> None:
        """`learn` is over."""
        self._depth = max(0, self._depth - 1)
        if not self._depth:
            self._end_step()
            self._session.disown(_OWNER)


_events: dict[int, LearnEvents] = {}


def events_of(session: Session) -> LearnEvents:
    """The events of a session, which its hooks and its callback share."""
    return _events.setdefault(id(session), LearnEvents(session))


def hook_base(session: Session, module: Any) -> None:
    """Learning and saving, whatever the algorithm."""
    session.probe("stable_baselines3", version_of("stable_baselines3"))
    events, base = events_of(session), module.BaseAlgorithm

    def prepare(own: type) -> None:
        # `learn` of an algorithm calls that of the class it derives from: the outermost counts.
        if "learn" in vars(own):
            session.around(
                own, "learn", lambda *_, **__: events.begin_learning(), lambda *_, **__: events.end_learning()
            )

    session.on_creation(base, {"save": "checkpoint"}, prepare=prepare)


def hook_algorithm(session: Session, module: Any) -> None:
    """Rollouts, with which a step begins."""
    events = events_of(session)
    name = "OnPolicyAlgorithm" if hasattr(module, "OnPolicyAlgorithm") else "OffPolicyAlgorithm"
    session.around(
        getattr(module, name), "collect_rollouts", lambda algorithm, *_, **__: events.begin_rollout(algorithm)
    )


def hook_evaluation(session: Session, module: Any) -> None:
    """The function that EvalCallback and most programs evaluate with."""
    original = module.evaluate_policy
    if not is_wrapped(original):
        places = (module.__name__, "stable_baselines3.common.callbacks")
        rebind(original, session.timed(original, "evaluation"), places, "evaluate_policy")


HOOKS = {
    "stable_baselines3.common.base_class": hook_base,
    "stable_baselines3.common.on_policy_algorithm": hook_algorithm,
    "stable_baselines3.common.off_policy_algorithm": hook_algorithm,
    "stable_baselines3.common.evaluation": hook_evaluation,
}
