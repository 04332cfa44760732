"""Checkpoints that cost the run a copy, survive a kill at any moment and bring it back to the bit.

Writing a checkpoint has three parts, timed apart:

    staging   the state is copied into host memory that was set aside at start-up. On a GPU this runs on a stream of its
              own under the next forward and backward pass; only the next optimizer step has to wait for it, because
              until then nobody changes what is being copied.
    writing   another *process* writes the copy. A thread would fight with the training loop for the interpreter: a
              single large tensor froze it for half a second. The memory is shared, so nothing is sent but a few bytes.
    waiting   only if a checkpoint comes while the one before it is still being written. Then the run waits: that is
              better than a third copy in memory.

The file has the format of `torch.save` and nanoGPT's keys, so that `torch.load` and nanoGPT's `sample.py` read it. It
is made in two halves: this side pickles the structure (a few kilobytes), the writer puts it and the tensors into the
container. Every tensor carries a CRC-32, which `load` checks before it believes a file: in the memory that the tensors
are then used from, so that the file is read once.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import pickle
import select
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch

from stepscope.trainer import writer
from stepscope.trainer.config import NAMES, TrainerError
from stepscope.trainer.writer import (
    ALIGN,
    BEST,
    NAME,
    PREVIOUS,
    SLICES,
    SLICES_BEST,
    SLICES_PREVIOUS,
    SMALL,
    Written,
)

_CHECKED_BYTES = 1 << 24


class Slot(NamedTuple):
    """Where a tensor lies in the shared memory."""

    offset: int
    num_bytes: int
    buffer: torch.Tensor


# -- in the trainer -----------------------------------------------------------------------------------------------


class Checkpointer:
    """Saves the state of a run through a writer process. One checkpoint is in flight at most."""

    def __init__(self, folder: Path, state: dict[str, Any], device: torch.device, *, lock: int | None = None) -> None:
        self._folder, self._lock = folder, lock
        tensors = {_key(tensor): tensor for tensor in _tensors(state)}  # tied weights are one tensor under two names
        self.num_bytes = sum(_padded(tensor) for tensor in tensors.values())
        self._memory = _SharedMemory(max(self.num_bytes, ALIGN))
        self._slots: dict[tuple[int, tuple[int, ...]], Slot] = {}
        offset = 0
        for key, tensor in tensors.items():
            self._slots[key] = Slot(offset, tensor.nbytes, self._memory.tensor(offset, tensor))
            offset += _padded(tensor)
            # The first touch of fresh memory is slow (seconds for a gigabyte): now, not during the first checkpoint.
            self._slots[key].buffer.zero_()
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:
            self._memory.pin()
        self._copied: Any = None  # an event on that stream
        self._message: bytes | None = None  # the message of a checkpoint that is still being copied
        self._iteration = 0
        self._writer: subprocess.Popen[bytes] | None = None
        self._in_flight: tuple[int, float] | None = None
        self._start_writer()

    def _start_writer(self) -> None:
        """The writer shares no pipe with the trainer but its own two, and no terminal: Ctrl-C is not meant for it."""
        self._end_writer()
        self._writer = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(writer.__file__)), self._memory.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The folder is in use until the writer, too, is gone.
            pass_fds=self._memory.fds if self._lock is None else (*self._memory.fds, self._lock),
            start_new_session=True,
        )

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Copy the state aside and have it written. The copy may still run when this returns: see `settle`."""
        assert self._in_flight is None, "collect(wait=True) first"
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.no_grad(), torch.cuda.stream(self._stream) if self._stream else contextlib.nullcontext():
            for key, tensor in {_key(tensor): tensor for tensor in _tensors(state)}.items():
                # Without a stream nobody waits for the copy: it must be whole when this returns (Apple's GPUs).
                self._slots[key].buffer.copy_(tensor, non_blocking=self._stream is not None)
        job = {"folder": str(self._folder), "parts": _parts(state, self._slots), "is_best": is_best}
        self._message, self._iteration = pickle.dumps(job), iteration
        if self._stream is None:
            self.settle()
        else:
            self._copied = self._stream.record_event()

    def settle(self) -> None:
        """Must come before the next optimizer step: the copy is finished when this returns, and the writer knows."""
        if self._message is None:
            return
        if self._copied is not None:
            self._copied.synchronize()
        message, self._message, self._copied = self._message, None, None
        if self._writer is None or self._writer.poll() is not None:
            self._start_writer()
        assert self._writer is not None
        assert self._writer.stdin is not None
        self._in_flight = (self._iteration, time.monotonic())
        self._send(message)

    def _send(self, message: bytes) -> None:
        assert self._writer is not None
        assert self._writer.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the writer died: collect() will say so
            self._writer.stdin.write(len(message).to_bytes(8, "little") + message)
            self._writer.stdin.flush()

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is on its way to the disk."""
        return self._in_flight is not None

    def collect(self, *, wait: bool = False) -> Written | None:
        """What became of the checkpoint in flight, once that is known; `wait` until it is."""
        self.settle()
        if self._in_flight is None:
            return None
        assert self._writer is not None
        assert self._writer.stdout is not None
        if not _readable(self._writer.stdout):
            if not wait:
                return None
            self._send(writer.HURRY)
        line = self._writer.stdout.readline()
        (iteration, start), self._in_flight = self._in_flight, None
        if not line:
            code = self._writer.wait()
            return Written(iteration, time.monotonic() - start, 0, f"the writer ended ({code})")
        return Written(iteration, **json.loads(line))

    def close(self) -> Written | None:
        """Wait for the last checkpoint and end the writer."""
        last = self.collect(wait=True)
        self._end_writer()
        writer.part_best(self._folder)
        return last

    def _end_writer(self) -> None:
        if self._writer is not None:
            assert self._writer.stdin is not None
            assert self._writer.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                self._writer.stdin.close()
            self._writer.wait()
            self._writer.stdout.close()
            self._writer = None


class _SharedMemory:
    """Memory that two processes see. It has no name anywhere, so a kill leaves nothing behind.

    Not `multiprocessing.shared_memory`: its tracker is one more process, and holds the trainer's stderr open.
    """

    def __init__(self, size: int) -> None:
        self.fds: tuple[int, ...] = ()
        self._file: IO[bytes] | None = None
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("stepscope-checkpoint")
            self.fds, self.name = (descriptor,), f"/proc/self/fd/{descriptor}"
        else:
            # Unlinked by the system's own cleaning at the latest; a plain file is all that is left on such systems.
            self._file = tempfile.NamedTemporaryFile(prefix="stepscope-checkpoint-")  # noqa: SIM115 (open as long as we are)
            descriptor, self.name = self._file.fileno(), self._file.name
        os.ftruncate(descriptor, size)
        self._map = mmap.mmap(descriptor, size)

    def tensor(self, offset: int, like: torch.Tensor) -> torch.Tensor:
        """A tensor in this memory, of the shape and type of another."""
        if like.numel() == 0:
            return torch.empty_like(like, device="cpu")
        return torch.frombuffer(self._map, dtype=like.dtype, count=like.numel(), offset=offset).view(like.shape)

    def pin(self) -> None:
        """Lock the pages so that a GPU can copy into them by itself; without that the copy is slower, not wrong."""
        whole = torch.frombuffer(self._map, dtype=torch.uint8)
        if int(torch.cuda.cudart().cudaHostRegister(whole.data_ptr(), whole.numel(), 0)):
            # A container may forbid it. CUDA keeps the error and would report it at the next kernel: let it do so here.
            with contextlib.suppress(RuntimeError):
                torch.zeros(1, device="cuda").add_(1)
                torch.cuda.synchronize()


def _readable(pipe: IO[bytes]) -> bool:
    """Whether an answer lies in the pipe, without waiting for one."""
    return bool(select.select([pipe], [], [], 0)[0])


def _key(tensor: torch.Tensor) -> tuple[int, tuple[int, ...]]:
    return tensor.data_ptr(), tuple(tensor.shape)


def _padded(tensor: torch.Tensor) -> int:
    return -(-tensor.nbytes // ALIGN) * ALIGN


def _tensors(state: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that are large and always there: weights and optimizer state. The rest travels in the message."""
    found: list[torch.Tensor] = []
    nodes: list[Any] = [state.get(key) for key in ("model", "optimizer", "muon")]
    while nodes:
        node = nodes.pop()
        if isinstance(node, torch.Tensor):
            found.append(node)
        elif isinstance(node, dict):
            nodes.extend(node.values())
        elif isinstance(node, list | tuple):
            nodes.extend(node)
    return found


