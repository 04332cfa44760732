"""What `explain` says of a run of this trainer is what the trainer itself has measured, phase by phase."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from stepscope.source.files import resolve
from stepscope.trainer import train as loop
from stepscope.trainer.data import Batches
from stepscope.trainer.extras.run_log import RunLog
from stepscope.trainer.extras.staged import StagedCheckpointer
from stepscope.trainer.train import Evaluator
from stepscope.web.run_folder import RunFolder
from tests.consistency import breaches
from tests.trainer.conftest import summary

SLEPT_S = 0.15


def slow(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, when: Callable[..., bool]) -> None:
    """Sleep in a method of the trainer when its arguments say so."""
    before = getattr(owner, name)

    def sleeping(*args: object, **named: object) -> object:
        if when(*args):
            time.sleep(SLEPT_S)
        return before(*args, **named)

    monkeypatch.setattr(owner, name, sleeping)


@pytest.fixture
def calls() -> dict[str, int]:
    return {"data": 0, "gc": 0}


@pytest.fixture
def delayed(trained, monkeypatch, calls):
    """A run that sleeps once or more in every phase: evaluation, checkpoint, data, collection, logging, start-up."""

    def count(kind: str, wanted: int) -> bool:
        calls[kind] += 1
        return calls[kind] == wanted

    slow(monkeypatch, Evaluator, "__call__", lambda *_: True)
    slow(monkeypatch, StagedCheckpointer, "stage", lambda *_: True)
    slow(monkeypatch, Batches, "next", lambda *_: count("data", 60))
    slow(monkeypatch, loop.gc, "collect", lambda *_: count("gc", 3))
    slow(monkeypatch, RunLog, "print", lambda _, line, *__: line.startswith("iter 15:"))
    return trained(max_iters=40, eval_interval=10, log_interval=5)


def check(report, ledger) -> None:
    truth = summary(ledger)
    stated = {total.phase: total for total in report.ledger.phases if total.phase != "gap"}
    assert {total.basis for total in stated.values()} == {"measured"}
    assert all(total.low_s == total.seconds == total.high_s for total in stated.values())
    assert {phase: total.seconds for phase, total in stated.items()} == pytest.approx(truth, abs=2e-6)
    assert breaches(report) == []


def test_every_phase_is_measured_and_equal_to_the_ledger(delayed):
    """Whatever is named: the folder, its records, its log, its ledger."""
    ledger = delayed.outcome.ledger
    assert summary(ledger)["evaluation"] > 5 * SLEPT_S
    assert summary(ledger)["checkpoint"] > 4 * SLEPT_S
    assert min(summary(ledger)[phase] for phase in ("data", "gc", "logging")) > SLEPT_S
    for name in ("", "steps.jsonl", "train.log", "ledger.json"):
        report = explain(read(str(delayed.folder / name)))
        check(report, ledger)
        assert len(report.run) == 41  # every step, not only the printed ones
        assert report.run.settings["max_steps"].value == 40
    slow_steps = {step.step: step for step in report.ledger.slow}
    causes = {number: step.cause for number, step in slow_steps.items()}
    assert {causes[number] for number in (10, 20, 30)} <= {"evaluation", "checkpoint"}
    assert {part.phase for part in slow_steps[20].parts[:2]} == {"evaluation", "checkpoint"}
    stalled = next(number for number, cause in causes.items() if cause == "data")
    assert slow_steps[stalled].parts[0].phase == "data"
    assert slow_steps[stalled].parts[0].seconds > SLEPT_S
    assert causes[15] == "logging"


def test_all_commands_use_the_records(delayed, cli):
    """`why` says what the records say; `compare` of a run with itself finds nothing; `watch` and `serve` read them."""
    folder = str(delayed.folder)
    code, out, _ = cli("why", folder, "15", "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert "logging" in json.dumps(document)
    code, out, _ = cli(folder, "--format", "json", "--lang=en")
    phases = {phase["phase"]: phase for phase in json.loads(out)["ledger"]}
    assert {phase["basis"] for phase in phases.values()} == {"measured"}
    assert phases["checkpoint"]["seconds"] == pytest.approx(summary(delayed.outcome.ledger)["checkpoint"], abs=2e-6)
    code, out, _ = cli("compare", folder, folder, "--lang=en")
    assert code == 0
    assert str(delayed.folder / "steps.jsonl") in out.replace("\n", "")  # a long path is broken into lines
    assert "logging" in out  # a row that no printed log has
    code, out, _ = cli("watch", folder, "--plain", "--lang=en")
    assert code == 0
    assert "iteration 40 of 40" in out
    check(RunFolder(delayed.folder).open("steps.jsonl"), delayed.outcome.ledger)
    above = RunFolder(delayed.folder.parent)
    assert [above.name_of(run) for one in above.candidates() for run in above.runs_of(one)] == ["out/steps.jsonl"]
    assert [source.name for source in resolve(folder)] == [str(delayed.folder / "steps.jsonl")]
    # In the folder above, the run is listed once, by its records.
    above = [source.name for source in resolve(str(delayed.folder.parent))]
    assert str(delayed.folder / "steps.jsonl") in above
    assert str(delayed.folder / "train.log") not in above
    assert str(delayed.folder / "ledger.json") not in above


def test_a_resumed_run_is_one_run_with_a_gap(trained):
    settings = {"eval_interval": 3, "eval_iters": 1, "n_layer": 1}
    trained(max_iters=6, **settings)
    run = trained(max_iters=12, init_from="resume", **settings)
    report = explain(read(str(run.folder)))
    check(report, run.outcome.ledger)
    assert len(report.run.segments) == 2
    assert report.run.num_trainings == 1


def test_a_growing_file_is_read_as_far_as_the_run_goes(trained, tmp_path):
    """A watcher explains what it has read so far, while the trainer writes on."""
    run = trained(max_iters=10)
    lines = (run.folder / "steps.jsonl").read_text().splitlines(keepends=True)
    part = tmp_path / "part" / "steps.jsonl"
    part.parent.mkdir()
    half = next(number for number, line in enumerate(lines) if '"kind":"step","step":6,' in line)
    part.write_text("".join(lines[:half]) + lines[half][:40])
    read_so_far = read(str(part))
    part.write_text("".join(lines))
    report = explain(read_so_far)
    assert breaches(report) == []
    steps = [json.loads(line) for line in lines[:half] if '"kind":"step"' in line]
    expected = sum(
        sum(step["phases"].get(name, 0.0) for name in ("evaluation_train", "evaluation_val")) for step in steps
    )
    assert report.ledger.seconds("evaluation") == pytest.approx(expected, abs=1e-6)
