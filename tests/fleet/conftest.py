"""Made-up fleets, scanned once for all tests, whatever worker they run on."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fleet.made_up import Truth, make_fleet
from tests.fleet.servers import s3

__all__ = ["s3"]


class Scanned(NamedTuple):
    """A fleet's logs, its store, what is true of it, and the flags that state its facts."""

    logs: Path
    store: Path
    truth: Truth
    flags: tuple[str, ...]


@pytest.fixture(scope="session")
def scanned_fleet(tmp_path_factory) -> Scanned:
    """A fleet with troubles, lemons and regressions."""
    return _scanned(tmp_path_factory, "ill", num=int(os.environ.get("STEPSCOPE_FLEET", "240")))


@pytest.fixture(scope="session")
def healthy_fleet(tmp_path_factory) -> Scanned:
    """A fleet in which nothing goes wrong."""
    return _scanned(tmp_path_factory, "healthy", num=int(os.environ.get("STEPSCOPE_FLEET", "120")))


def _scanned(tmp_path_factory, name: str, *, num: int) -> Scanned:
    fcntl = pytest.importorskip("fcntl")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"fleet-{name}"
    folder.mkdir(exist_ok=True)
    known = folder / "truth"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            known.write_bytes(pickle.dumps(_make(folder, num, is_healthy=name == "healthy")))
    logs = folder / "logs"
    flags = ("--sacct", str(logs / "sacct.txt"), "--facts", str(logs / "prices.csv"))
    truth = pickle.loads(known.read_bytes())
    return Scanned(logs, folder / "store", truth, (*flags, "--path-pattern", "{user}/{project}/*.out"))


def _make(folder: Path, num: int, *, is_healthy: bool) -> Truth:
    pytest.importorskip("pyarrow")
    from stepscope.fleet.engines import Inline
    from stepscope.fleet.scan import scan
    from stepscope.fleet.store import Store

    truth = make_fleet(folder / "logs", num, is_healthy=is_healthy)
    users = [str(path) for path in sorted((folder / "logs").iterdir()) if path.is_dir()]
    scan(users, Store(folder / "store"), Inline())
    return truth
