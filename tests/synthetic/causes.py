"""Runs in which one thing is wrong, and it is known which: for tests and `bench/causes.py`.

Every generator takes a seed and gives a `MadeUp`: the log's lines, the code of the true cause, and whether it shows in
slow steps or in the level. Sizes, places and noise are drawn anew for every seed, over the ranges that the pages of the
causes name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from stepscope.run.model import Floats
from tests.synthetic.text import nanogpt

_HEADER = ("compiling the model... (takes a ~minute)",)


class MadeUp(NamedTuple):
    """A made-up log. `steps` are the steps that are slow for the true cause; empty where the level tells."""

    lines: list[str]
    code: str
    steps: frozenset[int]
    settings: Mapping[str, object] = MappingProxyType({})


def _base(seed: int, num: int, *, noise: tuple[float, float] = (0.005, 0.025)) -> tuple[np.random.Generator, Floats]:
    rng = np.random.default_rng(seed)
    level = 10 ** rng.uniform(-1, 0.5)
    seconds = level * np.exp(rng.uniform(*noise) * rng.standard_normal(num))
    return rng, seconds


def _vary(rng: np.random.Generator, num: int, spread: float) -> Floats:
    return np.maximum(0.2, 1 + spread * rng.standard_normal(num))


def _aperiodic(rng: np.random.Generator, num: int, mean_gap: float) -> np.ndarray:
    gaps = np.maximum(3, rng.gamma(6, mean_gap / 6, int(2 * num / mean_gap))).astype(int)
    places = 20 + np.cumsum(gaps)
    return places[places < num - 5]


def gc(seed: int) -> MadeUp:
    """Collections of one height, every so many allocations."""
    rng, seconds = _base(seed, 1200)
    places = _aperiodic(rng, len(seconds), rng.uniform(25, 90))
    seconds[places] += np.median(seconds) * rng.uniform(0.8, 3) * _vary(rng, len(places), 0.06)
    return MadeUp(nanogpt(seconds), "C08", frozenset(places.tolist()))


def workers(seed: int) -> MadeUp:
    """Every W-th step waits, by as much as its batch is late."""
    rng, seconds = _base(seed, 600)
    count = int(rng.choice([4, 6, 8, 12, 16]))
    places = np.arange(count + int(rng.integers(0, count)), len(seconds), count)
    seconds[places] += np.median(seconds) * rng.uniform(1, 4) * _vary(rng, len(places), 0.3)
    settings: dict[str, object] = {"num_workers": count} if seed % 2 else {}
    return MadeUp(nanogpt(seconds), "C11", frozenset(places.tolist()), settings)


def shards(seed: int) -> MadeUp:
    """A shard ends every so many steps, and no whole number of them."""
    rng, seconds = _base(seed, 4000)
    every = rng.uniform(60, 300)
    places = np.ceil(np.arange(1, len(seconds) / every) * every).astype(int)
    places = places[places < len(seconds)]
    seconds[places] += np.median(seconds) * rng.uniform(0.7, 2) * _vary(rng, len(places), 0.08)
    return MadeUp(nanogpt(seconds), "C09", frozenset(places.tolist()))


def two_combs(seed: int) -> MadeUp:
    """Ranks that end their shard a step apart."""
    rng, seconds = _base(seed, 5000)
    every = int(rng.integers(90, 260))
    places = np.unique(np.concatenate([np.arange(e, len(seconds), e) for e in (every, every + 1)]))
    seconds[places] += np.median(seconds) * rng.uniform(0.8, 1.5) * _vary(rng, len(places), 0.05)
    return MadeUp(nanogpt(seconds), "C09", frozenset(places.tolist()))


def optimizer(seed: int) -> MadeUp:
    """A preconditioner refreshed every so many steps."""
    rng, seconds = _base(seed, 1500)
    every = int(rng.choice([10, 20, 25, 50, 100]))
    places = np.arange(every + int(rng.integers(0, every)), len(seconds), every)
    seconds[places] += np.median(seconds) * rng.uniform(1, 5) * _vary(rng, len(places), 0.03)
    return MadeUp(nanogpt(seconds), "C10", frozenset(places.tolist()))


def _timm(seconds: Floats, epoch: int) -> list[str]:
    lines = ["Scheduled epochs: 300. LR stepped per epoch."]
    for index, took in enumerate(seconds):
        number, batch = divmod(index, epoch)
        lines.append(
            f"Train: {number} [{batch:4d}/{epoch} ({100 * batch // epoch:3d}%)]  Loss: 3.312 (3.401)  "
            f"Time: {took:.3f}s, {256 / took:7.2f}/s  ({took:.3f}s, {256 / took:7.2f}/s)  "
            f"LR: 1.000e-03  Data: 0.010 (0.010)"
        )
    return lines


def epoch_respawn(seed: int) -> MadeUp:
    """Workers start anew with every epoch."""
    rng, seconds = _base(seed, 1500)
    epoch = int(rng.integers(60, 240))
    places = np.arange(epoch, len(seconds), epoch)
    seconds[places] += np.median(seconds) * rng.uniform(2, 20) * _vary(rng, len(places), 0.15)
    return MadeUp(_timm(seconds, epoch), "C12", frozenset(places.tolist()))


def partial_batch(seed: int) -> MadeUp:
    """The last batch of the first epoch has another shape and is compiled."""
    rng, seconds = _base(seed, 900)
    epoch = int(rng.integers(200, 400))
    place = epoch - 1
    seconds[place] += np.median(seconds) * rng.uniform(10, 60)
    return MadeUp(_timm(seconds, epoch), "C06", frozenset({place}))


def new_shapes(seed: int) -> MadeUp:
    """Every new length is compiled once; fewer and fewer are new."""
    rng, seconds = _base(seed, 1500)
    count = int(rng.integers(15, 40))
    places = np.unique((20 + rng.exponential(len(seconds) / 9, count)).astype(int))
    places = places[places < len(seconds) - 10]
    seconds[places] += np.median(seconds) * rng.uniform(6, 30) * _vary(rng, len(places), 0.5)
    return MadeUp(nanogpt(seconds, header=_HEADER), "C06", frozenset(places.tolist()))


def recompile_first_evaluation(seed: int) -> MadeUp:
    """The first evaluation compiles a second graph."""
    rng, seconds = _base(seed, 1000)
    every = int(rng.choice([50, 100, 125]))
    evaluations = np.arange(0, len(seconds), every)
    cost = np.median(seconds) * rng.uniform(3, 15)
    seconds[evaluations] += cost * _vary(rng, len(evaluations), 0.02)
    seconds[0] += cost * 4
    seconds[every] += cost * rng.uniform(2.5, 8)
    before = {int(step): [f"step {step}: train loss 3.0100, val loss 3.0300"] for step in evaluations}
    return MadeUp(nanogpt(seconds, before=before, header=_HEADER), "C05", frozenset({every}))


def save_shadow(seed: int) -> MadeUp:
    """Saves that cost nothing, and slow steps after each."""
    rng, seconds = _base(seed, 1200)
    places = np.sort(rng.choice(np.arange(60, 1150, 12), int(rng.integers(6, 14)), replace=False))
    reach = int(rng.integers(2, 6))
    shadow = np.unique((places[:, None] + 1 + np.arange(reach)).ravel())
    seconds[shadow] += np.median(seconds) * rng.uniform(0.8, 2) * _vary(rng, len(shadow), 0.15)
    before = {int(step): ["saving checkpoint to out"] for step in places}
    return MadeUp(nanogpt(seconds, before=before), "C03", frozenset(shadow.tolist()))


def suspend(seed: int) -> MadeUp:
    """A closed lid: one long gap, then everything as before."""
    rng, seconds = _base(seed, 800)
    place = int(rng.integers(50, 750))
    seconds[place] += max(90.0, 80 * float(np.median(seconds))) * rng.uniform(1.5, 100)
    return MadeUp(nanogpt(seconds), "C22", frozenset({place}))


def profiler(seed: int) -> MadeUp:
    """Traces written now and then."""
    rng, seconds = _base(seed, 900)
    places = np.sort(rng.choice(np.arange(40, 880), int(rng.integers(2, 7)), replace=False))
    seconds[places] += np.median(seconds) * rng.uniform(0.8, 5) * _vary(rng, len(places), 0.1)
    before = {
        int(step): [f"Finished dumping profiler traces in {rng.uniform(0.1, 0.9):.2f} seconds"] for step in places
    }
    return MadeUp(nanogpt(seconds, before=before), "C32", frozenset(places.tolist()))


def announced(seed: int) -> MadeUp:
    """Work of the trainer's own, told by a line of its own."""
    rng, seconds = _base(seed, 900)
    places = np.sort(rng.choice(np.arange(40, 880), int(rng.integers(3, 12)), replace=False))
    seconds[places] += np.median(seconds) * rng.uniform(1, 8) * _vary(rng, len(places), 0.3)
    before = {int(step): [f"sampling from the model, seed {rng.integers(1_000_000)}"] for step in places}
    return MadeUp(nanogpt(seconds, before=before), "C36", frozenset(places.tolist()))


