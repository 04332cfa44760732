"""Advice on every real log: nothing negative, nothing beyond what there is, nothing in the wrong direction."""

from __future__ import annotations

import math
import re

import pytest

from stepscope.advice import together
from stepscope.core.errors import InputError
from stepscope.i18n import Language
from stepscope.report import changes
from tests.corpus.reports import report_of
from tests.corpus.test_catalogue_on_real_logs import FILES, name_of

# Which way each setting goes where time is to be saved.
LARGER = {"eval_interval", "log_interval", "batch_size", "evaluation_batch_size", "evaluation ranks", "num_workers"}
SMALLER = {"eval_iters"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_advice_makes_sense(path):
    try:
        report = report_of(path)
    except InputError:
        return
    situation, fmt = report.situation, report.run.format
    for advice in report.advice:
        assert 0 <= advice.saves_low_s <= advice.saves_s <= advice.saves_high_s < math.inf
        most = sum(situation.left_s(phase) for phase in advice.phases)
        if advice.phases:
            assert advice.saves_s <= most * (1 + 1e-9)
            assert advice.saves_high_s <= situation.horizon_s * (1 + 1e-9)
        if advice.setting in LARGER and advice.now is not None:
            assert advice.proposed > advice.now
        if advice.setting in SMALLER:
            assert advice.proposed < advice.now
        if advice.paste is not None and advice.setting in LARGER | SMALLER | {"checkpoint_interval", "keep_saves"}:
            own = fmt.controls.own_name("eval_iters" if advice.code == "A105" else advice.setting)
            assert own is not None
            assert own.replace("_", "-") in advice.paste.replace("_", "-")
    saved = together(situation, report.advice)
    assert saved <= sum(advice.saves_s for advice in report.advice) * (1 + 1e-9)
    assert saved <= situation.horizon_s * (1 + 1e-9)
    for code in ("en", "de"):
        text = changes.render(report, None, Language.load(code))
        assert max(len(line) for line in text.splitlines()) <= 80
        assert not re.search(r"\bNone\b(?! was)", text)
