"""Everything a run has before its first step: data, network, optimizers, and room for its checkpoints.

What a step must not pay for is done here: graphs are compiled, memory is touched, the writer process is started.
`prepare` does it all, from top to bottom, and returns the parts that the loop in `train` works with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from stepscope.trainer import accounts as phases
from stepscope.trainer import checkpoint
from stepscope.trainer.blocking import BlockingCheckpointer
from stepscope.trainer.config import TrainConfig, TrainerError, told_as
from stepscope.trainer.data import GPT2_VOCABULARY, Batches, Meta, Split, find_folder, read_meta
from stepscope.trainer.device import (
    Autocast,
    World,
    make_autocast,
    pick_precision,
    pick_threads,
    random_state,
    set_random_state,
)
from stepscope.trainer.device_phases import DevicePhases
from stepscope.trainer.evaluate import Evaluator, fitting_batch, make_peak
from stepscope.trainer.memory import host_bytes_left, state_bytes
from stepscope.trainer.model import GPT, ModelArgs, load_gpt2, load_model
from stepscope.trainer.optimizers import make_optimizers
from stepscope.trainer.runlog import RunLog, Say, Show
from stepscope.trainer.state import large_state, load_optimizers, restore_small
from stepscope.trainer.writer import NAME

if TYPE_CHECKING:
    from stepscope.trainer.sharded import ShardedCheckpointer

# The settings that a checkpoint's network has of its own.
_SHAPE = ("n_layer", "n_head", "n_embd", "block_size", "bias")
_STATED_BYTES = 100_000_000  # a copy in host memory that is smaller than this is not worth a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network in the three forms that a run needs, and what trains it."""

    raw_model: GPT  # the model as it was built; its weights are those of the other two
    model: Any  # compiled where that was asked for: evaluates
    parallel: Any  # the model in DDP where each process has a copy: trains
    optimizers: list[torch.optim.Optimizer]
    scaler: torch.amp.GradScaler
    autocast: Autocast


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the loop works with. What it changes from step to step is in `log.progress`."""

    config: TrainConfig  # the settings as used: nothing is left open
    world: World
    log: RunLog
    meta: Meta | None  # the characters of the data, where it has tokens of its own
    network: Network
    batches: Batches
    evaluator: Evaluator
    device_phases: DevicePhases | None  # on a GPU
    checkpointer: (
        checkpoint.Checkpointer | BlockingCheckpointer | ShardedCheckpointer | None
    )  # only in a process that writes checkpoints
    resumed_batch: tuple[Any, Any] | None  # the batch at which a resumed run goes on


def prepare(
    config: TrainConfig,
    world: World,
    *,
    say: Say,
    show: Show,
    header: Sequence[str],
    notes: Sequence[str],
    started_ns: int,
) -> Parts:
    """Make the parts of a run in this process; see `train.train` for the arguments.

    A failure leaves the folder as it was. After a success the log is the caller's to close.
    """
    log = RunLog(config, world, say=say, show=show, started_ns=started_ns)
    try:
        for line in notes:
            log.print(line, is_shown=False)
        for line in header:
            log.print(line)
        return _prepare(config, world, log)
    except BaseException:
        if log.folder is not None:
            log.folder.release()
        raise


def _prepare(config: TrainConfig, world: World, log: RunLog) -> Parts:
    """What `prepare` promises, in nanoGPT's order: its lines come in that order, and so do its random numbers."""
    config, saved = _settle_settings(config, world, log)
    folder = _find_data(config, world)
    meta = _describe_data(folder, log)
    raw_model = _place(_make_model(config, meta, saved, log), config, world)
    splits = _open_splits(folder, raw_model.args)
    batches = Batches(splits["train"], config, world.device, rank=world.rank, world_size=world.size)
    # A checkpoint's recipe counts: its optimizers are those that it has the state of.
    config = replace(config, recipe=raw_model.args.recipe)
    # An evaluation alone needs no optimizer, whose state is twice the weights.
    optimizers = [] if config.eval_only else make_optimizers(raw_model, config)
    if optimizers:
        _describe_optimizers(raw_model, log)
    autocast = make_autocast(config, world.device)
    evaluator = _make_evaluator(config, world, splits, autocast=autocast, log=log)
    if saved is not None and (optimizers or "slices" in saved):
        load_optimizers(saved, raw_model, optimizers, place=_checkpoint_place(config))
    if world.device.type == "cuda" and world.size == 1 and config.eval == "fixed" and not config.compile:
        # Compiled, another batch size would be another graph; several processes must have one size between them.
        evaluator.batch_size = fitting_batch(config.batch_size, make_peak(raw_model, config, world.device, autocast))
    log.accounts.lap(phases.STARTUP)
    model: Any = raw_model
    if config.compile:
        model = _compile(raw_model, config, world, autocast=autocast, eval_batch_size=evaluator.batch_size, log=log)
    network = Network(
        raw_model=raw_model,
        model=model,
        parallel=_share(model, config, world),
        optimizers=optimizers,
        scaler=torch.amp.GradScaler(world.device.type, enabled=config.dtype == "float16"),
        autocast=autocast,
    )
    resumed_batch = None
    if saved is not None:
        with told_as("train-bad-checkpoint", _checkpoint_place(config)):
            resumed_batch = restore_small(
                saved, config, world, log.progress, batches=batches, scaler=network.scaler, say=log.say
            )
    checkpointer = _make_checkpointer(config, world, network, log)
    try:
        # Last: from here on files of the folder change.
        log.open(config, _facts(config, raw_model, world))
    except BaseException:
        if checkpointer is not None:
            checkpointer.close()
        raise
    return Parts(
        config=config,
        world=world,
        log=log,
        meta=meta,
        network=network,
        batches=batches,
        evaluator=evaluator,
        device_phases=_make_device_phases(world, log),
        resumed_batch=resumed_batch,
        checkpointer=checkpointer,
    )


