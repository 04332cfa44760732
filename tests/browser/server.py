"""A real server on a free port, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx


@contextmanager
def enter(address: str) -> Iterator[httpx.Client]:
    """A client that the address has let in: its paths are below the app's."""
    with httpx.Client(timeout=30) as client:
        answer = client.get(address)
        assert answer.status_code == 303, answer.text
        client.base_url = httpx.URL(urljoin(address, answer.headers["location"]))
        yield client


@contextmanager
def serving(path: Path, *arguments: str, errors: Path | None = None, **variables: str) -> Iterator[str]:
    """The address, token and all, of a server for the logs below `path`; its messages go to the file `errors`."""
    variables.setdefault("XDG_CACHE_HOME", os.devnull)  # nobody's summaries
    command = [sys.executable, "-m", "stepscope", "serve", str(path), "--lang", "en", *arguments]
    with (
        (errors or Path(os.devnull)).open("wb") as said,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, text=True, env={**os.environ, **variables}
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
