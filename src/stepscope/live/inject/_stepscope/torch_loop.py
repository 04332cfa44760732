"""PyTorch: steps, evaluations, saves, waits for data, compiles, garbage collections.

A loop that somebody wrote by hand announces nothing. A step ends with `optimizer.step()`. An evaluation begins with
`eval()` of the model that is trained and ends with the first sign of training, of a save or of the end: not every
program calls `train()` right after it. Where a framework is in charge, only saves, data, compiles and collections are
recorded here.
"""

from __future__ import annotations

import atexit
import functools
from typing import Any

from _stepscope.session import Session
from _stepscope.spans import LATEST, now_ns
from _stepscope.wrapping import is_wrapped, marked

# A start of a loader that is shorter than this is not worth a record.
_LEAST_NS = 1_000_000
_RETRIES_EVERY = 16
# Another optimizer is the training's once it stepped this often without the first.
_TAKES_OVER = 3


class Loop:
    """Follows a hand-written loop through what it calls."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._evaluating_since = 0
        self._trained: set[int] = set()  # parameters of the optimizers, by identity
        self._loaders: set[int] = set()  # what draws the batches of the training loaders
        self._fetched = 0  # the loader of the last fetch
        self._primary = self._steps = self._others = 0
        self._born: dict[int, int] = {}  # how many steps had been made when an optimizer was
        self._has_batch = False  # whether the step that is going on began with the fetch of one
        session.at_save.append(self.end_evaluation)
        atexit.register(self._close)

    @property
    def is_watching(self) -> bool:
        return not self.session.is_owned and self.session.is_main()

    # -- evaluation -------------------------------------------------------------------------------------------

    def set_mode(self, module: Any, mode: bool) -> None:
        """`train()` or `eval()` of a module."""
        at_ns = now_ns()
        if not self.is_watching or not self._is_trained(module):
            return
        if mode:
            self.end_evaluation(at_ns, is_told=True)
        elif not self._evaluating_since:
            self._evaluating_since = at_ns
            self.session.spans.begin("evaluation", self._evaluating_since)

    def end_evaluation(self, at_ns: int, *, is_told: bool = False) -> None:
        """Something began that is no evaluation: the program said so, or it was over by then at the latest."""
        began, self._evaluating_since = self._evaluating_since, 0
        if began:
            self.session.spans.end("evaluation", began, at_ns, "" if is_told else LATEST)

    def _is_trained(self, module: Any) -> bool:
        """Whether an optimizer has one of its parameters: a teacher or a feature extractor is not what is trained."""
        return any(id(parameter) in self._trained for parameter in module.parameters())

    def note_parameters(self, optimizer: Any, group: Any) -> None:
        """The parameters of an optimizer."""
        self.session.look()
        self._born[id(optimizer)] = self.session.num_steps
        parameters = group.get("params", ()) if isinstance(group, dict) else ()
        for parameter in parameters if isinstance(parameters, (list, tuple)) else ():
            self._trained.add(id(parameter))

    # -- steps ------------------------------------------------------------------------------------------------

    def fetch(self, loader: int, began: int, kind: str) -> None:
        """A batch was fetched."""
        if self.is_watching:
            if loader in self._loaders:
                self.end_evaluation(began)
            if not self._evaluating_since:
                self._fetched = loader
                if not self.session.step_begin_ns or self.session.step_begin_ns == self.session.step_end_ns:
                    self.session.begin_step(began)
                    self._has_batch = True
        if not self._evaluating_since:
            self.session.spans.end(kind, began, now_ns())

    def backward(self) -> None:
        """Gradients are worked out."""
        if not self.is_watching and not (self.session.spans.is_child and not self.session.is_owned):
            return
        self.session.learn()
        self.session.sampler.trained()
        at_ns = now_ns()
        if self._evaluating_since:
            self.end_evaluation(at_ns)
        self.session.begin_after_last()
        if self._fetched:
            self._loaders.add(self._fetched)
            self._fetched = 0

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped; of several, the first counts."""
        if not self.is_watching:
            return
        own = id(optimizer)
        if own != self._primary:
            self._others += 1
            # Made after the last step of all: that of another model, whose training begins.
            is_next = self._born.get(own) == self.session.num_steps > 0
            if self._primary and self._others < _TAKES_OVER and not is_next:
                self._stepped_too()
                return
            if self._primary:
                self._steps = self._others - 1
            self._primary = own
        self._others = 0
        if self._evaluating_since:
            self.end_evaluation(now_ns())
        self.session.end_step(f"~{self._steps}")
        self.session.sampler.stepped()
        self._steps += 1
        self._has_batch = False

    def _stepped_too(self) -> None:
        """The second of two optimizers has stepped: that was still the step before, unless a new batch came first."""
        if not self._has_batch and self.session.step_end_ns:
            self.session.drop_step()
            self.session.step_end_ns = now_ns()

    def _close(self) -> None:
        self.end_evaluation(now_ns())


