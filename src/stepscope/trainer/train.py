"""The training loop.

It is nanoGPT's, iteration for iteration and line for line: evaluate (and save) every so often, accumulate gradients
over micro-batches, clip, step, print. What is different is in the comments. One process trains alone; under `torchrun`
each process has a share of the micro-batches and DDP averages the gradients.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from stepscope.trainer import accounts as phases
from stepscope.trainer.config import TrainConfig, TrainerError, learning_rate_at
from stepscope.trainer.device import (
    World,
    frozen_garbage,
    join_world,
    stop_signals,
)
from stepscope.trainer.evaluate import Losses
from stepscope.trainer.runlog import Say, Show, silent
from stepscope.trainer.setup import Parts, prepare
from stepscope.trainer.state import large_state, small_state
from stepscope.trainer.writer import Written

_COLLECT_EVERY = 1000  # steps without an evaluation after which garbage is collected all the same


class Outcome(NamedTuple):
    """How a run ended."""

    ledger: dict[str, Any]
    iteration: int
    stopped_by: int | None  # the signal that asked for it
    sample: str | None
    unsaved: Written | None  # the last checkpoint if it was not written: the weights at the end are lost
    last_saved: int  # the iteration of the newest checkpoint that is whole; 0 where there is none


def train(
    config: TrainConfig,
    *,
    say: Say = silent,
    show: Show = silent,
    header: Sequence[str] = (),
    started_ns: int | None = None,
    sample_tokens: int = 0,
) -> Outcome:
    """Train as the settings say.

    `say` gets messages for the user, `show` the progress. `header` are the first lines of the log. `started_ns` is when
    the program began, by `perf_counter_ns`. After training, `sample_tokens` tokens of text are generated.
    """
    started_ns = time.perf_counter_ns() if started_ns is None else started_ns
    world = join_world(config)
    try:
        parts = prepare(config, world, say=say, show=show, header=header, started_ns=started_ns)
        return Trainer(parts).run(sample_tokens)
    except TrainerError:
        raise
    except (RuntimeError, MemoryError) as problem:
        explained = _explain(problem, config, world)
        if explained is None:
            raise
        raise explained from problem
    finally:
        if world.size > 1:
            with contextlib.suppress(RuntimeError):  # the others may be gone
                dist.destroy_process_group()


def _explain(problem: Exception, config: TrainConfig, world: World) -> TrainerError | None:
    """What a person can do about an error of PyTorch; None: a defect, whose traceback is wanted."""
    text = str(problem)
    no_memory = ("out of memory", "can't allocate memory", "not enough memory")
    if isinstance(problem, MemoryError | torch.OutOfMemoryError) or any(words in text for words in no_memory):
        half = max(1, config.batch_size // 2)
        accumulation = config.gradient_accumulation_steps * (config.batch_size // half)
        return TrainerError("train-memory", place=config.device, batch_size=str(half), accumulation=str(accumulation))
    if world.size > 1:
        return TrainerError("train-rank-lost", place=f"rank {world.rank}", reason=text.partition("\n")[0])
    if "_inductor" in type(problem).__module__ or "_dynamo" in type(problem).__module__:
        return TrainerError("train-compile", reason=text.partition("\n")[0])
    return None


class Trainer:
    """The loop of one process. Its parts come from `setup.prepare`; what it changes is in `progress`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.config, self.world, self.network = parts.config, parts.world, parts.network
        self.batches, self.checkpointer = parts.batches, parts.checkpointer
        self.log, self.accounts, self.progress = parts.log, parts.log.accounts, parts.log.progress
        self.micro_steps = parts.config.gradient_accumulation_steps // parts.world.size
        self.device_phases = parts.device_phases
        self.lap = self.accounts.lap if self.device_phases is None else self.device_phases.lap

    # -- the loop ---------------------------------------------------------------------------------------------

    def run(self, sample_tokens: int) -> Outcome:
        """Train to the end, or until asked to stop."""
        try:
            with stop_signals(several=self.world.size > 1) as stop, frozen_garbage():
                self._loop(stop)
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
        x, y = self.parts.resumed_batch or self.batches.next()
        self.accounts.lap(phases.STARTUP)
        before = time.perf_counter()
        progress.first_iteration = last_collected = progress.iteration
        while True:
            self._set_learning_rates()
            is_plain = True
            if config.eval_only or (progress.iteration % config.eval_interval == 0 and not progress.evaluated):
                self._evaluate_and_save((x, y))
                is_plain, last_collected = False, progress.iteration
                self._collect_garbage()
            elif progress.iteration - last_collected >= _COLLECT_EVERY:
                last_collected = progress.iteration
                self._collect_garbage()
            progress.evaluated = False
            if config.eval_only:
                return
            was_writing = self.checkpointer is not None and self.checkpointer.is_writing

            if self.device_phases is not None:
                self.device_phases.begin()
            x, y, loss = self._step(x, y)

            now = time.perf_counter()
            seconds, before = now - before, now
            if is_plain and progress.local_iteration >= 2:
                self.log.checkpoint_costs.add_step(seconds, while_writing=was_writing)
            wants_stop = self._report(loss, seconds, bool(stop))
            progress.iteration += 1
            progress.local_iteration += 1
            if progress.iteration > config.max_iters:
                return
            if wants_stop:
                self._save()
                return

    def _set_learning_rates(self) -> None:
        """Both optimizers follow one schedule, each from its own height."""
        config = self.config
        for optimizer, highest in zip(self.network.optimizers, (config.learning_rate, config.muon_lr), strict=False):
            lr = learning_rate_at(config, self.progress.iteration)
            for group in optimizer.param_groups:
                group["lr"] = lr if highest == config.learning_rate else lr * highest / (config.learning_rate or 1.0)

    def _step(self, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """One iteration: forward and backward over the micro-batches, then the optimizers."""
        network, lap = self.network, self.lap
        step_loss: Any = 0.0
        loss: Any = None
        for micro in range(self.micro_steps):
            if self.world.size > 1:
                # Gradients travel once per iteration, with the last micro-batch.
                self._share_gradients(micro == self.micro_steps - 1)
            with network.autocast():
                _, loss = network.parallel(x, y)
                loss = loss / self.micro_steps
            lap(phases.FORWARD)
            # The device is busy now: a good moment to fetch the next batch.
            x, y = self.batches.next()
            lap(phases.DATA)
            network.scaler.scale(loss).backward()
            loss = loss.detach()
            step_loss = step_loss + loss
            lap(phases.BACKWARD)
        if self.checkpointer is not None:
            # From here on the weights change, so a copy of them that is still being made must be finished.
            self.checkpointer.settle()
            self.accounts.lap(phases.STAGING)
        if self.config.grad_clip:
            for optimizer in network.optimizers:
                network.scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(network.raw_model.parameters(), self.config.grad_clip)
        for optimizer in network.optimizers:
            network.scaler.step(optimizer)
        network.scaler.update()
        for optimizer in network.optimizers:
            optimizer.zero_grad(set_to_none=True)
        self.progress.loss_sum += step_loss
        self.progress.loss_count += 1
        lap(phases.OPTIMIZER)
        # nanoGPT prints the last micro-batch's loss, we the mean of all.
        return x, y, loss * self.micro_steps if self.config.eval == "nanogpt" else step_loss

    def _share_gradients(self, wanted: bool) -> None:
        if self.config.shard:
            self.network.raw_model.set_requires_gradient_sync(wanted)
        else:
            self.network.parallel.require_backward_grad_sync = wanted

    def _report(self, loss: Any, seconds: float, wants_stop: bool) -> bool:
        """Print and record the iteration; returns whether some process was asked to stop."""
        config, world, progress = self.config, self.world, self.progress
        is_printed = progress.iteration % config.log_interval == 0
        value: float | None = None
        if is_printed and world.size > 1:
            # The one moment at which the processes talk about anything but gradients.
            both = torch.stack([loss.double(), torch.tensor(float(wants_stop), device=loss.device)])
            dist.all_reduce(both)
            mean, asked = both.tolist()
            value = loss.item() if config.eval == "nanogpt" else mean / world.size
            wants_stop = asked > 0
        elif is_printed or world.device.type == "cpu":
            value = loss.item()
        if world.size > 1 and not is_printed:
            wants_stop = False  # all processes must stop at the same iteration
        if self.device_phases is not None and is_printed:
            self.device_phases.settle()
        if value is not None and not math.isfinite(value):
            raise self._not_a_number(value)
        if is_printed:
            if progress.local_iteration >= 5:  # let it settle first
                mfu = self.network.raw_model.utilisation(config.batch_size * self.micro_steps, seconds)
                progress.running_mfu = mfu if progress.running_mfu == -1.0 else 0.9 * progress.running_mfu + 0.1 * mfu
            mfu_pct = progress.running_mfu * 100
            self.log.print(
                f"iter {progress.iteration}: loss {value:.4f}, time {seconds * 1000:.2f}ms, mfu {mfu_pct:.2f}%"
            )
        if self.checkpointer is not None and self.checkpointer.is_writing:
            self.log.note_written(self.checkpointer.collect())
        self.log.show("step", seconds)
        self.accounts.lap(phases.LOGGING)
        self.accounts.step(progress.iteration, seconds, value)
        return wants_stop

    def _not_a_number(self, value: float) -> TrainerError:
        iteration, saved = self.progress.iteration, self.log.checkpoint_costs.last_whole
        place = f"iteration {iteration}"
        return TrainerError("train-nan", place=place, iteration=iteration, value=str(value), saved=saved)

    # -- evaluating and saving --------------------------------------------------------------------------------

    def _evaluate_and_save(self, first: tuple[Any, Any]) -> None:
        world, progress = self.world, self.progress
        running = progress.mean_loss()
        if self.device_phases is not None:
            self.device_phases.settle()  # work still queued on the device belongs to the steps before
        if running is not None and world.size > 1:
            shared = torch.tensor(running, device=world.device)
            dist.all_reduce(shared)
            running = shared.item() / world.size
        progress.forget_losses()
        self.log.show("evaluation")
        start = time.perf_counter_ns()
        losses = self._evaluate(running, first)
        took = time.perf_counter_ns() - start
        self.log.print(f"step {progress.iteration}: train loss {losses.train:.4f}, val loss {losses.val:.4f}")
        self.accounts.event("evaluation", progress.iteration, took, train_loss=losses.train, val_loss=losses.val)
        if not math.isfinite(losses.val):
            raise self._not_a_number(losses.val)
        self.accounts.lap(phases.LOGGING)
        self._save_if(losses.val)

    def _evaluate(self, running: float | None, first: tuple[Any, Any]) -> Losses:
        """As `--eval` says. nanoGPT's way is the first process's alone; the others hear what came out."""
        if self.config.eval != "nanogpt" or self.world.size == 1:
            return self.parts.evaluator(self.network.model, running, first)
        losses = Losses(0.0, 0.0)
        if self.world.rank == 0 or self.config.shard:
            losses = self.parts.evaluator(self.network.model, running, first)
        shared = torch.tensor(losses, dtype=torch.float64, device=self.world.device)
        dist.broadcast(shared, 0)
        return Losses(*shared.tolist())

    def _save_if(self, val_loss: float) -> None:
        progress = self.progress
        if val_loss < progress.best_val_loss or self.config.always_save_checkpoint:
            progress.best_val_loss = min(val_loss, progress.best_val_loss)
            if progress.iteration > 0:
                progress.evaluated = True
                self._save()

    def _save(self) -> None:
        """Start a checkpoint. nanoGPT's line comes first, so that a log says when."""
        network, iteration = self.network, self.progress.iteration
        # On every rank: each has random numbers of its own.
        small = small_state(
            self.config,
            self.world,
            self.progress,
            model=network.raw_model,
            batches=self.batches,
            scaler=network.scaler,
        )
        if self.checkpointer is None:
            return
        self.log.print(f"saving checkpoint to {self.config.out_dir}")
        self.accounts.lap(phases.LOGGING)
        self.log.note_written(self.checkpointer.collect(wait=True))
        waited = self.accounts.lap(phases.WAITING)
        self.log.show("checkpoint")
        self.accounts.flush()  # before the checkpoint can be whole: after a kill, the records reach as far as it does
        large = large_state(network.raw_model, network.optimizers, in_slices=self.config.shard)
        self.checkpointer.stage({**large, **small}, iteration)
        staged = self.accounts.lap(phases.STAGING)
        self.accounts.event("checkpoint", iteration, waited + staged, waiting_s=waited / 1e9)

    # -- small things -----------------------------------------------------------------------------------------

    def _collect_garbage(self) -> None:
        gc.collect()
        self.accounts.event("gc", self.progress.iteration, self.accounts.lap(phases.GC))

    def _sample(self, count: int) -> str | None:
        meta, model = self.parts.meta, self.network.raw_model
        if meta is None:
            return None
        self.log.show("sampling")
        model.eval()
        start = torch.tensor([meta.first_tokens()], device=self.world.device)
        tokens = model.generate(start, count, temperature=0.8, top_k=200)[0].tolist()
        self.accounts.lap(phases.SAMPLING)
        return meta.decode(tokens)
