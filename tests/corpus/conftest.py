"""The real logs lie in `shared/` beside the checkout. Where they are not, these suites say so and skip; CI fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT

SHARED = ROOT.parent / "shared"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a log come one after the other, so that it is read once for them (`reports.py`)."""
    own = [item for item in items if "tests/corpus" in str(item.path)]
    places: dict[str, int] = {}
    for item in own:
        item.add_marker(pytest.mark.corpus)
        places.setdefault(_log_of(item), len(places))
    own.sort(key=lambda item: places[_log_of(item)])
    items[:] = [*own, *(item for item in items if "tests/corpus" not in str(item.path))]


def _log_of(item: pytest.Item) -> str:
    """The path below `shared/` of the log that a test is about; its own name where it is about none or several."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    path = next((value for value in values if isinstance(value, Path)), None)
    label = next((value["file"] for value in values if isinstance(value, dict) and "file" in value), None)
    if label is not None:
        path = SHARED / "blind" / label
    return item.nodeid if path is None else str(path)


@pytest.fixture(autouse=True)
def _needs_the_corpus() -> None:
    if not (SHARED / "truth").is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the real logs are not at {SHARED}")
        pytest.skip("the real logs are not beside this checkout: corpus suites not run")
