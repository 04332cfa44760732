"""Checkpoints without a copy of the state in host memory: `--staging=False`. The run waits for the disk instead.

The same file as `checkpoint.Checkpointer` writes, by the same rules: next to the old one, flushed, renamed. Tensors
come from the device one at a time, so the host needs room for the largest of them only.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from stepscope.trainer.extras import writer
from stepscope.trainer.extras.torch_file import bytes_of, parts_of
from stepscope.trainer.extras.writer import Written


class BlockingCheckpointer:
    """Does in `stage` what `Checkpointer` leaves to another process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done: Written | None = None

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Write a checkpoint; when this returns it is on the disk, or is known not to be."""
        start = time.perf_counter()
        problem, num_bytes = None, 0
        try:
            parts = parts_of(state, lambda _, tensor: bytes_of(tensor))
            num_bytes, _ = writer.write_file(self._folder, parts, memoryview(b""), lambda _: None, is_best=is_best)
        except OSError as trouble:
            problem = trouble.strerror or str(trouble)
        self._done = Written(iteration, time.perf_counter() - start, num_bytes, problem)

    def settle(self) -> None:
        """Nothing is under way."""

    @property
    def is_writing(self) -> bool:
        """Whether the outcome of a checkpoint has not been asked for yet."""
        return self._done is not None

    def collect(self, *, wait: bool = False) -> Written | None:  # noqa: ARG002 (as the other one's)
        """What became of the last checkpoint, once."""
        done, self._done = self._done, None
        return done

    def close(self) -> Written | None:
        """The same, and the best one becomes a file apart."""
        writer.part_best(self._folder)
        return self.collect()
