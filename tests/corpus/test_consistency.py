"""Ledger, forecast, advice and cadence never contradict each other, on any log there is; its document is valid."""

from __future__ import annotations

import pytest

from stepscope.core.errors import InputError
from tests.consistency import breaches
from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of
from tests.schemas import check


def logs():
    """The logs of the corpus, the blind ones, and those with a known truth."""
    patterns = ("logs/*/*", "blind/*/*/*", "truth/*.log")
    found = [path for pattern in patterns for path in sorted(SHARED.glob(pattern)) if path.is_file()]
    return [path for path in found if path.parent.name != "nvidia-smi"]


@pytest.mark.parametrize("path", logs(), ids=lambda path: str(path.relative_to(SHARED)))
def test_the_parts_of_a_report_agree(path):
    try:
        report = report_of(path)
    except InputError:
        return
    assert breaches(report) == []
    check(report.to_dict(), strict=True)