def _facts(config: TrainConfig, model: GPT, world: World) -> dict[str, object]:
    """What the settings do not say, for the records."""
    return {
        "parameters": model.num_parameters(),
        "vocab_size": model.args.vocab_size,
        "tokens_per_step": config.gradient_accumulation_steps * config.batch_size * config.block_size,
        "world_size": world.size,
    }


# -- settings and data --------------------------------------------------------------------------------------------


def _settle_settings(config: TrainConfig, world: World, log: RunLog) -> tuple[TrainConfig, dict[str, Any] | None]:
    """The settings as they will be used, and the checkpoint that a resumed run starts from.

    What the settings leave open is decided here, by the machine or by the checkpoint.
    """
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
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    saved = None
    if config.init_from == "resume":
        saved = checkpoint.load(
            Path(config.out_dir), say=log.say, in_slices=config.shard, with_optimizers=not config.eval_only
        )
    with told_as("train-bad-checkpoint", _checkpoint_place(config)):
        threads_before = 0 if saved is None else int(saved.get("config", {}).get("threads", 0))
    config = replace(config, dtype=pick_precision(config, world.device, log.say))
    if world.device.type == "cpu":
        threads = config.threads or threads_before
        config = replace(config, threads=pick_threads(replace(config, threads=threads)))
        torch.set_num_threads(config.threads)
    return config, saved


def _find_data(config: TrainConfig, world: World) -> Path:
    """The data folder. One process makes the embedded corpus, the others wait for it."""
    if world.rank > 0:
        dist.barrier()
    folder = find_folder(config)
    if world.rank == 0 and world.size > 1:
        dist.barrier()
    return folder


def _describe_data(folder: Path, log: RunLog) -> Meta | None:
    meta = read_meta(folder)
    if meta is not None:
        log.print(f"found vocab_size = {meta.vocab_size} (inside {folder / 'meta.pkl'})")
    return meta


