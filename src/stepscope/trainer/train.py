"""The training loop.

It is nanoGPT's, iteration for iteration and line for line: evaluate (and save) every so often, accumulate gradients
over micro-batches, clip, step, print. What is different is in the comments. One process trains alone; under `torchrun`
each process has a share of the micro-batches and DDP averages the gradients.

`Trainer` begins with a state (`state.py`) and makes ready what a step must not pay for: graphs are compiled, memory is
touched, the writer of checkpoints is started. Then it runs the loop. `Evaluator`, at the end, asks how good the network
is.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from stepscope.trainer import accounts as phases
from stepscope.trainer.accounts import Accounts
from stepscope.trainer.config import TrainConfig, learning_rate_at, muon_momentum_at, muon_rate_at
from stepscope.trainer.data import Split, Windows
from stepscope.trainer.extras.clock import make_phases
from stepscope.trainer.extras.device import Autocast, World, join_world, make_autocast, without_gradients
from stepscope.trainer.extras.memory import compiled, evaluation_batch
from stepscope.trainer.extras.process import frozen_garbage, stop_signals
from stepscope.trainer.extras.run_log import RunLog, Say, Show, silent
from stepscope.trainer.extras.spread import shared_model, whole
from stepscope.trainer.extras.text import Sample, sample_of
from stepscope.trainer.extras.writer import Written
from stepscope.trainer.state import begin, make_checkpointer

_COLLECT_EVERY = 1000  # steps without an evaluation after which garbage is collected all the same


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
        self.state, splits, self.meta, self._resumed_batch = begin(config, world, log)
        self.config, _, self.raw_model, self.optimizers, self.batches, self.scaler, self.progress = self.state
        config, args = self.config, self.raw_model.args
        self.autocast = make_autocast(config, world.device)
        self.evaluator = Evaluator(config, splits, world, autocast=self.autocast, accounts=log.accounts)
        if config.eval == "fixed":
            # Far fewer than nanoGPT's: a reader of the log needs them to know what an evaluation should take.
            log.print("Overriding: eval = fixed")
            log.print(f"Overriding: eval_passes = {self.evaluator.passes:g}")
            self.evaluator.batch_size = evaluation_batch(self.raw_model, config, world, self.autocast)
        self.accounts.lap(phases.STARTUP)
        # The network in three forms: as it was built, compiled (evaluates), and shared by all processes (trains).
        self.model = self._compile() if config.compile else self.raw_model
        self.parallel, self._send_gradients = shared_model(self.raw_model, self.model, in_slices=config.shard)
        self.micro_steps = config.gradient_accumulation_steps // world.size
        self.clock = make_phases(world, log.accounts)
        self._collected = self._saved_iteration = self.progress.first_iteration = self.progress.iteration
        self._saved_at = time.monotonic()
        self._wants_save = False  # before the next step, because `--save_minutes` have passed
        self._grad_norm: Any = None  # of the last step, before it was clipped; stays on the device
        self.checkpointer = make_checkpointer(self.state, log)
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

    def _compile(self) -> Any:
        self.log.show("compile")
        self.log.print("compiling the model... (takes a ~minute)")
        evaluated = self.evaluator.batch_size
        model = compiled(self.raw_model, self.config, self.world.device, self.autocast, evaluated)
        self.accounts.event("compile", self.progress.iteration, self.accounts.lap(phases.COMPILE))
        return model

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
        # nanoGPT takes one more step each time that a run which is over is resumed.
        while config.eval_only or progress.iteration <= config.max_iters:
            self._set_rates()
            is_plain = not self._between_steps((x, y))
            if config.eval_only:
                return
            is_plain = is_plain and progress.local_iteration >= 2
            was_writing = self.checkpointer is not None and self.checkpointer.is_writing

            self.clock.begin()
            x, y, loss = self._step(x, y)

            # A step's time is nanoGPT's: from the end of one step to the end of the next.
            now = time.perf_counter()
            seconds, before = now - before, now
            # Steps with nothing before them are compared: with and without a checkpoint under way.
            add_step = partial(self.log.checkpoint_costs.add_step, while_writing=was_writing) if is_plain else None
            wants_stop = self._report(loss, seconds, bool(stop), add_step)
            progress.iteration += 1
            progress.local_iteration += 1
            self.log.iteration = progress.iteration
            if wants_stop:
                break
        # The last evaluation of a run that ends with one has saved all but a single step.
        if self._saved_iteration < min(progress.iteration, config.max_iters):
            self._save()

    def _between_steps(self, first: tuple[Any, Any]) -> bool:
        """What is due before a step: an evaluation, a checkpoint, a collection. Whether there was one of the first two.

        `first` is the batch that the step begins with.
        """
        config, progress = self.config, self.progress
        is_evaluated = config.eval_only or (progress.iteration % config.eval_interval == 0 and not progress.evaluated)
        if is_evaluated:
            self._evaluate_and_save(first)
        if is_evaluated or progress.iteration - self._collected >= _COLLECT_EVERY:
            self._collect_garbage()
        # By `--save_minutes` or `--save_interval`, unless this iteration has its checkpoint.
        interval = config.save_interval
        is_its_turn = interval > 0 and progress.iteration % interval == 0
        is_saved = self._wants_save or (is_its_turn and progress.iteration > self._saved_iteration)
        if is_saved and not config.eval_only:
            self._save()
        progress.evaluated = False
        return is_evaluated or is_saved

    def _set_rates(self) -> None:
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
            # Gradients travel once per iteration, with the last micro-batch.
            self._send_gradients(micro == self.micro_steps - 1)
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

    # -- printing -------------------------------------------------------------------------------------------------

    def _report(self, loss: Any, seconds: float, wants_stop: bool, add_step: Callable[[float], object] | None) -> bool:
        """Print and record the iteration; returns whether some process was asked to stop.

        `add_step` gets the seconds of the step as soon as they are known, where it is not None.
        """
        config, world, progress = self.config, self.world, self.progress
        is_printed = progress.iteration % config.log_interval == 0
        # Reading the loss waits for a device: only where its line is printed.
        value = loss.item() if is_printed or world.device.type == "cpu" else None
        self._wants_save = 0 < 60 * config.save_minutes <= time.monotonic() - self._saved_at
        if world.size > 1 and is_printed:
            # The one moment at which the processes talk about anything but gradients.
            total, num_stops, num_saves = world.sums(loss.item(), float(wants_stop), float(self._wants_save))
            value = value if config.eval == "nanogpt" else total / world.size
            wants_stop, self._wants_save = num_stops > 0, num_saves > 0
        elif world.size > 1:
            wants_stop = self._wants_save = False  # all processes must do so at the same iteration
        if is_printed:
            told = self.clock.settle()
            seconds = seconds if told is None else told
            self._note_mfu(seconds)
        self.log.stop_if_nan(value)
        norm = self._grad_norm
        if value is None or norm is None or (config.shard and not is_printed):  # gathered by all processes together
            norm = None
        figures = {**self._figures(), "grad_norm": None if norm is None else whole(norm).item()}
        if is_printed:
            shown_mfu = progress.running_mfu if world.device.type == "cuda" else None
            self.log.print_step(value, seconds, figures, shown_mfu)
        if self.checkpointer is not None and self.checkpointer.is_writing:
            self.log.note_written(self.checkpointer.collect())
        self.log.show("step", seconds)
        self.accounts.lap(phases.LOGGING)
        self.clock.step(progress.iteration, value, figures, add_step, seconds=seconds)
        return wants_stop

    def _note_mfu(self, seconds: float) -> None:
        """A share of an A100's peak says nothing on other devices than GPUs."""
        progress = self.progress
        if progress.local_iteration >= 5 and self.world.device.type == "cuda":  # let it settle first
            mfu = self.raw_model.utilisation(self.config.batch_size * self.micro_steps, seconds)
            progress.running_mfu = mfu if progress.running_mfu == -1.0 else 0.9 * progress.running_mfu + 0.1 * mfu

    def _figures(self) -> dict[str, float | None]:
        """Learning rate and mfu of the step."""
        mfu = self.progress.running_mfu
        lr = self.optimizers[0].param_groups[0]["lr"] if self.optimizers else None
        return {"lr": lr, "mfu": mfu if mfu >= 0 else None}

    # -- evaluating and saving ------------------------------------------------------------------------------------

    def _evaluate_and_save(self, first: tuple[Any, Any]) -> None:
        """An evaluation; the best so far is always saved, others as nanoGPT does unless saving has its own times."""
        config, progress = self.config, self.progress
        running = progress.take_mean_loss()
        self.clock.settle()  # work that is still queued belongs to the steps before this moment
        if running is not None:
            running = self.world.sums(running)[0] / self.world.size
        self.log.show("evaluation")
        start = time.perf_counter_ns()
        losses = self.evaluator(self.model, running, first)
        took = time.perf_counter_ns() - start
        self.log.print_evaluation(losses.train, losses.val, took, self._figures())
        self.log.stop_if_nan(losses.val)
        self.accounts.lap(phases.LOGGING)
        is_best = losses.val < progress.best_val_loss
        progress.best_val_loss = min(losses.val, progress.best_val_loss)
        progress.evaluated = True
        has_own_times = config.save_interval or config.save_minutes
        if progress.iteration > 0 and (is_best or (config.always_save_checkpoint and not has_own_times)):
            self._save(is_best=is_best)

    def _save(self, *, is_best: bool = False) -> None:
        """Start a checkpoint. nanoGPT's line comes first, so that a log says when."""
        self.clock.settle()
        iteration = self.progress.iteration
        self._saved_iteration, self._saved_at, self._wants_save = iteration, time.monotonic(), False
        small = self.state.small()  # on every rank: each has random numbers of its own
        if self.checkpointer is None:
            return
        self.log.print(f"saving checkpoint to {self.config.out_dir}")
        self.accounts.lap(phases.LOGGING)
        if self.checkpointer.is_writing:
            self.log.show("waiting")
        self.log.note_written(self.checkpointer.collect(wait=True))
        waited = self.accounts.lap(phases.WAITING)
        self.log.show("checkpoint")
        self.accounts.flush()  # before the checkpoint can be whole: after a kill, the records reach as far as it does
        self.checkpointer.stage({**self.state.large(), **small}, iteration, is_best=is_best)
        staged = self.accounts.lap(phases.STAGING)
        self.accounts.event("checkpoint", iteration, waited + staged, waiting_s=waited / 1e9, is_best=is_best)

    # -- small things ---------------------------------------------------------------------------------------------

    def _collect_garbage(self) -> None:
        self.clock.settle()
        gc.collect()
        self._collected = self.progress.iteration
        self.accounts.event("gc", self.progress.iteration, self.accounts.lap(phases.GC))

    def _sample(self, count: int) -> Sample | None:
        self.log.show("sampling")
        sample = sample_of(self.raw_model, self.meta, count, seed=self.config.seed, with_before=not self.config.shard)
        self.accounts.lap(phases.SAMPLING)
        return sample


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
    """

    def __init__(
        self, config: TrainConfig, splits: dict[str, Split], world: World, *, autocast: Autocast, accounts: Accounts
    ) -> None:
        self._config, self._splits, self._world = config, splits, world
        self._has_train_split = config.eval_train or config.eval_only
        self._autocast, self._accounts = autocast, accounts
        self.batch_size = config.batch_size  # raised where more fit: see `fitting_batch`
        self._windows = {name: Windows(split, config, world) for name, split in splits.items()}

    @property
    def passes(self) -> float:
        """Training batches' worth of forward passes that one evaluation is on this process, with `--eval=fixed`."""
        splits = ("train", "val") if self._has_train_split else ("val",)
        return sum(len(self._windows[name]) for name in splits) / self._config.batch_size / self._world.size

    def __call__(self, model: torch.nn.Module, running_loss: float | None, first: tuple[Any, Any]) -> Losses:
        """Losses now. `running_loss`: the mean since the last evaluation, None before the first step."""
        model.eval()
        try:
            if self._config.eval == "nanogpt":
                return self._classic(model)
            if self._has_train_split:
                train = self._mean(model, self._windows["train"].batches(self.batch_size))
            elif running_loss is not None:
                train = running_loss
            else:  # before the first step: the batch it will begin with, the same one however many processes there are
                train = self._mean(model, [(*first, len(first[0]) if self._world.rank == 0 else 0)])
            self._accounts.lap(phases.EVALUATION_TRAIN)
            val = self._mean(model, self._windows["val"].batches(self.batch_size))
            self._accounts.lap(phases.EVALUATION_VAL)
            return Losses(train, val)
        finally:
            model.train()

    def _mean(self, model: torch.nn.Module, batches: Iterable[tuple[Any, Any, int]]) -> float:
        """Mean loss over the sequences of all processes; one wait for the device at the end, not one per batch."""
        losses, counts = [], []
        with without_gradients(self._config):
            for x, y, count in batches:
                with self._autocast():
                    _, loss = model(x, y)
                losses.append(loss)
                counts.append(count)
            values = torch.stack(losses).tolist()
        # Added up on the host: in Python's double precision, which not every device has.
        total = sum(value * count for value, count in zip(values, counts, strict=True))
        summed, num_sequences = self._world.sums(total, sum(counts))
        return summed / num_sequences

    def _classic(self, model: torch.nn.Module) -> Losses:
        """nanoGPT's estimate: the first process alone makes it, and the others hear what came out."""
        losses = Losses(0.0, 0.0)
        if self._world.rank == 0 or self._config.shard:
            losses = self._drawn(model)
        return Losses(*self._world.sums(*(losses if self._world.rank == 0 else (0.0, 0.0))))

    @torch.no_grad()
    def _drawn(self, model: torch.nn.Module) -> Losses:
        """Fresh draws from the global generator, the training split first, float32 mean."""
        means = []
        for name, phase in (("train", phases.EVALUATION_TRAIN), ("val", phases.EVALUATION_VAL)):
            split, losses = self._splits[name], torch.zeros(self._config.eval_iters)
            for k in range(self._config.eval_iters):
                starts = torch.randint(len(split) - split.block_size, (self._config.batch_size,))
                x, y = split.windows(starts, self._world.device)
                with self._autocast():
                    _, loss = model(x, y)
                losses[k] = loss.item()
            means.append(losses.mean().item())
            self._accounts.lap(phase)
        return Losses(*means)
