"""A model that does not fit: `--shard=True` splits weights, gradients and optimizer state over the processes (FSDP2).

Every process keeps one slice of each tensor. Before a block computes, its slices are gathered; after it, they are let
go again, and gradients are summed straight into the slices they belong to. So the memory of a run is that of one slice
and one whole block. PyTorch does all of that (`fully_shard`), and a tensor in slices (`DTensor`) behaves like a tensor.
Imported only where it is used: what it needs of PyTorch takes a second to load.

A checkpoint is then a folder, written by `torch.distributed.checkpoint`: each process writes its slices, any number of
processes can read them, and `found.load` puts them together for one. As with `ckpt.pt`, the state is copied aside,
written next to the old folder and flushed, then renamed; the last two are kept.

    ckpt.dist/    __0_0.distcp, __1_0.distcp …    the slices, one file per process
                  .metadata                       which slice lies where
                  run.pt                          everything small: settings, iteration, random numbers, data position
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import shutil
import time
import warnings
import zipfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from stepscope.trainer.extras.writer import SLICES, SLICES_BEST, SLICES_PREVIOUS, SMALL, Written, aside_of, sync_folder
from stepscope.trainer.model import OPTIMIZERS


def split(model: Any, device: torch.device) -> None:
    """Leave each process its slice of every tensor; block by block, so that a device never holds more than one."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for block in model.transformer["h"]:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to(device)  # tensors without slices: the tables of the rotary positions


def tensors_of(model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, torch.Tensor]:
    """Every tensor of the state by a name of its own; a table under two names is there once."""
    found = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    for kind, optimizer in zip(OPTIMIZERS, optimizers, strict=False):
        # An optimizer numbers its parameters in the order of its groups, here as in its own state_dict().
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for number, parameter in enumerate(parameters):
            found |= {f"{kind}.{number}.{name}": value for name, value in optimizer.state[parameter].items()}
    return found


# -- writing ------------------------------------------------------------------------------------------------------


