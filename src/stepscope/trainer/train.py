"""The training loop.

It is nanoGPT's, iteration for iteration and line for line: evaluate (and save) every so often, accumulate gradients
over micro-batches, clip, step, print. What is different is in the comments. One process trains alone; under `torchrun`
each process has a share of the micro-batches and DDP averages the gradients.

`Trainer` makes everything before the first step, in nanoGPT's order, because its lines and its random numbers come in
that order; what a step must not pay for is done there: graphs are compiled, memory is touched, the writer of
checkpoints is started. Then it runs the loop. `Evaluator`, at the end, asks how good the network is.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from stepscope.trainer import accounts as phases
from stepscope.trainer import checkpoint
from stepscope.trainer.accounts import Accounts, RunLog, Say, Show, silent
from stepscope.trainer.checkpoint import Progress
from stepscope.trainer.config import (
    TrainConfig,
    TrainerError,
    learning_rate_at,
    muon_momentum_at,
    muon_rate_at,
    told_as,
)
from stepscope.trainer.data import GPT2_VOCABULARY, Batches, Split, read_meta
from stepscope.trainer.extras.blocking import BlockingCheckpointer
from stepscope.trainer.extras.clock import make_phases
from stepscope.trainer.extras.corpora import find_folder
from stepscope.trainer.extras.device import (
    World,
    exact,
    join_world,
    make_autocast,
    pick_precision,
    pick_threads,
    random_state,
    set_random_state,
)
from stepscope.trainer.extras.memory import fitting_batch, make_peak, state_staging
from stepscope.trainer.extras.process import frozen_garbage, stop_signals
from stepscope.trainer.extras.text import Sample, sample_of
from stepscope.trainer.extras.weights import load_model
from stepscope.trainer.extras.writer import NAME, Written
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers

# The settings that a checkpoint's network has of its own.
_SHAPE = ("n_layer", "n_head", "n_embd", "block_size", "bias")
_COLLECT_EVERY = 1000  # steps without an evaluation after which garbage is collected all the same
# With paired batches this part of nanoGPT's number gives differences at least twice as precise (see `Evaluator`).
FIXED_SHARE = 0.25


class Outcome(NamedTuple):
    """How a run ended."""

    ledger: dict[str, Any]
    iteration: int
    stopped_by: int | None  # the signal that asked for it
    sample: Sample | None
    unsaved: Written | None  # the last checkpoint if it was not written: the weights at the end are lost
    last_saved: int  # the iteration of the newest checkpoint that is whole; 0 where there is none


def train(
    config: TrainConfig,
    *,
    say: Say = silent,
    show: Show = silent,
    header: Sequence[str] = (),
    notes: Sequence[str] = (),
    started_ns: int | None = None,
    sample_tokens: int = 0,
) -> Outcome:
    """Train as the settings say.

    `say` gets messages for the user, `show` the progress. `header` are the first lines of the log, `notes` those of its
    file only. `started_ns` is when the program began, by `perf_counter_ns`. After training, `sample_tokens` tokens of
    text are generated.
    """
    started_ns = time.perf_counter_ns() if started_ns is None else started_ns
    world = join_world(config)
    with world.joined(config):
        log = RunLog(config, is_first=world.rank == 0, say=say, show=show, started_ns=started_ns)
        try:
            for line in notes:
                log.print(line, is_shown=False)
            for line in header:
                log.print(line)
            trainer = Trainer(config, world, log)
        except BaseException:  # the folder is as it was
            if log.folder is not None:
                log.folder.release()
            raise
        return trainer.run(sample_tokens)


class Trainer:
    """One process of a run. What its loop changes from step to step is in `progress`."""

    def __init__(self, config: TrainConfig, world: World, log: RunLog) -> None:
        self.world, self.log, self.accounts = world, log, log.accounts
        self.progress = Progress(loss_sum=torch.zeros((), device=world.device))
        self._place = str(Path(config.out_dir) / NAME)  # where an error says that the checkpoint is
        config, saved = self._settle(config)
        folder = _find_data(config, world)
        self.meta = read_meta(folder)
        if self.meta is not None:
            log.print(f"found vocab_size = {self.meta.vocab_size} (inside {folder / 'meta.pkl'})")
        self.raw_model = self._make_model(config, saved)
        args = self.raw_model.args
        splits = {
            name: Split(folder / f"{name}.bin", block_size=args.block_size, vocab_size=args.vocab_size)
            for name in ("train", "val")
        }
        self.batches = Batches(splits["train"], config, world.device, rank=world.rank, world_size=world.size)
        # A checkpoint's recipe counts: its optimizers are those that it has the state of.
        self.config = config = replace(config, recipe=args.recipe)
        # An evaluation alone needs no optimizer, whose state is twice the weights.
        self.optimizers = [] if config.eval_only else make_optimizers(self.raw_model, config)
        if self.optimizers:
            self._describe_optimizers()
        self.autocast = make_autocast(config, world.device)
        self.evaluator = Evaluator(
            config,
            splits,
            world.device,
            autocast=self.autocast,
            accounts=log.accounts,
            rank=world.rank,
            world_size=world.size,
            reduce=dist.all_reduce if world.size > 1 else None,
        )
        if config.eval == "fixed":
            # Far fewer than nanoGPT's: a reader of the log needs them to know what an evaluation should take.
            log.print("Overriding: eval = fixed")
            log.print(f"Overriding: eval_passes = {self.evaluator.passes:g}")
        if saved is not None and (self.optimizers or "slices" in saved):
            checkpoint.restore_optimizers(saved, self.raw_model, self.optimizers, place=self._place)
        if world.device.type == "cuda" and world.size == 1 and config.eval == "fixed" and not config.compile:
            # Compiled, another batch size would be another graph; several processes must have one size between them.
            peak = make_peak(self.raw_model, config, world.device, self.autocast)
            self.evaluator.batch_size = fitting_batch(config.batch_size, peak)
        self.accounts.lap(phases.STARTUP)
        # The network in three forms: as it was built, compiled (evaluates), and shared by all processes (trains).
        self.model = self._compile() if config.compile else self.raw_model
        self.parallel = _share(self.model, config, world)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.dtype == "float16")
        self._resumed_batch = None
        if saved is not None:
            with told_as("train-bad-checkpoint", self._place):
                self._resumed_batch = checkpoint.restore_small(
                    saved, config, world, self.progress, batches=self.batches, scaler=self.scaler, say=log.say
                )
        self.micro_steps = config.gradient_accumulation_steps // world.size
        self.clock = make_phases(world, log.accounts)
        self._saved_iteration, self._saved_at = 0, time.monotonic()
        self._wants_save = False  # before the next step, because `--save_minutes` have passed
        self._grad_norm: Any = None  # of the last step, before it was clipped; stays on the device
        self.checkpointer = self._make_checkpointer()
        facts = {
            "parameters": self.raw_model.num_parameters(),
            "vocab_size": args.vocab_size,
            "tokens_per_step": config.gradient_accumulation_steps * config.batch_size * config.block_size,
            "world_size": world.size,
        }
        try:
            log.open(config, facts)  # last: from here on files of the folder change
        except BaseException:
            if self.checkpointer is not None:
                self.checkpointer.close()
            raise

    # -- before the first step ------------------------------------------------------------------------------------

    def _settle(self, config: TrainConfig) -> tuple[TrainConfig, dict[str, Any] | None]:
        """What the settings leave open, decided by the machine or by the checkpoint that a resumed run starts from."""
        world = self.world
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
        saved = None
        threads = config.threads
        if config.init_from == "resume":
            saved = checkpoint.load(
                Path(config.out_dir), say=self.log.say, in_slices=config.shard, with_optimizers=not config.eval_only
            )
            with told_as("train-bad-checkpoint", self._place):
                threads = threads or int(saved.get("config", {}).get("threads", 0))
        config = replace(config, dtype=pick_precision(config, world.device, self.log.say), threads=threads)
        if world.device.type == "cpu":
            config = replace(config, threads=pick_threads(config))
            torch.set_num_threads(config.threads)
        return config, saved

    def _make_model(self, config: TrainConfig, saved: dict[str, Any] | None) -> GPT:
        """The network, new or loaded, on its device."""
        own_vocabulary = None if self.meta is None else self.meta.vocab_size
        if saved is not None:
            self.log.print(f"Resuming training from {config.out_dir}")
            model = load_model(saved, place=self._place, dropout=config.dropout)
            self._follow(saved, model.args, config)
        elif config.init_from == "scratch":
            self.log.print("Initializing a new model from scratch")
            if own_vocabulary is None:
                self.log.print("defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)")
            shape = {name: getattr(config, name) for name in _SHAPE}
            vocab_size = own_vocabulary or GPT2_VOCABULARY
            model = GPT(ModelArgs(**shape, vocab_size=vocab_size, dropout=config.dropout, recipe=config.recipe))
        else:
            from stepscope.trainer.extras.weights import load_gpt2

            self.log.print(f"Initializing from OpenAI GPT-2 weights: {config.init_from}")
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
        self.log.print(f"number of parameters: {model.num_parameters() / 1e6:.2f}M")
        if not config.shard:
            return model.to(self.world.device)
        from stepscope.trainer.extras.sharded import split

        split(model, self.world.device)
        torch.manual_seed(config.seed + self.world.rank)
        return model

    def _follow(self, saved: dict[str, Any], args: ModelArgs, config: TrainConfig) -> None:
        """Go on at the checkpoint's iteration. Its shape wins over the settings; what that overrides is said."""
        for name in (*_SHAPE, "recipe"):
            now, asked = getattr(args, name), getattr(config, name)
            # The recipe has no flag to contradict: a default is not asked for.
            is_default = name == "recipe" and asked == TrainConfig.recipe
            if now != asked and name != "block_size" and not is_default:
                self.log.say("train-from-checkpoint", setting=name, value=str(now), asked=str(asked))
        with told_as("train-bad-checkpoint", self._place):
            self.progress.iteration = self.log.iteration = int(saved.get("iter_num", 0))
            self.progress.best_val_loss = float(saved.get("best_val_loss", 1e9))

    def _describe_optimizers(self) -> None:
        """nanoGPT's three lines; the counts are over both optimizers."""
        for decays, word in ((True, "decayed"), (False, "non-decayed")):
            counts = [p.numel() for p in self.raw_model.parameters() if (p.dim() >= 2) == decays]
            self.log.print(f"num {word} parameter tensors: {len(counts)}, with {sum(counts):,} parameters")
        self.log.print("using fused AdamW: True")

    def _compile(self) -> Any:
        """Compile, and use both graphs once before the clock starts: the first iteration is then like the others."""
        config, device = self.config, self.world.device
        self.log.show("compile")
        self.log.print("compiling the model... (takes a ~minute)")
        model = torch.compile(self.raw_model)
        before = random_state(device)
        tokens = torch.zeros((config.batch_size, config.block_size), dtype=torch.long, device=device)
        with self.autocast():
            _, loss = model(tokens, tokens.clone())  # a graph for one tensor given twice would not do for two
        loss.backward()
        self.raw_model.zero_grad(set_to_none=True)
        model.eval()
        tokens = tokens[:1].repeat(self.evaluator.batch_size, 1)
        with torch.no_grad() if config.eval == "nanogpt" else torch.inference_mode(), self.autocast():
            model(tokens, tokens.clone())
        model.train()
        set_random_state(before, device)
        self.accounts.event("compile", self.progress.iteration, self.accounts.lap(phases.COMPILE))
        return model

    def _make_checkpointer(self) -> Any:
        """Every process saves its slices, or the first one everything."""
        config, world = self.config, self.world
        if config.eval_only or (world.rank > 0 and not config.shard):
            return None
        folder = Path(config.out_dir)
        if config.staging:
            self.accounts.facts["staging_bytes"] = state_staging(self.raw_model, self.optimizers, self.log.say)
        if config.shard:
            from stepscope.trainer.extras.sharded import ShardedCheckpointer, tensors_of

            tensors = tensors_of(self.raw_model, self.optimizers)
            return ShardedCheckpointer(folder, tensors, world.device, staging=config.staging)
        if not config.staging:
            return BlockingCheckpointer(folder)
        state = checkpoint.large_state(self.raw_model, self.optimizers, in_slices=False)
        lock = None if self.log.folder is None else self.log.folder.descriptor
        return checkpoint.Checkpointer(folder, state, world.device, lock=lock)

    # -- the loop -------------------------------------------------------------------------------------------------

    def run(self, sample_tokens: int) -> Outcome:
        """Train to the end, or until asked to stop."""
        try:
            with stop_signals(several=self.world.size > 1) as stop, frozen_garbage():
                try:
                    self._loop(stop)
                finally:
                    with contextlib.suppress(RuntimeError):  # of a device that is no more
                        self.clock.settle()
                self.log.ended = "stopped" if stop else "finished"
            # A model in slices computes only where all processes do.
            takes_part = self.world.rank == 0 or self.config.shard
            sample = self._sample(sample_tokens) if sample_tokens and takes_part else None
        finally:
            # Also after an error: a checkpoint that is under way is the last good one.
            if self.checkpointer is not None:
                self.log.show("waiting")
                self.log.note_written(self.checkpointer.close())
                self.accounts.lap(phases.WAITING)
            ledger = self.log.close()
        costs = self.log.checkpoint_costs
        return Outcome(
            ledger=ledger,
            iteration=self.progress.iteration,
            stopped_by=stop[0] if stop else None,
            sample=sample,
            unsaved=costs.last_failed,
            # A resumed run began at a checkpoint that is still there.
            last_saved=max(costs.last_whole, self.progress.first_iteration),
        )

    def _loop(self, stop: list[int]) -> None:
        config, progress = self.config, self.progress
        x, y = self._resumed_batch or self.batches.next()
        self.accounts.lap(phases.STARTUP)
        self.accounts.ready(progress.iteration)
        self.clock.start()
        before = time.perf_counter()
        progress.first_iteration = last_collected = self._saved_iteration = progress.iteration
        # nanoGPT takes one more step each time that a run which is over is resumed.
        while config.eval_only or progress.iteration <= config.max_iters:
            self._set_learning_rates()
            is_plain = True
            if config.eval_only or (progress.iteration % config.eval_interval == 0 and not progress.evaluated):
                self._evaluate_and_save((x, y))
                is_plain, last_collected = False, progress.iteration
                self._collect_garbage()
            elif progress.iteration - last_collected >= _COLLECT_EVERY:
                last_collected = progress.iteration
                self._collect_garbage()
            if config.eval_only:
                return
            if self._wants_save or self._is_save_iteration():
                self._save()
                is_plain = False
            progress.evaluated = False
            was_writing = self.checkpointer is not None and self.checkpointer.is_writing

            self.clock.begin()
            x, y, loss = self._step(x, y)

            # A step's time is nanoGPT's: from the end of one step to the end of the next.
            now = time.perf_counter()
            seconds, before = now - before, now
            add_step = None
            if is_plain and progress.local_iteration >= 2:
                add_step = partial(self.log.checkpoint_costs.add_step, while_writing=was_writing)
            wants_stop = self._report(loss, seconds, bool(stop), add_step)
            progress.iteration += 1
            progress.local_iteration += 1
            self.log.iteration = progress.iteration
            if wants_stop:
                break
        # The last evaluation of a run that ends with one has saved all but a single step.
        if self._saved_iteration < min(progress.iteration, config.max_iters):
            self._save()

    def _set_learning_rates(self) -> None:
        """Both optimizers follow one schedule, each from its own height; so does Muon's momentum."""
        config, iteration = self.config, self.progress.iteration
        for optimizer, rate_at in zip(self.optimizers, (learning_rate_at, muon_rate_at), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = rate_at(config, iteration)
                if rate_at is muon_rate_at:
                    group["momentum"] = muon_momentum_at(iteration)

    def _step(self, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """One iteration: forward and backward over the micro-batches, then the optimizers."""
        lap = self.clock.lap
        step_loss: Any = 0.0
        loss: Any = None
        for micro in range(self.micro_steps):
            if self.world.size > 1:
                # Gradients travel once per iteration, with the last micro-batch.
                self._share_gradients(micro == self.micro_steps - 1)
            with self.autocast():
                _, loss = self.parallel(x, y)
                loss = loss / self.micro_steps
            lap(phases.FORWARD)
            # The device is busy now: a good moment to fetch the next batch.
            x, y = self.batches.next()
            lap(phases.DATA)
            self.scaler.scale(loss).backward()
            loss = loss.detach()
            step_loss = step_loss + loss
            lap(phases.BACKWARD)
        if self.checkpointer is not None:
            # From here on the weights change, so a copy of them that is still being made must be finished.
            self.checkpointer.settle()
            self.accounts.lap(phases.STAGING)
            self.clock.skip()
        if self.config.grad_clip:
            for optimizer in self.optimizers:
                self.scaler.unscale_(optimizer)
            self._grad_norm = torch.nn.utils.clip_grad_norm_(self.raw_model.parameters(), self.config.grad_clip)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        self.progress.loss_sum += step_loss
        self.progress.loss_count += 1
        lap(phases.OPTIMIZER)
        self.clock.end()
        # nanoGPT prints the last micro-batch's loss, we the mean of all.
        return x, y, loss * self.micro_steps if self.config.eval == "nanogpt" else step_loss

    def _share_gradients(self, wanted: bool) -> None:
        if self.config.shard:
            self.raw_model.set_requires_gradient_sync(wanted)
        else:
            self.parallel.require_backward_grad_sync = wanted

    # -- printing -------------------------------------------------------------------------------------------------

    def _report(self, loss: Any, seconds: float, wants_stop: bool, add_step: Callable[[float], object] | None) -> bool:
        """Print and record the iteration; returns whether some process was asked to stop.

        `add_step` gets the seconds of the step, where they are to be compared with others.
        """
        config, world, progress = self.config, self.world, self.progress
        is_printed = progress.iteration % config.log_interval == 0
        minutes, value = config.save_minutes, None
        self._wants_save = minutes > 0 and time.monotonic() - self._saved_at >= 60 * minutes
        if world.size > 1 and not is_printed:
            wants_stop = self._wants_save = False  # all processes must do so at the same iteration
        elif world.size > 1:
            # The one moment at which the processes talk about anything but gradients.
            asks = torch.tensor([float(wants_stop), float(self._wants_save)], device=loss.device)
            shared = torch.cat([loss.reshape(1), asks]).to(exact(world.device))
            dist.all_reduce(shared)
            mean, asked, late = shared.tolist()
            value = loss.item() if config.eval == "nanogpt" else mean / world.size
            wants_stop, self._wants_save = asked > 0, late > 0
        if value is None and (is_printed or world.device.type == "cpu"):
            value = loss.item()  # waits for a device: only where its line is printed
        if is_printed:
            told = self.clock.settle()
            seconds = seconds if told is None else told
        self._stop_if_nan(value)
        figures = self._figures(seconds, is_known=value is not None, is_printed=is_printed)
        if is_printed:
            line = f"iter {progress.iteration}: loss {value:.4f}, time {seconds * 1000:.2f}ms"
            if world.device.type == "cuda":
                line += f", mfu {progress.running_mfu * 100:.2f}%"
            self.log.print(line)
            self.log.track(loss=value, step_ms=1000 * seconds, lr=figures["lr"], grad_norm=figures["grad_norm"])
        if self.checkpointer is not None and self.checkpointer.is_writing:
            self.log.note_written(self.checkpointer.collect())
        self.log.show("step", seconds)
        self.accounts.lap(phases.LOGGING)
        self.clock.step(progress.iteration, value, figures, add_step, seconds=seconds)
        return wants_stop

    def _figures(self, seconds: float, *, is_known: bool, is_printed: bool) -> dict[str, float | None]:
        """Learning rate, gradient norm and mfu of the step; the norm only where reading it waits for nothing."""
        progress = self.progress
        # A share of an A100's peak says nothing on other devices than GPUs.
        if is_printed and progress.local_iteration >= 5 and self.world.device.type == "cuda":  # let it settle first
            mfu = self.raw_model.utilisation(self.config.batch_size * self.micro_steps, seconds)
            progress.running_mfu = mfu if progress.running_mfu == -1.0 else 0.9 * progress.running_mfu + 0.1 * mfu
        norm = self._grad_norm
        if norm is not None and hasattr(norm, "full_tensor"):
            norm = norm.full_tensor() if is_printed else None  # all processes ask for it together
        return {
            "lr": self.optimizers[0].param_groups[0]["lr"] if self.optimizers else None,
            "grad_norm": norm.item() if is_known and norm is not None else None,
            "mfu": progress.running_mfu if progress.running_mfu >= 0 else None,
        }

    def _stop_if_nan(self, loss: float | None) -> None:
        if loss is not None and not math.isfinite(loss):
            iteration, saved = self.progress.iteration, self.log.checkpoint_costs.last_whole
            place = f"iteration {iteration}"
            raise TrainerError("train-nan", place=place, iteration=iteration, value=str(loss), saved=saved)

    # -- evaluating and saving ------------------------------------------------------------------------------------

    def _evaluate_and_save(self, first: tuple[Any, Any]) -> None:
        """An evaluation; the best so far is always saved, others as nanoGPT does unless saving has its own times."""
        config, progress = self.config, self.progress
        running = progress.take_mean_loss()
        self.clock.settle()  # work that is still queued belongs to the steps before this moment
        if running is not None and self.world.size > 1:
            shared = torch.tensor(running, device=self.world.device)
            dist.all_reduce(shared)
            running = shared.item() / self.world.size
        self.log.show("evaluation")
        start = time.perf_counter_ns()
        losses = self._evaluate(running, first)
        took = time.perf_counter_ns() - start
        self.log.print(f"step {progress.iteration}: train loss {losses.train:.4f}, val loss {losses.val:.4f}")
        self.accounts.event("evaluation", progress.iteration, took, train_loss=losses.train, val_loss=losses.val)
        figures = self._figures(0.0, is_known=False, is_printed=False)
        mfu = None if figures["mfu"] is None else 100 * figures["mfu"]
        self.log.track(train__loss=losses.train, val__loss=losses.val, lr=figures["lr"], mfu=mfu)
        self._stop_if_nan(losses.val)
        self.accounts.lap(phases.LOGGING)
        is_best = losses.val < progress.best_val_loss
        progress.best_val_loss = min(losses.val, progress.best_val_loss)
        progress.evaluated = True
        has_own_times = config.save_interval or config.save_minutes
        if progress.iteration > 0 and (is_best or (config.always_save_checkpoint and not has_own_times)):
            self._save(is_best=is_best)

    def _evaluate(self, running: float | None, first: tuple[Any, Any]) -> Losses:
        """As `--eval` says. nanoGPT's way is the first process's alone; the others hear what came out."""
        if self.config.eval != "nanogpt" or self.world.size == 1:
            return self.evaluator(self.model, running, first)
        losses = Losses(0.0, 0.0)
        if self.world.rank == 0 or self.config.shard:
            losses = self.evaluator(self.model, running, first)
        shared = torch.tensor(losses, dtype=exact(self.world.device), device=self.world.device)
        dist.broadcast(shared, 0)
        return Losses(*shared.tolist())

    def _is_save_iteration(self) -> bool:
        """Whether a checkpoint is due by `--save_interval`, and none of this iteration is there yet."""
        iteration, interval = self.progress.iteration, self.config.save_interval
        return bool(interval) and iteration % interval == 0 and iteration > self._saved_iteration

    def _save(self, *, is_best: bool = False) -> None:
        """Start a checkpoint. nanoGPT's line comes first, so that a log says when."""
        self.clock.settle()
        config, iteration = self.config, self.progress.iteration
        self._saved_iteration, self._saved_at, self._wants_save = iteration, time.monotonic(), False
        # On every rank: each has random numbers of its own.
        small = checkpoint.small_state(
            config, self.world, self.progress, model=self.raw_model, batches=self.batches, scaler=self.scaler
        )
        if self.checkpointer is None:
            return
        self.log.print(f"saving checkpoint to {config.out_dir}")
        self.accounts.lap(phases.LOGGING)
        self.log.note_written(self.checkpointer.collect(wait=True))
        waited = self.accounts.lap(phases.WAITING)
        self.log.show("checkpoint")
        self.accounts.flush()  # before the checkpoint can be whole: after a kill, the records reach as far as it does
        large = checkpoint.large_state(self.raw_model, self.optimizers, in_slices=config.shard)
        self.checkpointer.stage({**large, **small}, iteration, is_best=is_best)
        staged = self.accounts.lap(phases.STAGING)
        self.accounts.event("checkpoint", iteration, waited + staged, waiting_s=waited / 1e9, is_best=is_best)

    # -- small things ---------------------------------------------------------------------------------------------

    def _collect_garbage(self) -> None:
        self.clock.settle()
        gc.collect()
        self.accounts.event("gc", self.progress.iteration, self.accounts.lap(phases.GC))

    def _sample(self, count: int) -> Sample | None:
        self.log.show("sampling")
        sample = sample_of(self.raw_model, self.meta, count, seed=self.config.seed, with_before=not self.config.shard)
        self.accounts.lap(phases.SAMPLING)
        return sample


def _find_data(config: TrainConfig, world: World) -> Path:
    """The data folder. One process makes the embedded corpus, the others wait for it."""
    if world.rank > 0:
        dist.barrier()
    folder = find_folder(config)
    if world.rank == 0 and world.size > 1:
        dist.barrier()
    return folder


def _share(model: Any, config: TrainConfig, world: World) -> Any:
    """The network for a step: where each process has a copy, DDP averages the gradients."""
    if world.size == 1 or config.shard:
        return model
    devices = [world.device.index] if world.device.type == "cuda" else None
    # Gradients live in the buckets that travel: no copy into them, and no second set in memory. The only buffers are
    # the tables of the rotary positions, which follow from the shape: nobody needs to send them.
    return DistributedDataParallel(model, device_ids=devices, gradient_as_bucket_view=True, broadcast_buffers=False)


# -- how good is the network now? ---------------------------------------------------------------------------------


class Losses(NamedTuple):
    """One evaluation."""

    train: float
    val: float


class Evaluator:
    """Evaluates one run, in one of two ways.

    `--eval=nanogpt` draws fresh random batches of both splits every time. Its numbers are nanoGPT's own, and as noisy:
    two evaluations differ by the luck of the draw far more than by what was learned in between.

    `--eval=fixed` looks at the *same* windows every time, spread evenly over the validation split. Luck then cancels in
    the difference, which is what one watches: it is four to seven times less noisy. So a quarter of the batches is
    plenty, the training split needs no passes of its own (the mean of the training losses since the last evaluation
    says the same), and each process takes its share of the windows.

    This process is number `rank` of `world_size`; `reduce` adds up a tensor over all processes.
    """

    def __init__(
        self,
        config: TrainConfig,
        splits: dict[str, Split],
        device: torch.device,
        *,
        autocast: Callable[[], Any],
        accounts: Accounts,
        rank: int = 0,
        world_size: int = 1,
        reduce: Callable[[torch.Tensor], Any] | None = None,
    ) -> None:
        self._config, self._splits, self._device = config, splits, device
        self._has_train_split = config.eval_train or config.eval_only
        self._autocast, self._accounts = autocast, accounts
        self._rank, self._world_size, self._reduce = rank, world_size, reduce
        self.batch_size = config.batch_size  # raised where more fit: see `fitting_batch`
        self._windows = {name: self._spread(split) for name, split in splits.items()}

    @property
    def passes(self) -> float:
        """Training batches' worth of forward passes that one evaluation is on this process, with `--eval=fixed`."""
        splits = ("train", "val") if self._has_train_split else ("val",)
        return sum(len(self._windows[name]) for name in splits) / self._config.batch_size / self._world_size

    def _spread(self, split: Split) -> torch.Tensor:
        """The starts of the fixed windows: evenly over the split, the same in every run of one seed."""
        # A run that is nothing but an evaluation has no other one to be compared with: it is as long as it says.
        share = 1.0 if self._config.eval_only else FIXED_SHARE
        wanted = max(1, round(self._config.eval_iters * share)) * self._config.batch_size
        room = len(split) - split.block_size
        generator = torch.Generator().manual_seed(self._config.seed)
        # One random start in each of `wanted` equal stretches: no stretch of the text is left out.
        offsets = torch.rand(wanted, generator=generator, dtype=torch.float64)
        return ((torch.arange(wanted) + offsets) * (room / wanted)).long().clamp_(max=room - 1)

    def __call__(self, model: torch.nn.Module, running_loss: float | None, first: tuple[Any, Any]) -> Losses:
        """Losses now. `running_loss`: the mean since the last evaluation, None before the first step."""
        model.eval()
        try:
            if self._config.eval == "nanogpt":
                return self._classic(model)
            if self._has_train_split:
                train = self._fixed(model, "train")
            elif running_loss is not None:
                train = running_loss
            else:  # before the first step: the batch it will be made of
                train = self._mean(model, [(*first, len(first[0]))])
            self._accounts.lap(phases.EVALUATION_TRAIN)
            val = self._fixed(model, "val")
            self._accounts.lap(phases.EVALUATION_VAL)
            return Losses(train, val)
        finally:
            model.train()

    def _fixed(self, model: torch.nn.Module, name: str) -> float:
        """Over the fixed windows of a split; each process takes its share, in equally many batches.

        Equally many, because a model in slices computes only where all processes do: one that has nothing left to do
        runs the first window and counts it as nothing.
        """
        starts, split = self._windows[name], self._splits[name]
        own = [part for part in starts[self._rank :: self._world_size].split(self.batch_size) if len(part)]
        most = math.ceil(math.ceil(len(starts) / self._world_size) / self.batch_size)
        batches = [(part, len(part)) for part in own] + [(starts[:1], 0)] * (most - len(own))
        return self._mean(model, ((*split.windows(part, self._device), count) for part, count in batches))

    def _mean(self, model: torch.nn.Module, batches: Iterable[tuple[Any, Any, int]]) -> float:
        """Mean loss over the sequences of all processes; one wait for the device at the end, not one per batch."""
        losses, counts = [], []
        # What is gathered in inference mode could not be trained on afterwards.
        with torch.no_grad() if self._config.shard else torch.inference_mode():
            for x, y, count in batches:
                with self._autocast():
                    _, loss = model(x, y)
                losses.append(loss)
                counts.append(count)
            values = torch.stack(losses).tolist()
        # Added up on the host: in Python's double precision, which not every device has.
        total = sum(value * count for value, count in zip(values, counts, strict=True)), sum(counts)
        if self._reduce is None:
            return total[0] / total[1]
        shared = torch.tensor(total, dtype=exact(self._device), device=self._device)
        self._reduce(shared)
        summed, count = shared.tolist()
        return float(summed / count)

    @torch.no_grad()
    def _classic(self, model: torch.nn.Module) -> Losses:
        """nanoGPT's estimate: fresh draws from the global generator, the training split first, float32 mean."""
        means = []
        for name, phase in (("train", phases.EVALUATION_TRAIN), ("val", phases.EVALUATION_VAL)):
            split, losses = self._splits[name], torch.zeros(self._config.eval_iters)
            for k in range(self._config.eval_iters):
                starts = torch.randint(len(split) - split.block_size, (self._config.batch_size,))
                x, y = split.windows(starts, self._device)
                with self._autocast():
                    _, loss = model(x, y)
                losses[k] = loss.item()
            means.append(losses.mean().item())
            self._accounts.lap(phase)
        return Losses(*means)
