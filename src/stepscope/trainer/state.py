"""The state of a run, which is what its next iteration depends on: how it begins, is saved, and is put back to the bit.

It is large (weights and optimizers) or small (how far the run is, its random numbers, its place in the data). `begin`
makes it in nanoGPT's order, because its lines and its random numbers come in that order.

A checkpoint has the format of `torch.save` and nanoGPT's keys, so that `torch.load` and nanoGPT's `sample.py` read it.
Who writes it, and how long the run waits for that, is a `Checkpointer`'s business:

    extras/staged.py      the state is copied aside, and another process writes it: a checkpoint costs a copy
    extras/blocking.py    no copy (`--staging=False`): the run waits for the disk
    extras/sharded.py     each process writes its slices (`--shard=True`)

All of them write next to the old checkpoint, flush to the disk and rename: a kill at any moment leaves a whole one.
`extras/found.py` finds and reads the newest one that is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from stepscope.trainer.config import TrainConfig, TrainerError, told_as
from stepscope.trainer.data import GPT2_VOCABULARY, Batches, Split
from stepscope.trainer.extras.blocking import BlockingCheckpointer
from stepscope.trainer.extras.corpora import find_folder
from stepscope.trainer.extras.device import World, for_this_machine, random_state, set_random_state
from stepscope.trainer.extras.found import load
from stepscope.trainer.extras.memory import state_staging
from stepscope.trainer.extras.meta import Meta, read_meta
from stepscope.trainer.extras.run_log import RunLog
from stepscope.trainer.extras.spread import like
from stepscope.trainer.extras.staged import StagedCheckpointer
from stepscope.trainer.extras.weights import load_gpt2, load_model
from stepscope.trainer.extras.writer import NAME, Written
from stepscope.trainer.model import GPT, OPTIMIZERS, SHAPE, ModelArgs, make_optimizers


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run is: everything that the loop changes from step to step, apart from the weights."""

    iteration: int = 0
    first_iteration: int = 0  # the first iteration of this process; set when its loop begins
    local_iteration: int = 0  # steps done, also where nanoGPT's checkpoint made `iteration` begin higher
    best_val_loss: float = 1e9
    evaluated: bool = False  # this iteration was evaluated before the checkpoint that a resumed run came from
    # Of the training losses since the last evaluation. The sum stays on the device: reading it would wait for the step.
    loss_sum: torch.Tensor
    loss_count: int = 0
    running_mfu: float = -1.0  # not known yet

    def take_mean_loss(self) -> float | None:
        """The mean training loss since this was last asked, None before the first step. Waits for the device."""
        mean = (self.loss_sum / self.loss_count).item() if self.loss_count else None
        self.loss_sum, self.loss_count = torch.zeros_like(self.loss_sum), 0
        return mean


# Of those, what a checkpoint has under "progress"; iteration and best loss have nanoGPT's keys.
_KEPT = ("evaluated", "loss_count", "running_mfu", "local_iteration")