_loops: dict[int, Loop] = {}


def _loop(session: Session) -> Loop:
    return _loops.setdefault(id(session), Loop(session)) if id(session) not in _loops else _loops[id(session)]


def hook_torch(session: Session, torch: Any) -> None:
    """Everything that `import torch` brings."""
    loop = _loop(session)
    session.probe("torch", getattr(torch, "__version__", "?"))
    session.try_all(
        (
            ("garbage collection", session.time_collections),
            ("torch.save", lambda: session.wrap(torch, "save", "checkpoint")),
            ("Module.train", lambda: _hook_modes(loop, torch.nn.Module)),
            ("optimizer steps", lambda: _hook_optimizer(loop, torch)),
            ("backward", lambda: _hook_backward(loop, torch.autograd)),
        )
    )


def _hook_modes(loop: Loop, module: Any) -> None:
    """`Module.train`, which `eval` calls too; of nested modules only the outermost call counts."""
    original = module.train
    depth = 0
    tell = loop.session.quiet("Module.train", loop.set_mode)

    @functools.wraps(original)
    def train(self: Any, mode: bool = True) -> Any:
        nonlocal depth
        depth += 1
        if depth == 1:
            tell(self, mode)
        try:
            return original(self, mode)
        finally:
            depth -= 1

    module.train = marked(train)


def _hook_optimizer(loop: Loop, torch: Any) -> None:
    from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

    retries = 0

    def after(optimizer: Any, *_: Any) -> None:
        nonlocal retries
        loop.stepped(optimizer)
        if loop.session.num_steps % _RETRIES_EVERY == 0 and torch.cuda.is_initialized():
            now = torch.cuda.memory_stats().get("num_alloc_retries", 0)
            if now > retries:
                loop.session.spans.end("retry", now_ns(), now_ns(), str(now - retries))
            retries = now

    register_optimizer_step_post_hook(loop.session.quiet("optimizer step", after))
    loop.session.around(
        Optimizer, "add_param_group", after=lambda own, group=None, **__: loop.note_parameters(own, group or {})
    )


def _hook_backward(loop: Loop, autograd: Any) -> None:
    original = autograd.backward
    tell = loop.session.quiet("backward", loop.backward)

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        tell()
        return original(*args, **kwargs)

    autograd.backward = marked(backward)


def hook_loader(session: Session, module: Any) -> None:
    """Fetching a batch: with workers it is a wait for them, without it is work of this process."""
    loop, iterator = _loop(session), module._BaseDataLoaderIter
    original = iterator.__next__
    if is_wrapped(original):
        return
    tell = session.quiet("DataLoader", loop.fetch)

    @functools.wraps(original)
    def fetch(self: Any) -> Any:
        began = now_ns()
        batch = original(self)
        if session.is_main():
            tell(id(self._index_sampler), began, "data" if self._num_workers else "fetch")
        return batch

    iterator.__next__ = marked(fetch)
    start = module.DataLoader.__iter__

    @functools.wraps(start)
    def begin(self: Any) -> Any:
        began = now_ns()
        batches = start(self)
        if self.num_workers and session.is_main() and now_ns() - began >= _LEAST_NS:
            session.spans.end("data", began, now_ns())  # its workers have started
        return batches

    module.DataLoader.__iter__ = marked(begin)


def hook_compile(session: Session, module: Any) -> None:
    """TorchDynamo's compiles."""
    began: list[int] = []

    def end(*_: Any) -> None:
        if began:
            session.leave("compile", began.pop())

    module.callback_handler.register_start_callback(
        session.quiet("compile", lambda *_: began.append(session.enter("compile")))
    )
    module.callback_handler.register_end_callback(session.quiet("compile", end))


def hook_safetensors(session: Session, module: Any) -> None:
    """Saving as safetensors."""
    session.try_all(
        (f"safetensors.{name}", functools.partial(session.wrap, module, name, "checkpoint"))
        for name in ("save_file", "save_model")
    )


def hook_distributed(session: Session, module: Any) -> None:
    """Saving sharded, by all ranks together."""
    session.try_all((("torch.distributed.checkpoint", lambda: session.wrap(module, "save", "checkpoint")),))


HOOKS = {
    "torch": hook_torch,
    "torch.utils.data.dataloader": hook_loader,
    "torch._dynamo.callback": hook_compile,
    "safetensors.torch": hook_safetensors,
    "torch.distributed.checkpoint.state_dict_saver": hook_distributed,
}
