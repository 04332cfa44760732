"""How many iterations fit into `--budget` seconds: a few steps are timed before the run begins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.distributed as dist

from stepscope.trainer.config import TrainConfig
from stepscope.trainer.device import Autocast, World
from stepscope.trainer.evaluate import FIXED_SHARE
from stepscope.trainer.model import GPT
from stepscope.trainer.runlog import RunLog


def time_step(
    model: GPT,
    optimizers: Sequence[torch.optim.Optimizer],
    config: TrainConfig,
    world: World,
    *,
    autocast: Autocast,
    log: RunLog,
) -> float:
    """Seconds of one step, from a few with a learning rate of zero: the weights stay, the optimizers do not."""
    log.show("measure")
    before, took = torch.get_rng_state(), []
    tokens = torch.zeros((config.batch_size, config.block_size), dtype=torch.long, device=world.device)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = 0.0
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(config.gradient_accumulation_steps // world.size):
            with autocast():
                _, loss = model(tokens, tokens.clone())
            loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        loss.item()
        took.append(time.perf_counter() - start)
    torch.set_rng_state(before)
    return sum(took[1:]) / 3


def fit_budget(config: TrainConfig, world: World, step_s: float, log: RunLog) -> TrainConfig:
    """As many iterations as fit into the budget, in whole intervals of evaluation, so that the last one is saved.

    From here on the number counts and no clock, so that the same settings give the same run.
    """
    # An evaluation's batch is a forward pass, a third of a step.
    step_s *= 1 + config.eval_iters * FIXED_SHARE / 3 / config.eval_interval
    # A twentieth is kept for the sample, and for what is not foreseen.
    fitting = max(0.0, 0.95 * config.budget - log.accounts.age_s()) / step_s
    fitting = max(1, int(fitting / config.eval_interval)) * config.eval_interval
    agreed = torch.tensor(min(fitting, config.max_iters), device=world.device)
    if world.size > 1:
        dist.broadcast(agreed, 0)
    count = int(agreed)
    if count < config.max_iters:
        config = replace(config, max_iters=count, lr_decay_iters=min(count, config.lr_decay_iters))
        log.last_iteration = count
        for name in ("max_iters", "lr_decay_iters"):
            log.print(f"Overriding: {name} = {getattr(config, name)}")
    log.say("train-fits", milliseconds=round(1000 * step_s), iterations=count, budget=round(config.budget))
    return config
