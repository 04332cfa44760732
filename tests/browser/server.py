"""A real server on a free port, for tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(path: Path, *arguments: str) -> Iterator[str]:
    """The address, token and all, of a server for the logs below `path`."""
    command = [sys.executable, "-m", "stepscope", "serve", str(path), "--lang", "en", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