def variable_length(seed: int) -> MadeUp:
    """Time follows the tokens of a batch, and some batches are long."""
    rng, seconds = _base(seed, 700)
    tokens = np.exp(rng.normal(0, 0.15, len(seconds)))
    places = np.sort(rng.choice(np.arange(40, 690), 12, replace=False))
    tokens[places] *= rng.uniform(2.2, 3.5, 12)
    seconds = seconds * tokens
    rate = 50_000.0 / float(np.median(seconds))
    lines = [
        f"TRAIN [0][{index}/{len(seconds)}]\tTime {took:.4f} ({took:.4f})\tData 1.51e-04 (4.01e-04)\t"
        f"Tok/s {round(rate * _vary(rng, 1, 0.03)[0] * size / took * float(np.median(seconds)))} (91022)\t"
        f"Loss/tok 3.3112 (3.4011)\tLR 1.000e-03"
        for index, (took, size) in enumerate(zip(seconds, tokens, strict=True))
    ]
    return MadeUp(lines, "C27", frozenset(places.tolist()))


def _mmengine(seconds: Floats, waits: Floats) -> list[str]:
    return [
        f"mmengine - INFO - Iter(train) [{index + 1:6d}/{len(seconds)}]  lr: 1.0000e-02  eta: 0:14:43  "
        f"time: {took + wait:.4f}  data_time: {wait:.4f}  memory: 4000  loss: 2.1000"
        for index, (took, wait) in enumerate(zip(seconds, waits, strict=True))
    ]


