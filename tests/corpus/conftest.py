"""The real logs lie in `shared/` beside the checkout. Where they are not, these suites say so and skip; CI fails."""

from __future__ import annotations

import os

import pytest

from tests.conftest import ROOT

SHARED = ROOT.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/corpus" in str(item.path):
            item.add_marker(pytest.mark.corpus)


@pytest.fixture(autouse=True)
def _needs_the_corpus() -> None:
    if not (SHARED / "truth").is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the real logs are not at {SHARED}")
        pytest.skip("the real logs are not beside this checkout: corpus suites not run")