class State(NamedTuple):
    """Everything that the next iteration depends on, on this process."""

    config: TrainConfig
    world: World
    model: GPT
    optimizers: list[torch.optim.Optimizer]
    batches: Batches
    scaler: torch.amp.GradScaler
    progress: Progress

    def large(self) -> dict[str, Any]:
        """Weights and optimizers. Of those in slices only what is small: the checkpointer knows the tensors."""
        states = {name: each.state_dict() for name, each in zip(OPTIMIZERS, self.optimizers, strict=False)}
        if self.config.shard:
            return {name: {"param_groups": state["param_groups"]} for name, state in states.items()}
        return {"model": self.model.state_dict(), **states}

    def small(self) -> dict[str, Any]:
        """Everything else. All processes must ask for it together."""
        progress = self.progress
        # Each process has random numbers of its own and, in nanoGPT's order, batches of its own.
        ranks = self.world.gather((random_state(self.world.device), self.batches.state()))
        return {
            "model_args": self.model.args.saved(),
            "iter_num": progress.iteration,
            "best_val_loss": progress.best_val_loss,
            "config": asdict(self.config),
            "rng": [rng for rng, _ in ranks],
            "data": [data for _, data in ranks],
            "scaler": self.scaler.state_dict(),
            "progress": {"loss_sum": progress.loss_sum.item(), **{name: getattr(progress, name) for name in _KEPT}},
        }

    def restore(self, saved: dict[str, Any], say: Callable[..., None]) -> tuple[Any, Any] | None:
        """Put back what a checkpoint has, but for weights that the network was built with; returns the next batch.

        nanoGPT's own has the optimizer and the iteration only. None: the batches are drawn from the beginning.
        """
        progress = self.progress
        progress.iteration = int(saved.get("iter_num", 0))
        progress.best_val_loss = float(saved.get("best_val_loss", 1e9))
        self._restore_large(saved)
        if "progress" not in saved:
            return None
        progress.loss_sum.fill_(saved["progress"]["loss_sum"])
        for name in _KEPT:
            setattr(progress, name, saved["progress"][name])
        self.scaler.load_state_dict(saved["scaler"])
        # nanoGPT's order is a different one in each process, so it can only be taken up by as many as before.
        data, is_same_world = saved["data"], len(saved["rng"]) == self.world.size
        own = data[self.world.rank] if is_same_world else data[0] if self.config.eval != "nanogpt" else None
        batch = None if own is None else self.batches.restore(own)
        if batch is None:
            say("train-other-batches")
        elif is_same_world:
            set_random_state(saved["rng"][self.world.rank], self.world.device)
        return batch

    def _restore_large(self, saved: dict[str, Any]) -> None:
        if "slices" in saved:
            from stepscope.trainer.extras import sharded

            sharded.read_into(Path(saved["slices"]), sharded.tensors_of(self.model, self.optimizers))
        for name, optimizer in zip(OPTIMIZERS, self.optimizers, strict=False):
            if name not in saved:
                continue
            own = optimizer.state_dict()
            state = saved[name].get("state", own["state"])  # a sharded state has just been read
            for number, values in state.items():
                for key, value in values.items():
                    values[key] = like(value, own["state"][number][key])
            optimizer.load_state_dict({"state": state, "param_groups": saved[name]["param_groups"]})
            for group in optimizer.param_groups:
                if "fused" in group:  # whichever the run before used
                    group["fused"], group["foreach"] = optimizer.defaults["fused"], None


# -- how it begins ------------------------------------------------------------------------------------------------


class Beginning(NamedTuple):
    """A state, and what belongs to the data it was made for."""

    state: State
    splits: dict[str, Split]
    meta: Meta | None
    batch: tuple[Any, Any] | None  # the next one of a resumed run


def begin(config: TrainConfig, world: World, log: RunLog) -> Beginning:
    """New, from GPT-2's weights, or from a checkpoint; what the settings leave open is decided."""
    config, saved = _settle(config, world, log)
    folder = world.first_goes_first(partial(find_folder, config))  # which makes the embedded corpus
    meta = read_meta(folder)
    if meta is not None:
        log.print(f"found vocab_size = {meta.vocab_size} (inside {folder / 'meta.pkl'})")
    model = _make_model(config, world, log, meta, saved)
    args = model.args
    # A checkpoint's recipe counts: its optimizers are those that it has the state of.
    config = replace(config, recipe=args.recipe)
    splits = {
        name: Split(folder / f"{name}.bin", block_size=args.block_size, vocab_size=args.vocab_size)
        for name in ("train", "val")
    }
    batches = Batches(splits["train"], config, world)
    # An evaluation alone needs no optimizer, whose state is twice the weights.
    optimizers = [] if config.eval_only else make_optimizers(model, config)
    log.print_optimizers(model, optimizers)
    scaler = torch.amp.GradScaler(world.device.type, enabled=config.dtype == "float16")
    progress = Progress(loss_sum=torch.zeros((), device=world.device))
    state = State(config, world, model, optimizers, batches, scaler, progress)
    batch = None
    if saved is not None:
        with told_as("train-bad-checkpoint", saved.get("slices", _place(config))):
            batch = state.restore(saved, log.say)
        log.iteration = progress.iteration
    return Beginning(state, splits, meta, batch)


def _settle(config: TrainConfig, world: World, log: RunLog) -> tuple[TrainConfig, dict[str, Any] | None]:
    """What the settings leave open, decided by the machine or by the checkpoint that a resumed run starts from."""
    if config.gradient_accumulation_steps % world.size:
        place = f"gradient_accumulation_steps = {config.gradient_accumulation_steps}"
        raise TrainerError("train-accumulation", place=place, processes=world.size)
    tokens = config.gradient_accumulation_steps * config.batch_size * config.block_size
    log.print(f"tokens per iteration will be: {tokens:,}", every_rank=True)
    if config.shard and world.size == 1:
        log.say("train-shard-alone")
        config = replace(config, shard=False)
    # One seed per process: the weights are rank 0's, dropout is each one's own. Slices must be of one network.
    torch.manual_seed(config.seed if config.shard else config.seed + world.rank)
    saved = None
    if config.init_from == "resume":
        folder, with_optimizers = Path(config.out_dir), not config.eval_only
        saved = load(folder, say=log.say, in_slices=config.shard, with_optimizers=with_optimizers)
        with told_as("train-bad-checkpoint", _place(config)):
            config = as_before(config, saved.get("config", {}), world.device)
    return for_this_machine(config, world.device, log.say), saved


