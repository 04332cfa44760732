"""Step times of runs in which nothing happens: noise, with and without heavy tails."""

from __future__ import annotations

import numpy as np

from stepscope.run.model import Floats

KINDS = ("normal", "lognormal", "student", "outliers", "rounded")


def healthy(seed: int, num: int = 800) -> tuple[str, Floats]:
    """Seconds of `num` steps of a healthy run, and which kind of noise it has."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    level = 10 ** rng.uniform(-2, 1)
    noise = rng.uniform(0.005, 0.03)
    if kind == "normal":
        seconds = level * (1 + noise * rng.standard_normal(num))
    elif kind == "lognormal":
        seconds = level * np.exp(noise * rng.standard_normal(num))
    elif kind == "student":
        seconds = level * (1 + noise * np.abs(rng.standard_t(3, num)))
    elif kind == "rounded":
        seconds = np.round(level * (1 + noise * rng.standard_normal(num)), 3)
    else:
        seconds = level * (1 + noise * rng.standard_normal(num))
        hit = rng.random(num) < 0.003
        seconds[hit] *= 1 + rng.pareto(1.5, int(hit.sum()))
    return kind, np.maximum(seconds, 0.2 * level)
