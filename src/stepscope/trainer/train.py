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
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from stepscope.trainer import accounts as phases
from stepscope.trainer.checkpoint import Written
from stepscope.trainer.config import TrainConfig, TrainerError, learning_rate_at
from stepscope.trainer.device import (
    World,
    frozen_garbage,
    join_world,
    random_state,
    set_random_state,
    stop_signals,
)
from stepscope.trainer.evaluate import Losses
from stepscope.trainer.setup import Say, Show, Start, silent

_COLLECT_EVERY = 1000  # steps without an evaluation after which garbage is collected all the same


class Outcome(NamedTuple):
    """How a run ended."""

    ledger: dict[str, Any]
    iteration: int
    stopped_by: int | None  # the signal that asked for it
    sample: str | None


def train(
    config: TrainConfig,
    *,
    say: Say = silent,
    show: Show = silent,
    header: Sequence[str] = (),
    started_ns: int | None = None,
    sample_tokens: int = 0,
) -> Outcome:
    """Train as the settings say. `header` opens the log; `started_ns`: when it all began, by `perf_counter_ns`."""
    started_ns = time.perf_counter_ns() if started_ns is None else started_ns
    world = join_world(config)
    try:
        return Trainer(config, world, say=say, show=show, header=header, started_ns=started_ns).run(sample_tokens)
    except TrainerError:
        raise
    except (RuntimeError, MemoryError) as problem:
        told = _in_words(problem, config, world)
        if told is None:
            raise
        raise told from problem
    finally:
        if world.size > 1:
            with contextlib.suppress(RuntimeError):  # the others may be gone
                dist.destroy_process_group()


def _in_words(problem: Exception, config: TrainConfig, world: World) -> TrainerError | None:
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