def as_before(config: TrainConfig, saved: dict[str, Any], device: torch.device) -> TrainConfig:
    """The settings with what the machine decided for the run that is resumed: other numbers would add up otherwise."""
    config = replace(config, threads=config.threads or int(saved.get("threads", 0)))
    is_ours = "recipe" in saved  # nanoGPT writes down a precision that it does not compute in on a CPU
    if config.dtype == "auto" and is_ours and str(saved.get("device", "")).startswith(device.type):
        config = replace(config, dtype=str(saved.get("dtype", "auto")))
    return config


def _make_model(config: TrainConfig, world: World, log: RunLog, meta: Meta | None, saved: dict[str, Any] | None) -> GPT:
    """The network, new or loaded, on its device."""
    own_vocabulary = None if meta is None else meta.vocab_size
    if saved is not None:
        log.print(f"Resuming training from {config.out_dir}")
        model = load_model(saved, place=_place(config), dropout=config.dropout)
        _say_what_the_checkpoint_overrides(model.args, config, log)
    elif config.init_from == "scratch":
        log.print("Initializing a new model from scratch")
        if own_vocabulary is None:
            log.print("defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)")
        model = GPT(ModelArgs.of(config, own_vocabulary or GPT2_VOCABULARY, dropout=config.dropout))
    else:
        log.print(f"Initializing from OpenAI GPT-2 weights: {config.init_from}")
        model = load_gpt2(config.init_from, config.gpt2_folder, config.dropout)
    args = model.args
    if own_vocabulary is not None and own_vocabulary > args.vocab_size:
        where = config.dataset
        raise TrainerError("train-vocabulary", place=where, token=own_vocabulary - 1, vocab_size=args.vocab_size)
    if config.block_size > args.block_size:
        where = f"block_size = {config.block_size}"
        raise TrainerError("train-block-size", place=where, block_size=args.block_size)
    if config.block_size < args.block_size:
        model.crop(config.block_size)
    log.print(f"number of parameters: {model.num_parameters() / 1e6:.2f}M")
    if not config.shard:
        return model.to(world.device)
    from stepscope.trainer.extras.sharded import split

    split(model, world.device)
    torch.manual_seed(config.seed + world.rank)
    return model


def _say_what_the_checkpoint_overrides(args: ModelArgs, config: TrainConfig, log: RunLog) -> None:
    """Its shape and recipe count; a shorter context is a wish that can be met."""
    for name in (*SHAPE, "recipe"):
        now, asked = getattr(args, name), getattr(config, name)
        # The recipe has no flag to contradict: a default is not asked for.
        is_default = name == "recipe" and asked == TrainConfig.recipe
        if now != asked and name != "block_size" and not is_default:
            log.say("train-from-checkpoint", setting=name, value=str(now), asked=str(asked))


def _place(config: TrainConfig) -> str:
    """Where an error says that the checkpoint is."""
    return str(Path(config.out_dir) / NAME)


# -- who saves it -------------------------------------------------------------------------------------------------


class Checkpointer(Protocol):
    """Writes checkpoints of one run. One is under way at most."""

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Begin to save a state. It may still be read when this returns."""

    def settle(self) -> None:
        """Wait until the state has been read: must come before the next optimizer step."""

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is on its way to the disk."""

    def collect(self, *, wait: bool = False) -> Written | None:
        """What became of the checkpoint under way, once that is known; `wait` until it is."""

    def close(self) -> Written | None:
        """Wait for the last checkpoint, and end."""


def make_checkpointer(state: State, log: RunLog) -> Checkpointer | None:
    """Every process saves its slices, or the first one everything."""
    config, world = state.config, state.world
    if config.eval_only or (world.rank > 0 and not config.shard):
        return None
    folder = Path(config.out_dir)
    if config.staging:
        log.accounts.facts["staging_bytes"] = state_staging(state.model, state.optimizers, log.say)
    if config.shard:
        from stepscope.trainer.extras.sharded import ShardedCheckpointer, tensors_of

        tensors = tensors_of(state.model, state.optimizers)
        return ShardedCheckpointer(folder, tensors, world.device, staging=config.staging)
    if not config.staging:
        return BlockingCheckpointer(folder)
    lock = None if log.folder is None else log.folder.descriptor
    return StagedCheckpointer(folder, state.large(), world.device, lock=lock)
