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
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from stepscope.trainer import accounts as phases
from stepscope.trainer.config import (
    TrainConfig,
    TrainerError,
    learning_rate_at,
    muon_momentum_at,
    muon_rate_at,
)
from stepscope.trainer.data import Meta
from stepscope.trainer.device import (
    World,
    exact,
    frozen_garbage,
    join_world,
    stop_signals,
    synchronize,
)
from stepscope.trainer.evaluate import Losses
from stepscope.trainer.model import GPT
from stepscope.trainer.runlog import Say, Show, silent
from stepscope.trainer.setup import Parts, prepare
from stepscope.trainer.state import large_state, small_state
from stepscope.trainer.writer import Written

_BEFORE_TOKENS = 80  # of the text of an untrained network: it gets no better
_COLLECT_EVERY = 1000  # steps without an evaluation after which garbage is collected all the same


class Sample(NamedTuple):
    """Text of the network as it began, and as it is."""

    before: str
    after: str


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
    try:
        parts = prepare(config, world, say=say, show=show, header=header, notes=notes, started_ns=started_ns)
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
        self._must_wait = self.device_phases is None and parts.world.device.type != "cpu"
        self._saved_iteration, self._saved_at = 0, time.monotonic()
        self._wants_save = False  # before the next step, because `--save_minutes` have passed
        self._grad_norm: Any = None  # of the last step, before it was clipped; stays on the device

    # -- the loop ---------------------------------------------------------------------------------------------

    def run(self, sample_tokens: int) -> Outcome:
        """Train to the end, or until asked to stop."""
        try:
            with stop_signals(several=self.world.size > 1) as stop, frozen_garbage():
                try:
                    self._loop(stop)
                finally:
                    with contextlib.suppress(RuntimeError):  # of a device that is no more
                        self._catch_up()
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
        x, y = self.parts.resumed_batch or self.batches.next()
        self.accounts.lap(phases.STARTUP)
        self.accounts.ready(progress.iteration)
        if self.device_phases is not None:
            self.device_phases.start()
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

            if self.device_phases is not None:
                self.device_phases.begin()
            x, y, loss = self._step(x, y)

            now = time.perf_counter()
            seconds, before = now - before, now
            add_step = None
            if is_plain and progress.local_iteration >= 2:
                add_step = partial(self.log.checkpoint_costs.add_step, while_writing=was_writing)
            wants_stop = self._report(loss, seconds, bool(stop), add_step)
            progress.iteration += 1
            progress.local_iteration += 1
            if wants_stop:
                break
        # The last evaluation of a run that ends with one has saved all but a single step.
        if self._saved_iteration < min(progress.iteration, config.max_iters):
            self._save()

    def _is_save_iteration(self) -> bool:
        """Whether a checkpoint is due by `--save_interval`, and none of this iteration is there yet."""
        iteration, interval = self.progress.iteration, self.config.save_interval
        return bool(interval) and iteration % interval == 0 and iteration > self._saved_iteration

    def _is_save_late(self) -> bool:
        """Whether this process finds that the last checkpoint is `--save_minutes` old."""
        minutes = self.config.save_minutes
        return minutes > 0 and time.monotonic() - self._saved_at >= 60 * minutes

    def _set_learning_rates(self) -> None:
        """Both optimizers follow one schedule, each from its own height; so does Muon's momentum."""
        config, iteration = self.config, self.progress.iteration
        for optimizer, rate_at in zip(self.network.optimizers, (learning_rate_at, muon_rate_at), strict=False):
            rate = rate_at(config, iteration)
            for group in optimizer.param_groups:
                group["lr"] = rate
                if rate_at is muon_rate_at:
                    group["momentum"] = muon_momentum_at(iteration)

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
            if self.device_phases is not None:
                self.device_phases.skip()
        if self.config.grad_clip:
            for optimizer in network.optimizers:
                network.scaler.unscale_(optimizer)
            self._grad_norm = torch.nn.utils.clip_grad_norm_(network.raw_model.parameters(), self.config.grad_clip)
        for optimizer in network.optimizers:
            network.scaler.step(optimizer)
        network.scaler.update()
        for optimizer in network.optimizers:
            optimizer.zero_grad(set_to_none=True)
        self.progress.loss_sum += step_loss
        self.progress.loss_count += 1
        lap(phases.OPTIMIZER)
        if self._must_wait:
            # A device without timed events: a step's seconds are its own only if the next one waits for it.
            synchronize(self.world.device)
            self.accounts.lap(phases.DEVICE)
        # nanoGPT prints the last micro-batch's loss, we the mean of all.
        return x, y, loss * self.micro_steps if self.config.eval == "nanogpt" else step_loss

    def _share_gradients(self, wanted: bool) -> None:
        if self.config.shard:
            self.network.raw_model.set_requires_gradient_sync(wanted)
        else:
            self.network.parallel.require_backward_grad_sync = wanted

    def _report(self, loss: Any, seconds: float, wants_stop: bool, add_step: Callable[[float], object] | None) -> bool:
        """Print and record the iteration; returns whether some process was asked to stop.

        `add_step` gets the seconds of the step, where they are to be compared with others.
        """
        config, world, progress = self.config, self.world, self.progress
        is_printed = progress.iteration % config.log_interval == 0
        value: float | None = None
        self._wants_save = self._is_save_late()
        if is_printed and world.size > 1:
            # The one moment at which the processes talk about anything but gradients.
            asks = torch.tensor([float(wants_stop), float(self._wants_save)], device=loss.device)
            shared = torch.cat([loss.reshape(1), asks]).to(exact(world.device))
            dist.all_reduce(shared)
            mean, asked, late = shared.tolist()
            value = loss.item() if config.eval == "nanogpt" else mean / world.size
            wants_stop, self._wants_save = asked > 0, late > 0
        elif is_printed or world.device.type == "cpu":
            value = loss.item()
        if world.size > 1 and not is_printed:
            wants_stop = self._wants_save = False  # all processes must do so at the same iteration
        if self.device_phases is not None and is_printed:
            seconds = self.device_phases.settle()
        if value is not None and not math.isfinite(value):
            raise self._not_a_number(value)
        figures = self._figures(seconds, is_known=value is not None, is_printed=is_printed)
        if is_printed:
            self._print_step(value, seconds, figures)
        if self.checkpointer is not None and self.checkpointer.is_writing:
            self.log.note_written(self.checkpointer.collect())
        self.log.show("step", seconds)
        self.accounts.lap(phases.LOGGING)
        if self.device_phases is not None:
            self.device_phases.step(progress.iteration, value, figures, add_step)
            return wants_stop
        self.accounts.step(progress.iteration, seconds, value, figures)
        if add_step is not None:
            add_step(seconds)
        return wants_stop

    def _figures(self, seconds: float, *, is_known: bool, is_printed: bool) -> dict[str, float | None]:
        """Learning rate, gradient norm and mfu of the step; the norm only where reading it waits for nothing."""
        progress = self.progress
        # A share of an A100's peak says nothing on other devices than GPUs.
        if is_printed and progress.local_iteration >= 5 and self.world.device.type == "cuda":  # let it settle first
            mfu = self.network.raw_model.utilisation(self.config.batch_size * self.micro_steps, seconds)
            progress.running_mfu = mfu if progress.running_mfu == -1.0 else 0.9 * progress.running_mfu + 0.1 * mfu
        norm = self._grad_norm
        if norm is not None and hasattr(norm, "full_tensor"):
            norm = norm.full_tensor() if is_printed else None  # all processes ask for it together
        return {
            "lr": self.network.optimizers[0].param_groups[0]["lr"],
            "grad_norm": norm.item() if is_known and norm is not None else None,
            "mfu": progress.running_mfu if progress.running_mfu >= 0 else None,
        }

    def _print_step(self, loss: float | None, seconds: float, figures: dict[str, float | None]) -> None:
        line = f"iter {self.progress.iteration}: loss {loss:.4f}, time {seconds * 1000:.2f}ms"
        if self.world.device.type == "cuda":
            line += f", mfu {self.progress.running_mfu * 100:.2f}%"
        self.log.print(line)
        self.log.track(loss=loss, step_ms=1000 * seconds, lr=figures["lr"], grad_norm=figures["grad_norm"])

    def _not_a_number(self, value: float) -> TrainerError:
        iteration, saved = self.progress.iteration, self.log.checkpoint_costs.last_whole
        place = f"iteration {iteration}"
        return TrainerError("train-nan", place=place, iteration=iteration, value=str(value), saved=saved)

    # -- evaluating and saving --------------------------------------------------------------------------------

    def _evaluate_and_save(self, first: tuple[Any, Any]) -> None:
        world, progress = self.world, self.progress
        running = progress.mean_loss()
        self._catch_up()
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
        mfu = 100 * progress.running_mfu if progress.running_mfu >= 0 else None
        lr = self.network.optimizers[0].param_groups[0]["lr"] if self.network.optimizers else None
        self.log.track(train__loss=losses.train, val__loss=losses.val, lr=lr, mfu=mfu)
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
        shared = torch.tensor(losses, dtype=exact(self.world.device), device=self.world.device)
        dist.broadcast(shared, 0)
        return Losses(*shared.tolist())

    def _save_if(self, val_loss: float) -> None:
        """Save after an evaluation: the best so far always, others as nanoGPT does unless saving has its own times."""
        config, progress = self.config, self.progress
        is_best = val_loss < progress.best_val_loss
        progress.best_val_loss = min(val_loss, progress.best_val_loss)
        progress.evaluated = True
        has_own_times = config.save_interval or config.save_minutes
        if progress.iteration > 0 and (is_best or (config.always_save_checkpoint and not has_own_times)):
            self._save(is_best=is_best)

    def _save(self, *, is_best: bool = False) -> None:
        """Start a checkpoint. nanoGPT's line comes first, so that a log says when."""
        self._catch_up()
        network, iteration = self.network, self.progress.iteration
        self._saved_iteration, self._saved_at, self._wants_save = iteration, time.monotonic(), False
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
        self.checkpointer.stage({**large, **small}, iteration, is_best=is_best)
        staged = self.accounts.lap(phases.STAGING)
        self.accounts.event("checkpoint", iteration, waited + staged, waiting_s=waited / 1e9, is_best=is_best)

    # -- small things -----------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Wait for a device's clock: work that is still queued belongs to the steps before this moment."""
        if self.device_phases is not None:
            self.device_phases.settle()

    def _collect_garbage(self) -> None:
        self._catch_up()
        gc.collect()
        self.accounts.event("gc", self.progress.iteration, self.accounts.lap(phases.GC))

    def _sample(self, count: int) -> Sample | None:
        meta, model = self.parts.meta, self.network.raw_model
        if meta is None or model.args.vocab_size < len(meta.itos):
            return None
        self.log.show("sampling")
        before = ""
        if not self.config.shard:
            torch.manual_seed(self.config.seed)
            before = self._text(GPT(model.args).to(self.world.device), meta, _BEFORE_TOKENS)
        sample = Sample(before, self._text(model, meta, count))
        self.accounts.lap(phases.SAMPLING)
        return sample

    def _text(self, model: GPT, meta: Meta, count: int) -> str:
        model.eval()
        start = torch.tensor([meta.first_tokens()], device=self.world.device)
        return meta.decode(model.generate(start, count, temperature=0.8, top_k=200)[0].tolist())
