"""Real nanoGPT logs: what they hold, and the wall time where W&B recorded it."""

from __future__ import annotations

import pytest

from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of, run_of

LOGS = SHARED / "logs"

# file → steps printed, evaluations, saves, segments, lines not understood
EXPECTED = {
    "bpc-interrupted.log": (134, 6, 5, 1, 0),
    "bpc-large-drift.log": (501, 21, 5, 1, 0),
    "bpc-small-drift.log": (501, 21, 7, 1, 0),
    "gpt2-600k-resume.txt": (55601, 557, 557, 1, 0),
    "owt-10k-linesearch.log": (1001, 101, 100, 1, 24),
    "owt-13280-killed.log": (1329, 14, 13, 1, 0),
    "owt-torchrun-sigterm.txt": (991, 100, 99, 1, 75),
    "shakespeare-baseline.txt": (501, 21, 7, 1, 0),
    "shakespeare-cepred05.txt": (500, 21, 8, 1, 1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_log_holds(name):
    run = run_of(LOGS / "nanogpt" / name)
    found = (
        len(run),
        run.events.kind.count("evaluation"),
        run.events.kind.count("checkpoint"),
        len(run.segments),
        run.num_unread,
    )
    assert found == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("bpc-small-drift.log", 544), ("bpc-large-drift.log", 2556), ("owt-10k-linesearch.log", 32546)],
)
def test_the_wall_time_is_the_one_wandb_recorded(name, seconds):
    report = report_of(LOGS / "nanogpt" / name)
    assert report.ledger.wall_s == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(
    ("name", "save_s"),
    [
        ("shakespeare-baseline.txt", 0.62),
        ("shakespeare-cepred05.txt", 0.41),
        ("bpc-small-drift.log", 0.31),
        ("bpc-large-drift.log", 2.6),
    ],
)
def test_saves_are_told_apart_by_contrast(name, save_s):
    """An independent regression on the same logs gave these; they must lie in the interval."""
    report = report_of(LOGS / "nanogpt" / name)
    assert report.ledger.split == "contrast"
    price = report.ledger.checkpoint_price
    assert price.low_s <= save_s <= price.high_s


def test_alarms():
    def codes(path):
        return {alarm.code for alarm in report_of(LOGS / path).alarms}

    assert codes("nanogpt/bpc-interrupted.log") == {"interrupted"}
    assert codes("nanogpt/owt-torchrun-sigterm.txt") == {"interrupted"}
    assert codes("pathologies/nanogpt-cuda-oom.log") == {"oom"}
    for healthy in ("shakespeare-baseline.txt", "bpc-small-drift.log", "owt-13280-killed.log", "gpt2-600k-resume.txt"):
        assert codes(f"nanogpt/{healthy}") == set()
    assert codes("nanogpt/shakespeare-cepred05.txt") == {"slowdown"}


def test_world_size_and_regimes():
    report = report_of(LOGS / "nanogpt" / "gpt2-600k-resume.txt")
    assert report.run.settings.count("world_size") == 8
    levels = [round(regime.typical_s, 2) for regime in report.ledger.step.regimes]
    assert levels == [0.75, 1.75, 0.75]


@pytest.mark.parametrize("name", ["8xh100-driver535-excerpt.txt", "gh200-driver590-excerpt.txt", "l40s-driver580.txt"])
def test_nvidia_smi_tables_of_three_driver_generations(name):
    from stepscope.source.nvidia_smi import read_nvidia_smi

    card = read_nvidia_smi(LOGS / "nvidia-smi" / name)
    assert card.gpu.startswith(("H100", "GH200", "L40S"))
    assert card.memory_total > 40 << 30
    assert card.time is not None