# -- the format of torch.save -------------------------------------------------------------------------------------

# A tensor is pickled as a call that rebuilds it from a storage, and a storage as a reference by number to a part of the
# file. The classes below replace the two; names of functions and classes are those every PyTorch since 1.6 writes.
_STORAGES = {
    torch.float32: torch.FloatStorage,
    torch.float64: torch.DoubleStorage,
    torch.float16: torch.HalfStorage,
    torch.bfloat16: torch.BFloat16Storage,
    torch.int64: torch.LongStorage,
    torch.int32: torch.IntStorage,
    torch.uint8: torch.ByteStorage,
    torch.bool: torch.BoolStorage,
}


class _Storage(NamedTuple):
    number: int
    dtype: torch.dtype
    num_values: int


class Pickler(pickle.Pickler):
    """Pickles a state and notes which tensors it met; equal memory is one storage."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=2)
        self.met: dict[tuple[int, tuple[int, ...]], tuple[_Storage, torch.Tensor]] = {}

    def persistent_id(self, node: object) -> Any:
        """A storage is a reference to a part of the file."""
        if isinstance(node, _Storage):
            return ("storage", _STORAGES[node.dtype], str(node.number), "cpu", node.num_values)
        return None

    def reducer_override(self, node: Any) -> Any:
        """A tensor is a call that rebuilds it from its storage."""
        if not isinstance(node, torch.Tensor):
            return NotImplemented
        storage = _Storage(len(self.met), node.dtype, node.numel())
        storage, _ = self.met.setdefault(_key(node), (storage, node))
        stride = torch.empty(node.shape, device="meta").stride()  # the layout in shared memory: row after row
        arguments: tuple[Any, ...] = (storage, 0, tuple(node.shape), stride, False, OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments


def _parts(state: dict[str, Any], slots: dict[tuple[int, tuple[int, ...]], Slot]) -> list[writer.Part]:
    """The parts of the file: the structure, then the tensors, from the shared memory or as they are."""
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(state)
    parts: list[writer.Part] = [("archive/data.pkl", file.getvalue()), ("archive/byteorder", sys.byteorder.encode())]
    for key, (storage, tensor) in pickler.met.items():
        slot = slots.get(key)
        content = (slot.offset, slot.num_bytes) if slot else tensor.detach().cpu().contiguous().numpy().tobytes()
        parts.append((f"archive/data/{storage.number}", content))
    return [*parts, ("archive/version", b"3\n")]


# -- loading ------------------------------------------------------------------------------------------------------


def load(
    folder: Path,
    *,
    say: Callable[..., None] | None = None,
    with_optimizers: bool = True,
    in_slices: bool = False,
    best: bool = False,
) -> dict[str, Any]:
    """The newest whole checkpoint of a folder: ours or nanoGPT's. Only tensors and plain values are believed.

    One that was written in slices (see `sharded`) is put together; `in_slices` leaves them where they are and says so
    under "slices". Without `with_optimizers` those need not be there. `best`: the best one where there is one.
    """
    broken: list[str] = []
    for path in _candidates(folder, best=best):
        problem = _damage(path)
        if problem is None:
            try:
                if path.is_dir():
                    return _from_slices(path, with_optimizers, in_slices)
                state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
                if isinstance(state, dict) and {"model", "model_args"} <= state.keys():
                    return state
                problem = "no model in it"
            except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as trouble:
                problem = str(trouble).partition("\n")[0]
        broken.append(f"{path.name}: {problem}")
        if say is not None:
            say("train-broken-checkpoint", path=str(path), reason=problem)
    if broken:
        raise TrainerError("train-no-whole-checkpoint", place=str(folder), reason="; ".join(broken))
    raise TrainerError("train-no-checkpoint", place=str(folder / NAME))


def _candidates(folder: Path, *, best: bool = False) -> list[Path]:
    """The checkpoints of a folder, newest first. A run writes files or folders; who has both changed from one to the
    other, and the younger pair is the one that counts. `best` puts the best one before them."""
    if best:
        found = [[path] for name in (BEST, SLICES_BEST) if (path := folder / name).exists()]
        return [*(path for (path,) in sorted(found, key=_moment, reverse=True)), *_candidates(folder)]
    pairs = ((NAME, PREVIOUS), (SLICES, SLICES_PREVIOUS))
    found = [[path for name in pair if (path := folder / name).exists()] for pair in pairs]
    return [path for pair in sorted(filter(None, found), key=_moment, reverse=True) for path in pair]


def _moment(pair: list[Path]) -> float:
    newest = pair[0] / SMALL if pair[0].is_dir() else pair[0]
    return newest.stat().st_mtime if newest.exists() else 0.0


def saved_settings(folder: Path) -> dict[str, Any]:
    """The settings that the newest checkpoint states; none where it cannot be read, which `load` then says."""
    for path in _candidates(folder):
        try:
            state = torch.load(
                path / SMALL if path.is_dir() else path, map_location="cpu", weights_only=True, mmap=True
            )
            found = state["config"]
            return {name: found[name] for name in NAMES if isinstance(found.get(name), bool | int | float | str)}
        except (
            pickle.UnpicklingError,
            RuntimeError,
            EOFError,
            OSError,
            ValueError,
            LookupError,
            AttributeError,
            TypeError,
        ):
            continue
    return {}


def _from_slices(path: Path, with_optimizers: bool, in_slices: bool) -> dict[str, Any]:
    from stepscope.trainer import sharded

    if in_slices:
        return {**sharded.read_small(path), "slices": str(path)}
    return sharded.read_whole(path, with_optimizers=with_optimizers)


def export(folder: Path, target: Path) -> dict[str, Any]:
    """Write the newest checkpoint in slices as one file with nanoGPT's keys; gives back what is in it."""
    from stepscope.trainer import sharded

    paths = [path for path in _candidates(folder) if path.is_dir() and _damage(path) is None]
    if not paths:
        raise TrainerError("train-no-slices", place=str(folder / SLICES))
    state = sharded.read_whole(paths[0])
    aside = writer.aside_of(target)
    try:
        with aside.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    except (OSError, RuntimeError) as problem:  # PyTorch says a full disk in its own way
        aside.unlink(missing_ok=True)
        raise TrainerError("train-out-dir", place=str(target), reason=str(problem).partition("\n")[0]) from None
    return state


def _damage(path: Path) -> str | None:
    """What is wrong with a checkpoint, by the checksum of each of its parts; None: nothing."""
    if path.is_dir():
        from stepscope.trainer import sharded

        return sharded.damage(path)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
            bad = next((part.filename for part in parts if not _is_whole(part, memory)), None)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, struct.error) as problem:
        return str(problem)
    return None if bad is None else f"the checksum of {bad} does not match"


def _is_whole(part: zipfile.ZipInfo, memory: mmap.mmap) -> bool:
    """Whether a part of a zip file is what was written. PyTorch packs nothing, so its bytes lie there as they are."""
    name_bytes, extra_bytes = struct.unpack_from("<HH", memory, part.header_offset + 26)
    start = part.header_offset + 30 + name_bytes + extra_bytes
    end = start + part.file_size
    if part.compress_type != zipfile.ZIP_STORED or end > len(memory):
        return False
    checksum = 0
    with memoryview(memory) as view:
        for at in range(start, end, _CHECKED_BYTES):
            with view[at : min(at + _CHECKED_BYTES, end)] as piece:
                checksum = zlib.crc32(piece, checksum)
    return checksum == part.CRC