class Trainer(Start):
    """One process of one run."""

    # -- the loop ---------------------------------------------------------------------------------------------

    def run(self, sample_tokens: int) -> Outcome:
        """Train to the end, or until asked to stop."""
        try:
            self.set_up()
            with stop_signals(several=self.world.size > 1) as stop, frozen_garbage():
                self._loop(stop)
            # A model in slices computes only where all processes do.
            takes_part = self.world.rank == 0 or self.config.shard
            sample = self._sample(sample_tokens) if sample_tokens and takes_part else None
        finally:
            # Also after an error: a save that is under way is the last good one.
            if self.checkpointer is not None:
                self.show("waiting")
                self._note_save(self.checkpointer.close())
                self.accounts.lap(phases.WAITING)
            self.accounts.facts["iterations"] = self.iteration - self.first_iteration
            self.accounts.facts["checkpoint"] = self._save_facts()
            ledger = self.accounts.close()
            if self.log is not None:
                with contextlib.suppress(OSError):
                    self.log.close()
        return Outcome(ledger, self.iteration, stop[0] if stop else None, sample)

    def _loop(self, stop: list[int]) -> None:
        config = self.config
        restored = self._restore()
        x, y = restored or self.batches.next()
        self.accounts.lap(phases.STARTUP)
        before = time.perf_counter()
        self.first_iteration = last_collected = self.iteration
        while True:
            for optimizer, highest in zip(self.optimizers, (config.learning_rate, config.muon_lr), strict=False):
                lr = learning_rate_at(config, self.iteration)
                for group in optimizer.param_groups:
                    # Both optimizers follow one schedule, each from its own height.
                    group["lr"] = (
                        lr if highest == config.learning_rate else lr * highest / (config.learning_rate or 1.0)
                    )
            is_plain = True
            if config.eval_only or (self.iteration % config.eval_interval == 0 and not self.evaluated):
                self._evaluate_and_save((x, y))
                is_plain, last_collected = False, self.iteration
                self._collect_garbage()
            elif self.iteration - last_collected >= _COLLECT_EVERY:
                last_collected = self.iteration
                self._collect_garbage()
            self.evaluated = False
            if config.eval_only:
                return
            was_writing = self.checkpointer is not None and self.checkpointer.is_writing

            if self.device_phases is not None:
                self.device_phases.begin()
            x, y, loss = self._step(x, y)

            now = time.perf_counter()
            seconds, before = now - before, now
            if is_plain and self.local_iteration >= 2:
                count, total = self.step_sums[was_writing]
                self.step_sums[was_writing] = count + 1, total + seconds
            wants_stop = self._report(loss, seconds, bool(stop))
            self.iteration += 1
            self.local_iteration += 1
            if self.iteration > config.max_iters:
                return
            if wants_stop:
                self._save()
                return

    def _step(self, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """One iteration: forward and backward over the micro-batches, then the optimizers."""
        lap = self.lap
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
        if self.config.grad_clip:
            for optimizer in self.optimizers:
                self.scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(self.raw_model.parameters(), self.config.grad_clip)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        self.loss_sum += step_loss
        self.loss_count += 1
        lap(phases.OPTIMIZER)
        # nanoGPT prints the last micro-batch's loss, we the mean of all.
        return x, y, loss * self.micro_steps if self.config.eval == "nanogpt" else step_loss

    def _share_gradients(self, wanted: bool) -> None:
        if self.config.shard:
            self.raw_model.set_requires_gradient_sync(wanted)
        else:
            self.parallel.require_backward_grad_sync = wanted

    def _report(self, loss: Any, seconds: float, wants_stop: bool) -> bool:
        """Print and record the iteration; returns whether some process was asked to stop."""
        config, world = self.config, self.world
        is_printed = self.iteration % config.log_interval == 0
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
            wants_stop = False  # all must stop at the same iteration
        if self.device_phases is not None and is_printed:
            self.device_phases.settle()
        if value is not None and not math.isfinite(value):
            raise self._not_a_number(value)
        if is_printed:
            if self.local_iteration >= 5:  # let it settle first
                mfu = self.raw_model.utilisation(config.batch_size * self.micro_steps, seconds)
                self.running_mfu = mfu if self.running_mfu == -1.0 else 0.9 * self.running_mfu + 0.1 * mfu
            mfu_pct = self.running_mfu * 100
            self._print(f"iter {self.iteration}: loss {value:.4f}, time {seconds * 1000:.2f}ms, mfu {mfu_pct:.2f}%")
        if self.checkpointer is not None and self.checkpointer.is_writing:
            self._note_save(self.checkpointer.collect())
        self.show("step", seconds)
        self.accounts.lap(phases.LOGGING)
        self.accounts.step(self.iteration, seconds, value)
        return wants_stop

    def _not_a_number(self, value: float) -> TrainerError:
        saved = max((done.iteration for done in self.saves if done.problem is None), default=0)
        return TrainerError(
            "train-nan", place=f"iteration {self.iteration}", iteration=self.iteration, value=str(value), saved=saved
        )

    # -- evaluating and saving --------------------------------------------------------------------------------

    def _evaluate_and_save(self, first: tuple[Any, Any]) -> None:
        world = self.world
        running = (self.loss_sum / self.loss_count).item() if self.loss_count else None
        if self.device_phases is not None:
            self.device_phases.settle()  # what the device still had to do belongs to the steps before
        if running is not None and world.size > 1:
            shared = torch.tensor(running, device=world.device)
            dist.all_reduce(shared)
            running = shared.item() / world.size
        self.loss_sum, self.loss_count = torch.zeros_like(self.loss_sum), 0
        self.show("evaluation")
        start = time.perf_counter_ns()
        losses = self._evaluate(running, first)
        took = time.perf_counter_ns() - start
        self._print(f"step {self.iteration}: train loss {losses.train:.4f}, val loss {losses.val:.4f}")
        self.accounts.event("evaluation", self.iteration, took, train_loss=losses.train, val_loss=losses.val)
        if not math.isfinite(losses.val):
            raise self._not_a_number(losses.val)
        self.accounts.lap(phases.LOGGING)
        self._save_if(losses.val)

    def _evaluate(self, running: float | None, first: tuple[Any, Any]) -> Losses:
        """As `--eval` says. nanoGPT's way is the first process's alone; the others hear what came out."""
        if self.config.eval != "nanogpt" or self.world.size == 1:
            return self.evaluator(self.model, running, first)
        losses = Losses(0.0, 0.0)
        if self.world.rank == 0 or self.config.shard:
            losses = self.evaluator(self.model, running, first)
        told = torch.tensor(losses, dtype=torch.float64, device=self.world.device)
        dist.broadcast(told, 0)
        return Losses(*told.tolist())

    def _save_if(self, val_loss: float) -> None:
        if val_loss < self.best_val_loss or self.config.always_save_checkpoint:
            self.best_val_loss = min(val_loss, self.best_val_loss)
            if self.iteration > 0:
                self.evaluated = True
                self._save()

    def _save(self) -> None:
        """Start a save. nanoGPT's line comes first, so that a log says when."""
        state = self._small_state()  # on every rank: each has random numbers of its own
        if self.checkpointer is None:
            return
        self._print(f"saving checkpoint to {self.config.out_dir}")
        self.accounts.lap(phases.LOGGING)
        self._note_save(self.checkpointer.collect(wait=True))
        waited = self.accounts.lap(phases.WAITING)
        self.show("checkpoint")
        self.accounts.flush()  # before the checkpoint can be whole: after a kill, the records reach as far as it does
        self.checkpointer.stage({**self._large_state(), **state}, self.iteration)
        staged = self.accounts.lap(phases.STAGING)
        self.accounts.event("checkpoint", self.iteration, waited + staged, waiting_s=waited / 1e9)

    def _small_state(self) -> dict[str, Any]:
        """Everything else that the next iteration depends on."""
        # Of every process: each has random numbers of its own and, in nanoGPT's order, batches of its own.
        own = (random_state(self.world.device), self.batches.state())
        ranks: list[Any] = [own]
        if self.world.size > 1:
            ranks = [None] * self.world.size
            dist.all_gather_object(ranks, own)
        return {
            "model_args": self.args.saved(),
            "iter_num": self.iteration,
            "best_val_loss": self.best_val_loss,
            "config": asdict(self.config),
            "rng": [rng for rng, _ in ranks],
            "data": [data for _, data in ranks],
            "scaler": self.scaler.state_dict(),
            "progress": {
                "evaluated": self.evaluated,
                "loss_sum": self.loss_sum.item(),
                "loss_count": self.loss_count,
                "running_mfu": self.running_mfu,
                "local_iteration": self.local_iteration,
            },
        }

    def _restore(self) -> tuple[Any, Any] | None:
        """Put everything back as it was; gives the batch that comes next. nanoGPT's checkpoints have none of this."""
        saved, self.saved = self.saved, None
        if saved is None or "progress" not in saved:
            return None
        progress = saved["progress"]
        self.evaluated = progress["evaluated"]
        self.loss_sum.fill_(progress["loss_sum"])
        self.loss_count = progress["loss_count"]
        self.running_mfu, self.local_iteration = progress["running_mfu"], progress["local_iteration"]
        self.scaler.load_state_dict(saved["scaler"])
        # nanoGPT's order is a different one in each process, so it can only be taken up by as many as before.
        data, is_same_world = saved["data"], len(saved["rng"]) == self.world.size
        own = data[self.world.rank] if is_same_world else data[0] if self.config.eval != "nanogpt" else None
        batch = None if own is None else self.batches.restore(own)
        if batch is None:
            self.say("train-other-batches")
        elif is_same_world:
            set_random_state(saved["rng"][self.world.rank], self.world.device)
        return batch

    def _note_save(self, done: Written | None) -> None:
        if done is None:
            return
        self.saves.append(done)
        took = int(done.seconds * 1e9)
        facts = {"bytes": done.num_bytes, "problem": done.problem}
        self.accounts.event("checkpoint_written", done.iteration, took, **facts)
        if done.problem is not None:
            self.say("train-save-failed", iteration=done.iteration, reason=done.problem)

    def _save_facts(self) -> dict[str, Any]:
        """What saving cost, and what it would have cost to wait for the disk."""
        whole = [done for done in self.saves if done.problem is None]
        (num_idle, idle_s), (num_writing, writing_s) = (self.step_sums[key] for key in (False, True))
        slower = (writing_s / num_writing) / (idle_s / num_idle) if num_idle and num_writing else None
        return {
            "saves": len(whole),
            "failed": len(self.saves) - len(whole),
            "bytes": whole[-1].num_bytes if whole else None,
            "written_in_s": sum(done.seconds for done in whole),
            "stalled_s": self.accounts.seconds(phases.STAGING, phases.WAITING),
            "step_while_writing_ratio": slower,
        }

    # -- small things -----------------------------------------------------------------------------------------

    def _collect_garbage(self) -> None:
        gc.collect()
        self.accounts.event("gc", self.iteration, self.accounts.lap(phases.GC))

    def _sample(self, count: int) -> str | None:
        if self.meta is None:
            return None
        self.show("sampling")
        self.raw_model.eval()
        start = torch.tensor([self.meta.encode("\n")], device=self.world.device)
        tokens = self.raw_model.generate(start, count, temperature=0.8, top_k=200)[0].tolist()
        self.accounts.lap(phases.SAMPLING)
        return self.meta.decode(tokens)
