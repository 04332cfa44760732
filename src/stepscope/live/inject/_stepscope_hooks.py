"""What `stepscope run --trace` sees from inside: optimizer steps, evaluations, checkpoints, waits, compiles, pauses.

Installed when torch is imported, and only then. Standard library only. Every hook is a wrapper that calls the original
with the same arguments and returns what it returned; nothing touches the random generators, so results are the same to
the bit. A function that cannot be hooked is skipped and recorded as such.

A record is a line: kind, wall-clock start, seconds, detail. Optimizer steps are added up and written once a second.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from typing import Any

_FLUSH_RECORDS = 256
_FLUSH_S = 1.0
# Shorter waits and pauses than this are not worth a line.
_LEAST_S = 0.001
_RETRIES_EVERY = 16


class _Trace:
    """Collects records and writes them now and then, only in the process that created it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._process = os.getpid()
        self._records: list[str] = []
        self._sums: dict[str, tuple[float, float, int]] = {}  # kind → start of the first, seconds in all, how many
        self._next = time.monotonic() + _FLUSH_S
        atexit.register(self.flush)

    def add(self, kind: str, start: float, seconds: float, detail: str = "") -> None:
        if os.getpid() != self._process:
            return  # a loader's worker, forked from us
        self._records.append(f"{kind}\t{start:.6f}\t{seconds:.6f}\t{detail}\n")
        if len(self._records) >= _FLUSH_RECORDS or time.monotonic() > self._next:
            self.flush()

    def count(self, kind: str, start: float, seconds: float) -> None:
        """Add to a sum that is written with the next flush."""
        first, total, num = self._sums.get(kind, (start, 0.0, 0))
        self._sums[kind] = first, total + seconds, num + 1
        if time.monotonic() > self._next:
            self.flush()

    def skip(self, what: str, problem: BaseException) -> None:
        """Record that something in this version of torch could not be hooked, and go on."""
        self.add("skipped", time.time(), 0.0, f"{what}: {problem!r}".replace("\t", " ").replace("\n", " ")[:200])

    def flush(self) -> None:
        sums, self._sums = self._sums, {}
        self._records += [f"{kind}\t{first:.6f}\t{total:.6f}\t{num}\n" for kind, (first, total, num) in sums.items()]
        records, self._records = self._records, []
        self._next = time.monotonic() + _FLUSH_S
        if records and os.getpid() == self._process:
            try:
                os.write(self._file, "".join(records).encode())
            except OSError:
                return  # a full disk: the trace ends, the training does not


def install(path: str) -> None:
    """Watch for torch; what a process does before that is not training."""
    sys.meta_path.insert(0, _Watcher(_Trace(path)))


class _Watcher:
    """Runs a hook right after a module it waits for has been imported."""

    def __init__(self, trace: _Trace) -> None:
        self._trace = trace
        self._hooks: dict[str, Callable[[_Trace, Any], None]] = {
            "torch": _hook_torch,
            "torch.utils.data.dataloader": _hook_loader,
            "torch._dynamo.callback": _hook_compile,
            "safetensors.torch": _hook_safetensors,
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        del path, target
        hook = self._hooks.pop(name, None)
        if hook is None:
            return None
        spec = importlib.util.find_spec(name)  # the search goes to the other finders: this name is no longer in ours
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def then_hook(module: Any) -> None:
            execute(module)
            try:
                hook(self._trace, module)
            except Exception as problem:  # any error: the training matters more than its trace
                self._trace.skip(name, problem)

        spec.loader.exec_module = then_hook  # type: ignore[method-assign]
        return spec


def _timed(trace: _Trace, kind: str, function: Callable[..., Any], least_s: float = 0.0) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start, began = time.time(), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            took = time.perf_counter() - began
            if took >= least_s:
                trace.add(kind, start, took)

    return wrapper


def _hook_gc(trace: _Trace) -> None:
    began = 0.0

    def watch(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter()
        else:
            took = time.perf_counter() - began
            if took >= _LEAST_S:
                trace.add("gc", time.time() - took, took, f"generation {info.get('generation')}")

    gc.callbacks.append(watch)


def _hook_torch(trace: _Trace, torch: Any) -> None:
    hooks: tuple[tuple[str, Callable[[], None]], ...] = (
        ("garbage collection", lambda: _hook_gc(trace)),
        ("torch.save", lambda: _hook_save(trace, torch)),
        ("Module.train", lambda: _hook_evaluation(trace, torch.nn.Module)),
        ("optimizer steps", lambda: _hook_optimizer(trace, torch)),
    )
    for name, hook in hooks:
        try:
            hook()
        except Exception as problem:  # one hook that fails must not take the others with it
            trace.skip(name, problem)


def _hook_save(trace: _Trace, torch: Any) -> None:
    torch.save = _timed(trace, "checkpoint", torch.save)


def _hook_evaluation(trace: _Trace, module: Any) -> None:
    """From `model.eval()` to the next `model.train()`; of nested modules only the outermost call counts."""
    original = module.train
    depth = 0
    since: float | None = None

    @functools.wraps(original)
    def train(self: Any, mode: bool = True) -> Any:
        nonlocal depth, since
        depth += 1
        try:
            return original(self, mode)
        finally:
            depth -= 1
            if depth == 0:
                now = time.time()
                if not mode:
                    since = since or now
                elif since is not None:
                    trace.add("evaluation", since, now - since)
                    since = None

    module.train = train


def _hook_optimizer(trace: _Trace, torch: Any) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    began, start, steps, retries = 0.0, 0.0, 0, 0

    def before(*_: Any) -> None:
        nonlocal began, start
        start, began = time.time(), time.perf_counter()

    def after(*_: Any) -> None:
        nonlocal steps, retries
        trace.count("optimizer", start, time.perf_counter() - began)
        steps += 1
        if steps % _RETRIES_EVERY == 0 and torch.cuda.is_initialized():
            now = torch.cuda.memory_stats().get("num_alloc_retries", 0)
            if now > retries:
                trace.add("retry", time.time(), 0.0, str(now - retries))
            retries = now

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def _hook_loader(trace: _Trace, module: Any) -> None:
    iterator = module._BaseDataLoaderIter
    iterator.__next__ = _timed(trace, "data", iterator.__next__, _LEAST_S)


def _hook_compile(trace: _Trace, module: Any) -> None:
    began: list[float] = []
    module.callback_handler.register_start_callback(lambda *_: began.append(time.time()))
    module.callback_handler.register_end_callback(
        lambda *_: trace.add("compile", began[0], time.time() - began.pop(0)) if began else None
    )


def _hook_safetensors(trace: _Trace, module: Any) -> None:
    module.save_file = _timed(trace, "checkpoint", module.save_file)
