"""Causes that the real logs are known to hold, and none where nothing is known to be wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from stepscope.core.errors import InputError
from stepscope.report.json import document
from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of

LOGS, TRUTH = SHARED / "logs", SHARED / "truth"
# Causes that a line, a printed figure or the first steps of a process tell: nothing is concluded there.
MARKED = {"C01", "C02", "C04", "C28", "C35"}
FILES = [path for path in sorted([*LOGS.glob("*/*"), *TRUTH.glob("*.log")]) if path.parent.name != "nvidia-smi"]
# Slow steps that got a cause no line tells, by log. Each entry has been looked at.
CAUSES = {
    "detectron2/frcnn-lr0.04-30k.txt": {"C22": 1},  # the pause of 3.3 h
    "llm.c/nan-16256-cancelled.log": {"C09": 1},  # 100 million tokens a shard at 262,144 a step
    "modded-nanogpt/muon-2024-10.txt": {"C09": 63},
    "modded-nanogpt/windowwarmup-2024-11.txt": {"C09": 18},
    "mxnet/resnet-dgx1-v100.txt": {"C12": 18},  # the first window of every fourth of an epoch
    "nanogpt/owt-10k-linesearch.log": {"C05": 1},  # the first evaluation: 82 s, later 25 s
    "nanogpt/owt-torchrun-sigterm.txt": {"C05": 1},  # likewise
    "torchtitan/fsdp8-500-complete.log": {"C08": 1},  # printed
    "torchtitan/llama175m-20k-complete.log": {"C14": 1},
    "yolo/yolov7-300ep-tqdm.out": {"C06": 1},  # the last, partial batch of the first epoch
}


def report(*path):
    return report_of(SHARED.joinpath(*path))


def slow(told, step):
    return next(own for own in told.ledger.slow if own.step == step)


def test_megatron_1798_waited_for_data_on_one_rank():
    told = report("logs", "megatron", "1b-56gpu-timers.out")
    own = slow(told, 1798)
    assert (own.cause, own.code) == ("data", "C35")
    assert "9490.53" in told.run.excerpts[own.evidence_lines[0]]
    assert "C21" in {finding.code for finding in own.candidates}


def test_torchtitan_450_collected_garbage():
    told = report("logs", "torchtitan", "fsdp8-500-complete.log")
    own = slow(told, 450)
    assert (own.cause, own.code) == ("gc", "C08")
    assert "2.95 seconds" in told.run.excerpts[own.evidence_lines[0]]


def test_torchtitan_18930_names_the_fetch_and_the_allocation_retries():
    """The retries are printed with every window, 20 each; new at 18930 is a request answered after 5.5 s."""
    told = report("logs", "torchtitan", "llama175m-20k-complete.log")
    own = slow(told, 18930)
    codes = [finding.code for finding in own.candidates]
    assert codes[:2] == ["C14", "C16"]
    retries = own.candidates[1]
    assert "37859 CUDA memory allocation retries" in told.run.excerpts[retries.lines[0]]
    evidence = next(one for one in document(told)["slow"] if one["step"] == 18930)["evidence"]
    assert "allocation retries" in evidence


@pytest.mark.parametrize(("name", "first"), [("muon-2024-10.txt", 0), ("windowwarmup-2024-11.txt", -1)])
def test_modded_nanogpt_has_two_combs_of_shards(name, first):
    told = report("logs", "modded-nanogpt", name)
    combs = {(own["every"], own["offset"] % own["every"]): own for own in document(told)["cadence"]["other"]}
    assert set(combs) == {(189, first % 189), (190, first % 190)}
    assert all((own["guess"], own["code"]) == ("data", "C09") for own in combs.values())
    on_combs = [own for own in told.ledger.slow if own.code == "C09"]
    assert len(on_combs) >= 0.95 * sum(own.code != "C04" for own in told.ledger.slow)


def test_coqui_waits_for_its_loader_at_first():
    told = report("logs", "coqui-tts", "vits-finetune-171ep.txt")
    first = told.ledger.slow[0]
    assert (first.row, first.cause) == (0, "data")
    assert "loader_time: 19.81310" in told.run.excerpts[first.evidence_lines[0]]


def test_detectron2_stood_still_for_hours():
    told = report("logs", "detectron2", "frcnn-lr0.04-30k.txt")
    first = told.ledger.slow[0]
    assert (first.step, first.cause) == (26019, "interruption")
    assert first.seconds == pytest.approx(11921, rel=0.01)
    assert {own.cause for own in told.ledger.slow[1:]} == {"evaluation"}


def test_line_searches_are_named_by_the_line_before():
    """Twelve evaluations also run a line search: 44 s instead of 25 s, announced on the lines before."""
    told = report("logs", "nanogpt", "owt-10k-linesearch.log")
    for step in (1000, 2000, 5000, 10000):
        own = slow(told, step)
        assert own.cause == "evaluation"
        announced = next(finding for finding in own.candidates if finding.code == "C36")
        assert "LINESEARCH" in told.run.excerpts[announced.lines[0]]
        assert 15 < announced.seconds < 25
    plain = slow(told, 1100)
    assert "C36" not in {finding.code for finding in plain.candidates}
    assert slow(told, 100).code == "C05"


def test_a_drift_is_a_level_with_a_cause_that_grows():
    """12.9 to 17.9 ms over 5,000 steps."""
    told = report("logs", "nanogpt", "shakespeare-cepred05.txt")
    last = told.ledger.levels[-1]
    assert last.change > 0.2
    assert last.candidates[0].code == "C29"


def test_a_neighbour_comes_and_goes():
    """750 to 1,750 ms and back in a run of 600,000 steps; evaluations double too."""
    levels = report("logs", "nanogpt", "gpt2-600k-resume.txt").ledger.levels
    assert [round(own.regime.typical_s, 1) for own in levels] == [0.8, 1.7, 0.8]
    assert [own.candidates[0].code for own in levels[1:]] == ["C20", "C20"]


def test_the_injected_stall_is_found_and_honestly_unexplained():
    """A sleep inside get_batch at iteration 99: nothing in the log says data, so nothing here does."""
    told = report("truth", "datastall.log")
    own = slow(told, 99)
    assert own.cause == "unexplained"
    assert sum(part.seconds for part in own.parts if part.phase == "stall") == pytest.approx(1.76, rel=0.05)
    assert any("batch" in text for text in document(told)["settle"])


def test_the_injected_slowdown_is_a_level_that_rises():
    """From iteration 47 on, each step 0.8 ms longer than the last; the machine was shared besides."""
    levels = report("truth", "slowdown.log").ledger.levels
    assert levels[-1].regime.typical_s > 2 * levels[0].regime.typical_s
    assert 40 <= next(own.regime.first_step for own in levels if own.regime.typical_s > 0.11) <= 90
    assert "C29" in {finding.code for finding in levels[-1].candidates[:2]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_cause_is_invented(path):
    """Slow steps that got a cause no line tells."""
    try:
        told = report_of(path)
    except InputError:
        return
    codes = Counter(own.code for own in told.ledger.slow if own.code and own.code not in MARKED)
    assert codes == CAUSES.get(f"{path.parent.name}/{path.name}", {})


def test_every_log_with_a_cause_is_there():
    assert {f"{path.parent.name}/{path.name}" for path in FILES} >= set(CAUSES)