def _open_splits(folder: Path, args: ModelArgs) -> dict[str, Split]:
    paths = {name: folder / f"{name}.bin" for name in ("train", "val")}
    return {name: Split(path, block_size=args.block_size, vocab_size=args.vocab_size) for name, path in paths.items()}


# -- the network, new or loaded -----------------------------------------------------------------------------------


def _make_model(config: TrainConfig, meta: Meta | None, saved: dict[str, Any] | None, log: RunLog) -> GPT:
    own_vocabulary = None if meta is None else meta.vocab_size
    if config.init_from == "scratch":
        log.print("Initializing a new model from scratch")
        if own_vocabulary is None:
            log.print("defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)")
        shape = {name: getattr(config, name) for name in _SHAPE}
        vocab_size = own_vocabulary or GPT2_VOCABULARY
        model = GPT(ModelArgs(**shape, vocab_size=vocab_size, dropout=config.dropout, recipe=config.recipe))
    elif config.init_from == "resume":
        log.print(f"Resuming training from {config.out_dir}")
        assert saved is not None
        model = load_model(saved, place=_checkpoint_place(config), dropout=config.dropout)
        _follow_checkpoint(saved, model.args, config, log)
    else:
        log.print(f"Initializing from OpenAI GPT-2 weights: {config.init_from}")
        model = load_gpt2(config.init_from, config.gpt2_folder, config.dropout)
    if own_vocabulary is not None and own_vocabulary > model.args.vocab_size:
        raise TrainerError(
            "train-vocabulary", place=config.dataset, token=own_vocabulary - 1, vocab_size=model.args.vocab_size
        )
    if config.block_size > model.args.block_size:
        place = f"block_size = {config.block_size}"
        raise TrainerError("train-block-size", place=place, block_size=model.args.block_size)
    if config.block_size < model.args.block_size:
        model.crop(config.block_size)
    log.print(f"number of parameters: {model.num_parameters() / 1e6:.2f}M")
    return model


def _follow_checkpoint(saved: dict[str, Any], args: ModelArgs, config: TrainConfig, log: RunLog) -> None:
    """Go on at the checkpoint's iteration. Its shape wins over the settings; what that overrides is said."""
    for name in (*_SHAPE, "recipe"):
        now, asked = getattr(args, name), getattr(config, name)
        # The recipe has no flag to contradict: a default is not asked for.
        is_default = name == "recipe" and asked == TrainConfig.recipe
        if now != asked and name != "block_size" and not is_default:
            log.say("train-from-checkpoint", setting=name, value=str(now), asked=str(asked))
    with told_as("train-bad-checkpoint", _checkpoint_place(config)):
        log.progress.iteration = int(saved.get("iter_num", 0))
        log.progress.best_val_loss = float(saved.get("best_val_loss", 1e9))


def _checkpoint_place(config: TrainConfig) -> str:
    """Where an error says that the checkpoint is."""
    return str(Path(config.out_dir) / NAME)


def _place(model: GPT, config: TrainConfig, world: World) -> GPT:
    """The network on its device, whole or in slices."""
    if not config.shard:
        return model.to(world.device)
    from stepscope.trainer.sharded import split

    split(model, world.device)
    torch.manual_seed(config.seed + world.rank)
    return model


def _describe_optimizers(model: GPT, log: RunLog) -> None:
    """nanoGPT's three lines; the counts are over both optimizers."""
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for p in model.parameters():
        sizes[p.dim() >= 2].append(p.numel())
    for decays, word in ((True, "decayed"), (False, "non-decayed")):
        counts = sizes[decays]
        log.print(f"num {word} parameter tensors: {len(counts)}, with {sum(counts):,} parameters")
    log.print("using fused AdamW: True")


