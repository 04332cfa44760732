"""Where a run computes: its device, its processes, its precision, its random numbers.

bfloat16 on a CPU deserves suspicion: on some virtual machines it kills the process, because the processor claims matrix
units that the machine does not pass on, and where it works it can be slower than float32. So it is tried in a child
process first.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist

from stepscope.trainer.config import TrainConfig, TrainerError

# Opens the precision of one forward pass.
Autocast = Callable[[], contextlib.AbstractContextManager[Any]]
_Made = TypeVar("_Made")

_PROBE_SECONDS = 120
# Of float32's time: less than this is worth other digits.
_CLEARLY_FASTER = 0.8
# Multiplications and additions that take a CPU core half an hour: there the probe's seconds are nothing.
_LONG_RUN = 1e14
# Processes that wait for each other this long have lost each other.
_LOST_AFTER = dt.timedelta(minutes=10)


class World(NamedTuple):
    """The processes of a run, which of them this is, and what they say to each other; one alone talks to nobody."""

    rank: int
    size: int
    device: torch.device

    def sums(self, *values: float) -> list[float]:
        """Each number added up over all processes."""
        if self.size == 1:
            return list(values)
        shared = torch.tensor(values, dtype=exact(self.device), device=self.device)
        dist.all_reduce(shared)
        summed: list[float] = shared.tolist()
        return summed

    def gather(self, value: Any) -> list[Any]:
        """What each process has, in their order."""
        values: list[Any] = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def first_goes_first(self, work: Callable[[], _Made]) -> _Made:
        """Work of all processes that leaves something behind: the others begin when the first one is done."""
        if self.rank > 0:
            dist.barrier()
        made = work()
        if self.rank == 0 and self.size > 1:
            dist.barrier()
        return made

    @contextlib.contextmanager
    def joined(self, config: TrainConfig) -> Iterator[None]:
        """What goes wrong in here is explained where a person can do something about it; then the processes part."""
        try:
            yield
        except (RuntimeError, MemoryError) as problem:
            explained = _explain(problem, config, self)
            if explained is None:
                raise
            raise explained from problem
        finally:
            if self.size > 1:
                with contextlib.suppress(RuntimeError):  # the others may be gone
                    dist.destroy_process_group()


def join_world(config: TrainConfig) -> World:
    """This process's place: alone, or one of those that `torchrun` started."""
    try:
        device = torch.device(config.device)
    except RuntimeError:
        raise TrainerError("train-device", place=f"device = {config.device}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrainerError("train-no-device", place=f"device = {config.device}", name="CUDA")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise TrainerError("train-no-device", place=f"device = {config.device}", name="MPS")
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if device.type == "cuda":
        device = _choose_gpu(device, config, alone=size == 1)
    if size == 1:
        return World(0, 1, device)
    backend = config.backend if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=_LOST_AFTER)
    return World(rank, size, device)