class ShardedCheckpointer:
    """Saves the slices of a run; does for a folder what `checkpoint.Checkpointer` does for a file.

    The writing is a thread's here, not a process's: the processes must agree on who writes what, and they do that over
    a group of their own, so that the training loop's collectives and theirs never meet.
    """

    def __init__(
        self, folder: Path, tensors: dict[str, torch.Tensor], device: torch.device, *, staging: bool = True
    ) -> None:
        self._folder = folder
        self._tensors = tensors
        self._group = dist.new_group(backend="gloo")
        # One name for all processes, and no other run's.
        names: list[str] = [aside_of(folder / SLICES).name]
        dist.broadcast_object_list(names, 0, group=self._group)
        self._aside = folder / names[0]
        self._stager = _make_stager(tensors, device) if staging else None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._copied: Future[None] | None = None
        self._written: Future[Written] | None = None

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Copy the slices aside and have them written; `state` is everything that is not a tensor of `tensors_of`."""
        assert self._written is None, "collect(wait=True) first"
        file = io.BytesIO()
        torch.save(state, file)
        started = time.monotonic()
        upload = self._save(dcp.FileSystemWriter(self._aside))
        self._written = self._threads.submit(self._finish, upload, file.getvalue(), iteration, started, is_best)

    def _save(self, writer: dcp.FileSystemWriter) -> Future[Any]:
        """Have the slices written: from a copy while the run goes on, or at once where there is none."""
        if self._stager is None:
            upload: Future[Any] = Future()
            try:
                upload.set_result(dcp.save(self._tensors, storage_writer=writer, process_group=self._group))
            except (CheckpointException, OSError, RuntimeError) as trouble:
                upload.set_exception(trouble)
            return upload
        answer = dcp.async_save(
            self._tensors, storage_writer=writer, process_group=self._group, async_stager=self._stager
        )
        if isinstance(answer, Future):
            return answer
        self._copied = answer.staging_completion
        return answer.upload_completion

    def settle(self) -> None:
        """Must come before the next optimizer step: the copy is finished when this returns."""
        if self._copied is not None:
            self._copied.result()
            self._copied = None

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is on its way to the disk."""
        return self._written is not None

    def collect(self, *, wait: bool = False) -> Written | None:
        """What became of the checkpoint in flight, once that is known; `wait` until it is."""
        self.settle()
        if self._written is None or not (wait or self._written.done()):
            return None
        done, self._written = self._written.result(), None
        return done

    def close(self) -> Written | None:
        """Wait for the last checkpoint."""
        last = self.collect(wait=True)
        self._threads.shutdown()
        if self._stager is not None:
            self._stager.close()
        return last

    def _finish(self, upload: Future[Any], small: bytes, iteration: int, started: float, is_best: bool) -> Written:
        """When the slices of all processes are on the disk, the first one makes the folder the newest checkpoint."""
        problem, num_bytes = None, 0
        try:
            upload.result()
            if dist.get_rank(self._group) == 0:
                num_bytes = self._publish(small, is_best=is_best)
        except CheckpointException as trouble:
            # Some process could not write: it says why, by rank.
            first = next(iter(trouble.failures.values()))[0]
            problem = getattr(first, "strerror", None) or str(first)
        except (OSError, RuntimeError) as trouble:
            problem = getattr(trouble, "strerror", None) or str(trouble).partition("\n")[0]
        if problem is not None and dist.get_rank(self._group) == 0:
            shutil.rmtree(self._aside, ignore_errors=True)  # half a checkpoint on a full disk helps nobody
        return Written(iteration, time.monotonic() - started, num_bytes, problem)

    def _publish(self, small: bytes, *, is_best: bool) -> int:
        """Put the new folder in place. At every moment one of the three is whole; `load` takes the newest that is."""
        aside, target, previous = self._aside, self._folder / SLICES, self._folder / SLICES_PREVIOUS
        with (aside / SMALL).open("wb") as file:
            file.write(small)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(aside)
        shutil.rmtree(previous, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            target.rename(previous)
        if is_best:
            self._name_best(aside)
        aside.rename(target)
        sync_folder(self._folder)
        return sum(path.stat().st_size for path in target.iterdir())

    def _name_best(self, newest: Path) -> None:
        """A second folder with second names of the same files; copies where a file cannot have two."""
        best = self._folder / SLICES_BEST
        aside = aside_of(best)
        shutil.copytree(newest, aside, copy_function=_link)
        sync_folder(aside)
        shutil.rmtree(best, ignore_errors=True)
        aside.rename(best)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _make_stager(tensors: dict[str, torch.Tensor], device: torch.device) -> DefaultStager:
    """What copies the slices aside. The first touch of fresh memory is slow: now, not in the first checkpoint."""
    on_gpu = device.type == "cuda"  # there the copy runs under the next forward and backward pass
    stager = DefaultStager(StagingOptions(on_gpu, use_shared_memory=False, **_OVERLAPPED[on_gpu]))
    staged = stager.stage(tensors)
    if isinstance(staged, Future):
        staged.result()
    return stager


_OVERLAPPED = {
    True: {"use_async_staging": True, "use_non_blocking_copy": True},
    False: {"use_async_staging": False, "use_non_blocking_copy": False},
}


# -- reading ------------------------------------------------------------------------------------------------------


class _Unpickler(pickle.Unpickler):
    """`.metadata` is a pickle. It needs a few classes of PyTorch's, and gets no others."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"asks for {module}.{name}")
        return super().find_class(module, name)


_KNOWN = frozenset(
    {("torch", name) for name in ("Size", "float32", "float64", "float16", "bfloat16", "int64", "uint8")}
    | {("torch.serialization", "_get_layout")}
    | {(module, "PosixPath") for module in ("pathlib", "pathlib._local")}
    | {
        ("torch.distributed.checkpoint.metadata", name)
        for name in (
            "Metadata",
            "MetadataIndex",
            "TensorStorageMetadata",
            "ChunkStorageMetadata",
            "TensorProperties",
            "StorageMeta",
            "_MEM_FORMAT_ENCODING",
        )
    }
    | {("torch.distributed.checkpoint.filesystem", "_StorageInfo")}
)


class _Reader(dcp.FileSystemReader):
    """PyTorch's reader of such folders, but careful with the pickle in them."""

    def read_metadata(self, *_: Any, **__: Any) -> Metadata:
        """Which slice lies where."""
        with (Path(self.path) / ".metadata").open("rb") as file:
            metadata: Metadata = _Unpickler(file).load()
        if metadata.storage_meta is not None:
            metadata.storage_meta.load_id = self.load_id
        return metadata


def damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint; None: nothing. Processes of one run check a share each and hear of the others.

    A slice is a little file of `torch.save`'s inside the large one, and carries a checksum.
    """
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    problem = None
    try:
        slices = _Reader(folder).read_metadata().storage_data.values()
        for place in sorted(slices, key=lambda each: (each.relative_path, each.offset))[rank::size]:
            if Path(place.relative_path).name != place.relative_path:
                raise ValueError(f"points to {place.relative_path}")
            with (folder / place.relative_path).open("rb") as file:
                file.seek(place.offset)
                with zipfile.ZipFile(io.BytesIO(file.read(place.length))) as archive:
                    if archive.testzip() is not None:
                        problem = f"a checksum of {place.relative_path} does not match"
        if not (folder / SMALL).exists():
            problem = f"no {SMALL} in it"
    except (OSError, zipfile.BadZipFile, EOFError, pickle.UnpicklingError, AttributeError, ValueError) as trouble:
        problem = str(trouble) or type(trouble).__name__
    if size > 1:
        problems: list[str | None] = [None] * size
        dist.all_gather_object(problems, problem)
        problem = next((each for each in problems if each is not None), None)
    return problem


def read_small(folder: Path) -> dict[str, Any]:
    """Everything but the tensors."""
    state: dict[str, Any] = torch.load(folder / SMALL, weights_only=True)
    return state


def read_into(folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Fill tensors, whole or in slices, also in slices for another number of processes than wrote them."""
    alone = not any(isinstance(tensor, DTensor) for tensor in tensors.values())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")  # disabled on purpose
        dcp.load(tensors, storage_reader=_Reader(folder), no_dist=alone)


def read_whole(folder: Path, *, with_optimizers: bool = True) -> dict[str, Any]:
    """The checkpoint as one process would have written it, with the keys of `ckpt.pt`."""
    state = read_small(folder)
    places = _Reader(folder).read_metadata().state_dict_metadata
    tensors = {
        name: torch.empty(place.size, dtype=place.properties.dtype)
        for name, place in places.items()
        if with_optimizers or name.startswith("model.")
    }
    read_into(folder, tensors)
    state["model"] = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    state["model"]["lm_head.weight"] = state["model"]["transformer.wte.weight"]  # one table under two names
    for kind in OPTIMIZERS if with_optimizers else ():
        if kind in state:
            state[kind]["state"] = {}
            for name, tensor in tensors.items():
                owner, _, rest = name.partition(".")
                if owner == kind:
                    number, _, value = rest.partition(".")
                    state[kind]["state"].setdefault(int(number), {})[value] = tensor
    return state
