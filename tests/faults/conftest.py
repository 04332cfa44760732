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
        """As an administrator does; the files must be closed for it."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True, capture_output=True)

    def vanish(self) -> None:
        """As a network drive that is detached: nothing is found under its path any more."""
        subprocess.run(["umount", "-l", str(self.path)], check=True)


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
    disk = SmallDisk(path)
    yield disk
    if path.is_mount():
        disk.vanish()


class FailingDisk:
    """An ext4 file system in a file, which the kernel makes read-only as it does when a disk fails."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self) -> None:
        """From now on nothing can be written, not even to files that are open."""
        subprocess.run(["mount", "-o", "remount,abort", str(self.path)], check=True, capture_output=True)


@pytest.fixture
def failing_disk(tmp_path):
    """An ext4 of 8 MB on a loop device; skipped where it cannot be made or mounted."""
    path, image = tmp_path / "disk", tmp_path / "image"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(8 << 20)
    for command in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(path)]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as problem:
            pytest.skip(f"no {command[0]} here: {problem}")
        if done.returncode:
            pytest.skip(f"{command[0]} is not possible here: {done.stderr.strip()}")
    yield FailingDisk(path)
    subprocess.run(["umount", "-l", str(path)], check=True)
