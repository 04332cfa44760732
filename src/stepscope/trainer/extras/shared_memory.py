"""Memory that the trainer and its writer of checkpoints both see."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from typing import IO

import torch


class SharedMemory:
    """It has no name anywhere, so a kill leaves nothing behind.

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
