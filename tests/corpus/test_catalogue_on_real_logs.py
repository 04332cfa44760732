"""Every real log: which format it is, how many steps, evaluations and saves it holds, how long it took.

The table is `expected.json`; `pytest --update-golden` rewrites it, and a commit that changes it says why. What cannot
be read yet is in the table too, with the reason the user is given.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepscope.core.errors import InputError
from tests.corpus.conftest import SHARED
from tests.corpus.reports import report_of

LOGS = SHARED / "logs"
TABLE = Path(__file__).parent / "expected.json"
FILES = sorted(path for path in LOGS.glob("*/*") if path.parent.name != "nvidia-smi") if LOGS.is_dir() else []

# Seconds that the README of the logs gives for a whole run, and how near we must come.
TRUTH = {
    "build-nanogpt/one-epoch-19073.out": (9460, 0.01),
    "hf-trainer/autotrain-71h-complete.log": (255634, 0.01),
    "llama-factory/4day-complete.jsonl": (371992, 0.01),
    "ms-swift/gemma-fsdp2-full.logging.jsonl": (4426, 0.01),
    "ms-swift/gemma-mirror-ds.logging.jsonl": (1967, 0.01),
    "torchtitan/kimi436m-12500-val-ckpt.log": (191918, 0.01),
    "torchtitan/llama175m-20k-complete.log": (24640, 0.01),
    "modded-nanogpt/medium-2025-04.txt": (1469, 0.01),
    "modded-nanogpt/short-2025-10-normuon.txt": (140, 0.01),
    "deepspeed/chat-step1-sft.log": (5637, 0.01),
    "mxnet/resnet-2xA5000.txt": (17030, 0.01),
    "mxnet/resnet-dgx1-v100.txt": (6920, 0.01),
    "gnmt/dgx1-gnmt.txt": (1225, 0.01),
    "torchvision-metriclogger/retinanet-8xA30.txt": (15187, 0.01),
    "torchvision-metriclogger/retinanet-8xH200.txt": (1987, 0.01),
    "fairseq/mlperf-transformer-dgx1.txt": (1175, 0.01),
    "mlperf-mllog/maskrcnn-dgxa100.txt": (2406, 0.01),
    "mlperf-mllog/maxtext-gpt3-tpu-v5p1024.txt": (6888, 0.01),
    "mlperf-mllog/cpu-dlrm-rank-prefix.txt": (3579, 0.01),
    "mlperf-mllog/gaudi2-gpt3.txt": (4035, 0.01),
    "mlperf-mllog/nemo-llama2-lora-h100.txt": (1629, 0.01),
    # The run is 5075 s; the log also holds what came before it.
    "mlperf-mllog/nemo-llama31-8b-raw-ranks.txt": (5075, 0.02),
    "modded-nanogpt/muon-2024-10.txt": (1339 + 78, 0.01),
    "pathologies/lerobot-utf16le-crlf.txt": (7 * 3600 + 11 * 60, 0.01),
    "tfevents/yolov7.tfevents": (2.995 * 3600, 0.01),
    "paddle/hdrunet-timestamps.log": (23.5 * 3600, 0.01),
    "nvidia-misc/dll-rgat-8xB200.txt": (364, 0.02),
    "nvidia-misc/ssd-dgx1-samples-per-sec.txt": (1348, 0.02),
    "nvidia-misc/hugectr-dlrm-4xA100.txt": (215, 0.03),
    "keras/mobilenet-9ep.txt": (9294, 0.01),  # nine epochs of 993 s, then an evaluation: the stamps of its own lines
    "paddle/ppdet-rtdetr-72ep.log": (20166, 0.01),
    "nanogpt/bpc-small-drift.log": (544, 0.01),
    "nanogpt/bpc-large-drift.log": (2556, 0.01),
    "nanogpt/owt-10k-linesearch.log": (32546, 0.01),
}


def row_of(path):
    try:
        report = report_of(path)
    except InputError as problem:
        return {"refused": problem.key}
    run = report.run
    return {
        "format": run.format.name,
        "steps": len(run),
        "first": int(run.steps.step[0]) if len(run) else None,
        "last": int(run.steps.step[-1]) if len(run) else None,
        "max_steps": run.settings.count("max_steps"),
        "evaluations": run.events.kind.count("evaluation"),
        "checkpoints": run.events.kind.count("checkpoint"),
        "segments": len(run.segments),
        "has_times": report.has_steps,
        "seconds": round(report.ledger.wall_s),
        "unread": run.num_unread,
    }


def name_of(path):
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_real_log_reads_as_the_table_says(path, request):
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    found = row_of(path)
    if request.config.getoption("--update-golden"):
        table[name_of(path)] = found
        TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n")
    expected = dict(table[name_of(path)])
    if "refused" not in expected:
        assert found.get("unread", 0) <= expected.pop("unread")
        found.pop("unread", None)
        # Where the truth is known, the total is held to it below; here it may not drift.
        assert found.pop("seconds", 0) == pytest.approx(expected.pop("seconds"), rel=0.005, abs=1)
    assert found == expected


@pytest.mark.parametrize(("name", "truth"), TRUTH.items())
def test_the_wall_time_is_the_true_one(name, truth):
    report = report_of(LOGS / name)
    assert report.ledger.wall_s == pytest.approx(truth[0], rel=truth[1])


def cause_of(name, step):
    slow = {slow.step: slow for slow in report_of(LOGS / name).ledger.slow}
    return slow[step]


def test_causes_that_the_log_itself_prints():
    """Megatron's timer table names the data; torchtitan prints its garbage collection."""
    assert cause_of("megatron/1b-56gpu-timers.out", 1798).cause == "data"
    assert cause_of("torchtitan/fsdp8-500-complete.log", 450).cause == "gc"


def test_saves_that_the_clock_leaves_out_are_in_the_ledger():
    """Megatron stops its clock while it saves; the stamps do not."""
    report = report_of(LOGS / "megatron" / "1b-230-ckpt.out")
    assert report.ledger.seconds("checkpoint") == pytest.approx(46.1, rel=0.02)


def test_evaluations_that_hang_for_hours_are_found():
    """Only the stamps show them: 11,921 s at one evaluation of a detectron2 run."""
    report = report_of(LOGS / "detectron2" / "frcnn-lr0.04-30k.txt")
    assert report.ledger.slow[0].step == 26019
    assert report.ledger.seconds("stall") > 11_000
