"""Checkpoints that cost the run a copy: the state is copied aside, and another process writes it.

Writing one has three parts, timed apart:

    staging   the state is copied into host memory that was set aside at start-up. On a GPU this runs on a stream of its
              own under the next forward and backward pass; only the next optimizer step has to wait for it, because
              until then nobody changes what is being copied.
    writing   another *process* writes the copy (`writer.py`). A thread would fight with the training loop for the
              interpreter: a single large tensor froze it for half a second. The memory is shared, so nothing is sent
              but a few bytes. The new file is written next to the old one, flushed to the disk and renamed.
    waiting   only if a checkpoint comes while the one before it is still being written. Then the run waits: that is
              better than a third copy in memory.

The file has the format of `torch.save` and nanoGPT's keys, so that `torch.load` and nanoGPT's `sample.py` read it. It
is made in two halves: this side pickles the structure (a few kilobytes), the writer puts it and the tensors into the
container. So the writer needs no PyTorch, and is there at once.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from stepscope.trainer.extras import writer
from stepscope.trainer.extras.shared_memory import SharedMemory
from stepscope.trainer.extras.torch_file import Key, bytes_of, key_of, parts_of
from stepscope.trainer.extras.writer import ALIGN, Written
from stepscope.trainer.model import OPTIMIZERS


class Slot(NamedTuple):
    """Where a tensor lies in the shared memory."""

    offset: int
    num_bytes: int
    buffer: torch.Tensor


class StagedCheckpointer:
    """Saves the state of a run through a writer process. One checkpoint is in flight at most."""

    def __init__(self, folder: Path, state: dict[str, Any], device: torch.device, *, lock: int | None = None) -> None:
        self._folder, self._lock = folder, lock
        tensors = _tensors(state)
        self.num_bytes = sum(_padded(tensor) for tensor in tensors.values())
        self._memory = SharedMemory(max(self.num_bytes, ALIGN))
        self._slots: dict[Key, Slot] = {}
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
        self._in_flight: tuple[int, float] | None = None
        self._writer = self._start_writer()

    def _start_writer(self) -> subprocess.Popen[bytes]:
        """The writer shares no pipe with the trainer but its own two, and no terminal: Ctrl-C is not meant for it."""
        return subprocess.Popen(
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
            for key, tensor in _tensors(state).items():
                # Without a stream nobody waits for the copy: it must be whole when this returns (Apple's GPUs).
                self._slots[key].buffer.copy_(tensor, non_blocking=self._stream is not None)
        job = {"folder": str(self._folder), "parts": list(parts_of(state, self._content)), "is_best": is_best}
        self._message, self._iteration = pickle.dumps(job), iteration
        if self._stream is None:
            self.settle()
        else:
            self._copied = self._stream.record_event()

    def _content(self, key: Key, tensor: torch.Tensor) -> bytes | tuple[int, int]:
        """Of a tensor that was copied aside, the place; small ones travel in the message."""
        slot = self._slots.get(key)
        return bytes_of(tensor) if slot is None else (slot.offset, slot.num_bytes)

    def settle(self) -> None:
        """Must come before the next optimizer step: the copy is finished when this returns, and the writer knows."""
        if self._message is None:
            return
        if self._copied is not None:
            self._copied.synchronize()
        message, self._message, self._copied = self._message, None, None
        if self._writer.poll() is not None:
            self._end_writer()
            self._writer = self._start_writer()
        self._in_flight = (self._iteration, time.monotonic())
        self._send(message)

    def _send(self, message: bytes) -> None:
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
        answers = self._writer.stdout
        assert answers is not None
        if not select.select([answers], [], [], 0)[0]:
            if not wait:
                return None
            self._send(writer.HURRY)
        line = answers.readline()
        (iteration, start), self._in_flight = self._in_flight, None
        if not line:
            return Written(iteration, time.monotonic() - start, 0, f"the writer ended ({self._writer.wait()})")
        return Written(iteration, **json.loads(line))

    def close(self) -> Written | None:
        """Wait for the last checkpoint and end the writer."""
        last = self.collect(wait=True)
        self._end_writer()
        writer.part_best(self._folder)
        return last

    def _end_writer(self) -> None:
        assert self._writer.stdin is not None
        assert self._writer.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._writer.stdin.close()
        self._writer.wait()
        self._writer.stdout.close()


def _padded(tensor: torch.Tensor) -> int:
    return -(-tensor.nbytes // ALIGN) * ALIGN


def _tensors(state: dict[str, Any]) -> dict[Key, torch.Tensor]:
    """Those that are large and always there: weights and optimizer state. The rest travels in the message.

    Tied weights are one tensor under two names.
    """
    leaves = tree_leaves([state.get(key) for key in ("model", *OPTIMIZERS)])
    return {key_of(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}
