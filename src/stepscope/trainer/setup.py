"""Everything a run has before its first step: data, network, optimizers, and room for its checkpoints.

What a step must not pay for is done here: graphs are compiled, memory is touched, the writer process is started.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from stepscope.trainer import accounts as phases
from stepscope.trainer import checkpoint
from stepscope.trainer.accounts import DevicePhases
from stepscope.trainer.config import TrainConfig, TrainerError
from stepscope.trainer.data import GPT2_VOCABULARY, Batches, Split, find_folder, read_meta
from stepscope.trainer.device import World, pick_precision, pick_threads
from stepscope.trainer.evaluate import FIXED_SHARE, Evaluator
from stepscope.trainer.model import GPT, ModelArgs, load_gpt2, load_model, make_optimizers
from stepscope.trainer.runlog import RunLog, Say, Show
from stepscope.trainer.state import large_state, load_optimizers
from stepscope.trainer.writer import NAME

if TYPE_CHECKING:
    from stepscope.trainer.sharded import ShardedCheckpointer


class Start:
    """One process of one run, up to the first step."""

    def __init__(
        self, config: TrainConfig, world: World, *, say: Say, show: Show, header: Sequence[str], started_ns: int
    ) -> None:
        self.world = world
        self.folder = Path(config.out_dir)
        self.log = RunLog(config, world, say=say, show=show, started_ns=started_ns)
        self.accounts, self.progress = self.log.accounts, self.log.progress
        self.config, self.header = config, header
        self.saved: dict[str, Any] | None = None  # the checkpoint that a resumed run starts from
        self.micro_steps = config.gradient_accumulation_steps // world.size
        self.checkpointer: checkpoint.Checkpointer | ShardedCheckpointer | None = None

    def set_up(self) -> None:
        """Data, network, optimizers; then everything that a step must not pay for."""
        self._settle_settings()
        config, world = self.config, self.world
        half, dtype = config.dtype != "float32", getattr(torch, config.dtype)
        self.autocast = lambda: torch.autocast(world.device.type, dtype) if half else contextlib.nullcontext()
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.dtype == "float16")
        folder = self._find_data()
        self.raw_model = self._place(self._make_model())
        self.args = self.raw_model.args
        splits = {
            name: Split(folder / f"{name}.bin", block_size=config.block_size, vocab_size=self.args.vocab_size)
            for name in ("train", "val")
        }
        self.batches = Batches(splits["train"], config, world.device, rank=world.rank, world_size=world.size)
        self.optimizers = make_optimizers(self.raw_model, config)
        self._describe_optimizers()
        if config.budget and self.saved is None:
            self._fit_budget()
            config = self.config
        self.evaluator = Evaluator(
            config,
            splits,
            world.device,
            autocast=self.autocast,
            accounts=self.accounts,
            rank=world.rank,
            world_size=world.size,
            reduce=dist.all_reduce if world.size > 1 else None,
        )
        if config.eval == "fixed":
            # Far fewer than nanoGPT's; who reads the log is to know what an evaluation should take.
            self.log.print("Overriding: eval = fixed")
            self.log.print(f"Overriding: eval_passes = {self.evaluator.passes:g}")
        if self.saved is not None:
            load_optimizers(self.saved, self.raw_model, self.optimizers, place=str(self.folder / NAME))
        self.accounts.lap(phases.STARTUP)
        self.model: Any = self._compile() if config.compile else self.raw_model
        self.parallel: Any = self.model
        if world.size > 1 and not config.shard:
            devices = [world.device.index] if world.device.type == "cuda" else None
            self.parallel = DistributedDataParallel(self.model, device_ids=devices)
        self.device_phases: DevicePhases | None = None
        if world.device.type == "cuda":
            self.device_phases = DevicePhases(self.accounts, lambda: torch.cuda.Event(enable_timing=True))
        self.lap = self.accounts.lap if self.device_phases is None else self.device_phases.lap
        self.checkpointer = None if config.eval_only else self._make_checkpointer()

    def _settle_settings(self) -> None:
        """The settings as they will be used: what was left open is decided, by the machine or by the checkpoint."""
        config, world = self.config, self.world
        for line in self.header:
            self.log.print(line)
        if config.gradient_accumulation_steps % world.size:
            place = f"gradient_accumulation_steps = {config.gradient_accumulation_steps}"
            raise TrainerError("train-accumulation", place=place, processes=world.size)
        tokens = config.gradient_accumulation_steps * config.batch_size * config.block_size
        self.log.print(f"tokens per iteration will be: {tokens:,}", every_rank=True)
        if config.shard and world.size == 1:
            self.log.say("train-shard-alone")
            config = replace(config, shard=False)
        # One seed per process: the weights are rank 0's, dropout is each one's own. Slices must be of one network.
        torch.manual_seed(config.seed if config.shard else config.seed + world.rank)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        if config.init_from == "resume":
            self.saved = checkpoint.load(self.folder, say=self.log.say, in_slices=config.shard)
        config = replace(config, dtype=pick_precision(config, world.device, self.log.say))
        if world.device.type == "cpu":
            threads = 0 if self.saved is None else int(self.saved.get("config", {}).get("threads", 0))
            config = replace(config, threads=pick_threads(replace(config, threads=config.threads or threads)))
            torch.set_num_threads(config.threads)
        if config.budget and self.saved is not None:
            # What fitted when the run began, or the learning rates would be others from here on.
            before = self.saved.get("config", {})
            lengths: dict[str, Any] = {
                name: int(before[name]) for name in ("max_iters", "lr_decay_iters") if name in before
            }
            config = replace(config, **lengths)
        self.config = config
        self.log.last_iteration = config.max_iters

    def _find_data(self) -> Path:
        """The data folder. One process makes the embedded corpus, the others wait for it."""
        if self.world.rank > 0:
            dist.barrier()
        folder = find_folder(self.config)
        if self.world.rank == 0 and self.world.size > 1:
            dist.barrier()
        self.meta = read_meta(folder)
        if self.meta is not None:
            self.log.print(f"found vocab_size = {self.meta.vocab_size} (inside {folder / 'meta.pkl'})")
        return folder

    def _place(self, model: GPT) -> GPT:
        """The network on its device, whole or in slices."""
        if not self.config.shard:
            return model.to(self.world.device)
        from stepscope.trainer.sharded import split

        split(model, self.world.device)
        torch.manual_seed(self.config.seed + self.world.rank)
        return model

    def _make_checkpointer(self) -> checkpoint.Checkpointer | ShardedCheckpointer | None:
        """Every process saves its slices, or the first one everything."""
        if self.config.shard:
            from stepscope.trainer.sharded import ShardedCheckpointer, tensors_of

            tensors = tensors_of(self.raw_model, self.optimizers)
            return ShardedCheckpointer(self.folder, tensors, self.world.device)
        if self.world.rank > 0:
            return None
        return checkpoint.Checkpointer(
            self.folder, large_state(self.raw_model, self.optimizers, in_slices=False), self.world.device
        )

    # -- the network, new or loaded ---------------------------------------------------------------------------

    def _make_model(self) -> GPT:
        config = self.config
        shape = {name: getattr(config, name) for name in ("n_layer", "n_head", "n_embd", "block_size", "bias")}
        own_vocabulary = None if self.meta is None else self.meta.vocab_size
        if config.init_from == "scratch":
            self.log.print("Initializing a new model from scratch")
            if own_vocabulary is None:
                self.log.print("defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)")
            args = ModelArgs(
                **shape, vocab_size=own_vocabulary or GPT2_VOCABULARY, dropout=config.dropout, recipe=config.recipe
            )
            model = GPT(args)
        elif config.init_from == "resume":
            self.log.print(f"Resuming training from {config.out_dir}")
            assert self.saved is not None
            model = load_model(self.saved, place=str(self.folder / NAME), dropout=config.dropout)
            self._follow(model, shape)
        else:
            self.log.print(f"Initializing from OpenAI GPT-2 weights: {config.init_from}")
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
        self.log.print(f"number of parameters: {model.num_parameters() / 1e6:.2f}M")
        return model

    def _follow(self, model: GPT, shape: dict[str, Any]) -> None:
        """A checkpoint's shape wins over the settings; what that overrides is said."""
        assert self.saved is not None
        differing = [name for name in (*shape, "recipe") if getattr(model.args, name) != getattr(self.config, name)]
        for name in differing:
            if name != "block_size":
                now, asked = str(getattr(model.args, name)), str(getattr(self.config, name))
                self.log.say("train-from-checkpoint", setting=name, value=now, asked=asked)
        self.config = replace(self.config, recipe=model.args.recipe)
        self.progress.iteration = int(self.saved.get("iter_num", 0))
        self.progress.best_val_loss = float(self.saved.get("best_val_loss", 1e9))

    def _describe_optimizers(self) -> None:
        """nanoGPT's three lines; the counts are over both optimizers."""
        sizes: dict[bool, list[int]] = {True: [], False: []}
        for p in self.raw_model.parameters():
            sizes[p.dim() >= 2].append(p.numel())
        for decays, word in ((True, "decayed"), (False, "non-decayed")):
            counts = sizes[decays]
            self.log.print(f"num {word} parameter tensors: {len(counts)}, with {sum(counts):,} parameters")
        self.log.print("using fused AdamW: True")

    def _compile(self) -> Any:
        """Compile, and use both graphs once before the clock starts: the first iteration is then like the others."""
        self.log.show("compile")
        self.log.print("compiling the model... (takes a ~minute)")
        model = torch.compile(self.raw_model)
        config = self.config
        before = torch.get_rng_state()
        tokens = torch.zeros((config.batch_size, config.block_size), dtype=torch.long, device=self.world.device)
        targets = tokens.clone()  # a graph for one tensor given twice would not do for two
        with self.autocast():
            _, loss = model(tokens, targets)
        loss.backward()
        self.raw_model.zero_grad(set_to_none=True)
        model.eval()
        tokens = tokens[:1].repeat(self.evaluator.batch_size, 1)
        targets = tokens.clone()
        with torch.no_grad() if config.eval == "nanogpt" else torch.inference_mode(), self.autocast():
            model(tokens, targets)
        model.train()
        torch.set_rng_state(before)
        took = self.accounts.lap(phases.COMPILE)
        self.accounts.event("compile", self.progress.iteration, took)
        return model

    def _fit_budget(self) -> None:
        """As many iterations as fit into the budget, in whole intervals of evaluation, so that the last one is saved.

        A few are tried with a learning rate of zero, then the optimizers are made again: nothing of that stays. From
        here on the number counts and no clock, so that the same settings give the same run.
        """
        config = self.config
        self.log.show("measure")
        before, took = torch.get_rng_state(), []
        tokens = torch.zeros((config.batch_size, config.block_size), dtype=torch.long, device=self.world.device)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = 0.0
        for _ in range(4):
            start = time.perf_counter()
            for _ in range(self.micro_steps):
                with self.autocast():
                    _, loss = self.raw_model(tokens, tokens.clone())
                loss.backward()
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            loss.item()
            took.append(time.perf_counter() - start)
        self.optimizers = make_optimizers(self.raw_model, config)
        torch.set_rng_state(before)
        each = sum(took[1:]) / 3
        # An evaluation's batch is a forward pass, a third of a step.
        each *= 1 + config.eval_iters * FIXED_SHARE / 3 / config.eval_interval
        # A twentieth is kept for the sample, and for what is not foreseen.
        fitting = max(0.0, 0.95 * config.budget - self.accounts.age_s()) / each
        fitting = max(1, int(fitting / config.eval_interval)) * config.eval_interval
        agreed = torch.tensor(min(fitting, config.max_iters), device=self.world.device)
        if self.world.size > 1:
            dist.broadcast(agreed, 0)
        count = int(agreed)
        if count < config.max_iters:
            self.config = replace(config, max_iters=count, lr_decay_iters=min(count, config.lr_decay_iters))
            self.log.last_iteration = count
            for name in ("max_iters", "lr_decay_iters"):
                self.log.print(f"Overriding: {name} = {getattr(self.config, name)}")
        self.log.say("train-fits", milliseconds=round(1000 * each), iterations=count, budget=round(config.budget))