def data_wait(seed: int) -> MadeUp:
    """Batches that come late, and the log prints how late."""
    rng, seconds = _base(seed, 700)
    waits = np.median(seconds) * 0.02 * _vary(rng, len(seconds), 0.1)
    places = np.sort(rng.choice(np.arange(40, 690), 9, replace=False))
    waits[places] += np.median(seconds) * rng.uniform(1, 20, 9)
    return MadeUp(_mmengine(seconds, waits), "C35", frozenset((places + 1).tolist()))


def heat(seed: int) -> MadeUp:
    """A ramp over the first part of the run, then a plateau; evaluations slow alike."""
    rng, seconds = _base(seed, 2000, noise=(0.005, 0.02))
    time = np.arange(len(seconds)) / len(seconds)
    seconds = seconds * (1 + rng.uniform(0.1, 0.35) * (1 - np.exp(-time / rng.uniform(0.04, 0.12))))
    evaluations = np.arange(100, len(seconds), 100)
    seconds[evaluations] *= rng.uniform(4, 9)
    before = {int(step): [f"step {step}: train loss 3.0100, val loss 3.0300"] for step in evaluations}
    return MadeUp(nanogpt(seconds, before=before), "C18", frozenset())


def leak(seed: int) -> MadeUp:
    """A straight rise up to the end."""
    rng, seconds = _base(seed, 2000, noise=(0.01, 0.03))
    time = np.arange(len(seconds)) / len(seconds)
    seconds = seconds * (1 + rng.uniform(0.25, 1.5) * np.maximum(0, time - rng.uniform(0, 0.3)))
    # Growth is never as even as a plan: it wanders.
    seconds *= np.exp(0.015 * np.interp(time, np.linspace(0, 1, 40), rng.standard_normal(40)))
    return MadeUp(nanogpt(seconds), "C29", frozenset())


def tenant(seed: int) -> MadeUp:
    """Somebody comes and goes."""
    rng, seconds = _base(seed, 2000)
    first = int(rng.integers(300, 1000))
    last = first + int(rng.integers(250, 600))
    seconds[first:last] *= rng.uniform(1.3, 2.5)
    return MadeUp(nanogpt(seconds), "C20", frozenset())


def cold_cache(seed: int) -> MadeUp:
    """The first pass over the data is slow, and less and less so."""
    rng, seconds = _base(seed, 2000)
    time = np.arange(len(seconds)) / len(seconds)
    seconds = seconds * (1 + rng.uniform(0.4, 2.0) * np.exp(-time / rng.uniform(0.04, 0.1)))
    return MadeUp(nanogpt(seconds), "C13", frozenset())


def data_level(seed: int) -> MadeUp:
    """The loader falls behind from some step on, and the log prints the wait."""
    rng, seconds = _base(seed, 1500)
    waits = np.median(seconds) * 0.03 * _vary(rng, len(seconds), 0.1)
    waits[int(rng.integers(400, 1000)) :] += np.median(seconds) * rng.uniform(0.2, 1.0)
    return MadeUp(_mmengine(seconds, waits), "C35", frozenset())


def dynamic_shapes(seed: int) -> MadeUp:
    """One step compiles, and all after it run slower kernels."""
    rng, seconds = _base(seed, 1200)
    place = int(rng.integers(300, 800))
    seconds[place + 1 :] *= rng.uniform(1.08, 1.4)
    seconds[place] += np.median(seconds) * rng.uniform(15, 60)
    return MadeUp(nanogpt(seconds, header=_HEADER), "C06", frozenset())


GENERATORS: dict[str, Callable[[int], MadeUp]] = {
    made.__name__: made
    for made in (
        gc,
        workers,
        shards,
        two_combs,
        optimizer,
        epoch_respawn,
        partial_batch,
        new_shapes,
        recompile_first_evaluation,
        save_shadow,
        suspend,
        profiler,
        announced,
        variable_length,
        data_wait,
        heat,
        leak,
        tenant,
        cold_cache,
        data_level,
        dynamic_shapes,
    )
}
