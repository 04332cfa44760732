"""A disk of a few kilobytes, and how many kills to make."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

NUM_FAULTS = int(os.environ.get("STEPSCOPE_FAULTS", "0"))


class SmallDisk:
    """A file system of its own that can be filled, emptied and made read-only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        """Leave no room for a single byte."""
        with (self.path / "ballast").open("ab", buffering=0) as file:
            for size in (1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def leave(self, num_bytes: int) -> None:
        """Fill all but so many bytes; a multiple of 4,096."""
        self.fill()
        ballast = self.path / "ballast"
        os.truncate(ballast, ballast.stat().st_size - num_bytes)

    def empty(self) -> None:
        """Give the room back."""
        (self.path / "ballast").unlink()

    def make_read_only(self) -> None:
        """As the kernel does when a disk fails; the files must be closed for it."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True, capture_output=True)


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 2 MB; skipped where it cannot be mounted."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as problem:
        pytest.skip(f"no mount here: {problem}")
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    yield SmallDisk(path)
    subprocess.run(["umount", "-l", str(path)], check=True)