def _choose_gpu(device: torch.device, config: TrainConfig, *, alone: bool) -> torch.device:
    """The GPU of this process, made the current one: events and streams are the current device's, not a tensor's."""
    index = (device.index or 0) if alone else int(os.environ.get("LOCAL_RANK", "0"))
    if index >= torch.cuda.device_count():
        raise TrainerError("train-no-device", place=f"device = {config.device}", name=f"cuda:{index}")
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def synchronize(device: torch.device) -> None:
    """Wait until a device has done what it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def exact(device: torch.device) -> torch.dtype:
    """What sums of losses are kept in where processes exchange them. Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def for_this_machine(config: TrainConfig, device: torch.device, say: Callable[..., None]) -> TrainConfig:
    """The settings with what they leave to the machine: the precision, and the threads of a CPU."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    config = replace(config, dtype=pick_precision(config, device, say))
    if device.type == "cpu":
        config = replace(config, threads=pick_threads(config))
        torch.set_num_threads(config.threads)
    return config


def pick_precision(config: TrainConfig, device: torch.device, say: Callable[..., None]) -> str:
    """The precision to compute in; says so where that is not the one asked for."""
    if device.type == "cuda":
        if config.dtype == "auto":
            return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        return config.dtype
    chosen = config.dtype == "auto" and device.type == "cpu" and may_gain_from_bfloat16(config)
    if chosen or (config.dtype == "bfloat16" and device.type == "cpu"):
        slower = probe_bfloat16(config)
        if slower is not None and slower <= (_CLEARLY_FASTER if chosen else 1.0):
            if chosen:
                say("train-bf16-faster", ratio=slower)
            return "bfloat16"
        if chosen:
            return "float32"
        if slower is None:
            say("train-bf16-crashes")
        else:
            say("train-bf16-slower", ratio=slower)
    elif config.dtype in {"float16", "bfloat16"}:
        say("train-cuda-only", dtype=config.dtype, device=device.type)
    return "float32"


def may_gain_from_bfloat16(config: TrainConfig) -> bool:
    """Whether `--dtype=auto` tries it on this CPU: never where losses shall be nanoGPT's, nor in runs of minutes."""
    if config.recipe != "modern" or config.eval_only or not torch.backends.mkldnn.is_available():
        return False
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:  # several processes might not decide alike
        return False
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    tokens = config.gradient_accumulation_steps * config.batch_size * config.block_size * config.max_iters
    weights = 12 * config.n_layer * config.n_embd**2
    return 6 * weights * tokens >= _LONG_RUN


def make_autocast(config: TrainConfig, device: torch.device) -> Autocast:
    """What a forward pass runs in: the lower precision, or nothing special in float32."""
    if config.dtype == "float32":
        return contextlib.nullcontext
    return partial(torch.autocast, device.type, getattr(torch, config.dtype))


def without_gradients(config: TrainConfig) -> contextlib.AbstractContextManager[Any]:
    """What an evaluation runs in. Inference mode costs least; what is gathered in it could not be trained on after."""
    return torch.no_grad() if config.shard or config.eval == "nanogpt" else torch.inference_mode()


def pick_threads(config: TrainConfig) -> int:
    """How many threads a CPU run uses. A thread that shares its core with a neighbour holds up all the others.

    Two threads next to one busy neighbour were measured at a quarter of the speed of two on an idle machine, and at a
    third of the speed of one. A checkpoint keeps the number: another one adds in another order.
    """
    if config.threads:
        return config.threads
    most: int = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ or not hasattr(os, "getloadavg"):
        return most
    return max(1, min(most, round(most - os.getloadavg()[0])))


def probe_bfloat16(config: TrainConfig) -> float | None:
    """Time of a training step in bfloat16 over one in float32, from a child process; None when that died."""
    shape = {name: getattr(config, name) for name in ("n_head", "n_embd", "block_size", "bias", "recipe")}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from stepscope.trainer.extras.device import probe; probe()", json.dumps(shape)],
            capture_output=True,
            timeout=_PROBE_SECONDS,
            env=environment,
            check=False,
        )
        return float(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None


def probe() -> None:
    """The child: one block of the run's width, forward and backward, in turn in both precisions.

    The shortest of several, by the processor's clock: neighbours make some of them many times longer.
    """
    import time

    from stepscope.trainer.model import GPT, ModelArgs

    shape = json.loads(sys.argv[1])
    model = GPT(ModelArgs(**shape, n_layer=1, vocab_size=256, dropout=0.0))
    tokens = torch.zeros((2, shape["block_size"]), dtype=torch.long)
    took: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(8):
        for half in (False, True):
            start = time.process_time()
            with torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext():
                _, loss = model(tokens, tokens)
            loss.backward()
            took[half].append(time.process_time() - start)
        if min(took[True]) > 2 * max(took[False]):
            break  # bfloat16 will not turn out faster
    print(min(took[True]) / min(took[False]))


def random_state(device: torch.device) -> dict[str, Any]:
    """Of all generators that dropout and nanoGPT's batches draw from."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(state: dict[str, Any], device: torch.device) -> None:
    """Put them back."""
    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
    elif device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"].cpu())


# -- errors -------------------------------------------------------------------------------------------------------


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