def _share(model: Any, config: TrainConfig, world: World) -> Any:
    """The network for a step: where each process has a copy, DDP averages the gradients."""
    if world.size == 1 or config.shard:
        return model
    devices = [world.device.index] if world.device.type == "cuda" else None
    # Gradients live in the buckets that travel: no copy into them, and no second set in memory. The only buffers are
    # the tables of the rotary positions, which follow from the shape: nobody needs to send them.
    return DistributedDataParallel(model, device_ids=devices, gradient_as_bucket_view=True, broadcast_buffers=False)


def _compile(
    raw_model: GPT, config: TrainConfig, world: World, *, autocast: Autocast, eval_batch_size: int, log: RunLog
) -> Any:
    """Compile, and use both graphs once before the clock starts: the first iteration is then like the others."""
    log.show("compile")
    log.print("compiling the model... (takes a ~minute)")
    model = torch.compile(raw_model)
    before = random_state(world.device)
    tokens = torch.zeros((config.batch_size, config.block_size), dtype=torch.long, device=world.device)
    targets = tokens.clone()  # a graph for one tensor given twice would not do for two
    with autocast():
        _, loss = model(tokens, targets)
    loss.backward()
    raw_model.zero_grad(set_to_none=True)
    model.eval()
    tokens = tokens[:1].repeat(eval_batch_size, 1)
    targets = tokens.clone()
    with torch.no_grad() if config.eval == "nanogpt" else torch.inference_mode(), autocast():
        model(tokens, targets)
    model.train()
    set_random_state(before, world.device)
    took = log.accounts.lap(phases.COMPILE)
    log.accounts.event("compile", log.progress.iteration, took)
    return model


# -- what watches and saves ---------------------------------------------------------------------------------------


def _make_evaluator(
    config: TrainConfig, world: World, splits: dict[str, Split], *, autocast: Autocast, log: RunLog
) -> Evaluator:
    evaluator = Evaluator(
        config,
        splits,
        world.device,
        autocast=autocast,
        accounts=log.accounts,
        rank=world.rank,
        world_size=world.size,
        reduce=dist.all_reduce if world.size > 1 else None,
    )
    if config.eval == "fixed":
        # Far fewer than nanoGPT's: a reader of the log needs them to know what an evaluation should take.
        log.print("Overriding: eval = fixed")
        log.print(f"Overriding: eval_passes = {evaluator.passes:g}")
    return evaluator


def _make_device_phases(world: World, log: RunLog) -> DevicePhases | None:
    if world.device.type != "cuda":
        return None
    return DevicePhases(log.accounts, lambda: torch.cuda.Event(enable_timing=True))


def _make_checkpointer(
    config: TrainConfig, world: World, network: Network, log: RunLog
) -> checkpoint.Checkpointer | BlockingCheckpointer | ShardedCheckpointer | None:
    """Every process saves its slices, or the first one everything."""
    folder = Path(config.out_dir)
    if config.eval_only:
        return None
    if config.staging and (config.shard or world.rank == 0):
        _state_staging(network, log)
    if config.shard:
        from stepscope.trainer.sharded import ShardedCheckpointer, tensors_of

        tensors = tensors_of(network.raw_model, network.optimizers)
        return ShardedCheckpointer(folder, tensors, world.device, staging=config.staging)
    if world.rank > 0:
        return None
    if not config.staging:
        return BlockingCheckpointer(folder)
    state = large_state(network.raw_model, network.optimizers, in_slices=False)
    lock = None if log.folder is None else log.folder.descriptor
    return checkpoint.Checkpointer(folder, state, world.device, lock=lock)


def _state_staging(network: Network, log: RunLog) -> None:
    """Say what the copies of checkpoints take of the host's memory, before it is taken."""
    num_bytes, left = state_bytes(network.raw_model, network.optimizers), host_bytes_left()
    log.accounts.facts["staging_bytes"] = num_bytes
    if left is not None and num_bytes > left:
        log.say("train-staging-tight", size=num_bytes / 1e9, left=left / 1e9)
    elif num_bytes >= _STATED_BYTES:
        log.say("train-staging", size=num_bytes / 1e9)
