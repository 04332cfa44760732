"""Recordings without a trace against the truth that the program writes down: evaluations and checkpoints, to 5 %."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

TRUTH = """
import json, sys, time
spans = {}
class span:
    def __init__(self, name): self.name = name
    def __enter__(self): self.began = time.monotonic()
    def __exit__(self, *_): spans[self.name] = spans.get(self.name, 0.0) + time.monotonic() - self.began
start = time.monotonic()
def clock(): return "00:%02d" % (time.monotonic() - start)
def bar(step, total, pre=""):
    share = 100 * step // total
    sys.stderr.write(f"\\r{pre}{share:3d}%|#########| {step}/{total} [{clock()}<00:10,  9.10it/s]")
    sys.stderr.flush()
def end(): open(sys.argv[1], "w").write(json.dumps(spans))
"""

# A bar in whole seconds, a bar for each evaluation, the dict of the result, the bar of a checkpoint.
TRAINER = (
    TRUTH
    + """
for step in range(1, 61):
    time.sleep(0.03)
    bar(step, 60)
    if step % 20 == 0:
        with span("evaluation"):
            began = time.monotonic()
            print("", file=sys.stderr)
            for part in range(1, 5):
                time.sleep(0.12)
                bar(part, 4)
            took = time.monotonic() - began
        print("{'eval_loss': '4.035', 'eval_runtime': '%.4f', 'eval_samples_per_second': '9.0', 'epoch': '0.5'}" % took)
        with span("checkpoint"):
            bar(1, 1, "Writing model shards: ")
            time.sleep(0.4)
    elif step % 5 == 0:
        print("{'loss': '4.01', 'grad_norm': '0.9', 'learning_rate': '4.9e-05', 'epoch': '0.005'}", flush=True)
print("\\n{'train_runtime': '%.4f', 'train_loss': '4.01', 'epoch': '1'}" % (time.monotonic() - start), flush=True)
end()
"""
)

# No times at all: only the lines, and when they come.
HAND_WRITTEN = (
    TRUTH
    + """
for step in range(0, 101):
    time.sleep(0.02)
    if step % 5 == 0: print(f"step {step}/100 loss {3 / (step + 1):.5f}", flush=True)
    if step and step % 25 == 0 and step < 100:
        with span("evaluation"): time.sleep(0.7)
        print(f"validation at step {step}: val_loss {2 / step:.5f}", flush=True)
        with span("checkpoint"): time.sleep(0.5)
        print("saved checkpoint to hand.pt", flush=True)
end()
"""
)

# accelerate's examples: one bar, results of epochs printed over it.
ACCELERATE = (
    TRUTH
    + """
step = 0
for epoch in range(4):
    for _ in range(15):
        time.sleep(0.04)
        step += 1
        bar(step, 60)
    with span("evaluation"): time.sleep(0.8)
    print(f"epoch {epoch}: {{'accuracy': 0.8, 'f1': 0.9}}", flush=True)
    bar(step, 60)
end()
"""
)


def recorded(tmp_path: Path, text: str, *flags: str) -> tuple[dict, dict]:
    script, truth = tmp_path / "script.py", tmp_path / "truth.json"
    script.write_text(text)
    run = [sys.executable, "-m", "stepscope", "run", *flags, "--dir", str(tmp_path), "--name", "r", "--"]
    subprocess.run([*run, sys.executable, str(script), str(truth)], capture_output=True, timeout=120, check=True)
    report = explain(read(str(tmp_path / "r")))
    return json.loads(truth.read_text()), {total.phase: total for total in report.ledger.phases}


def check(true_s: float, total) -> None:
    is_near = abs(total.seconds - true_s) <= 0.05 * true_s
    assert is_near or total.low_s <= true_s <= total.high_s, (true_s, total)
    assert abs(total.seconds - true_s) <= 0.15 * true_s, (true_s, total)


@pytest.mark.parametrize("flags", [("--pty",), ()])
def test_a_bar_in_whole_seconds(tmp_path, flags):
    truth, phases = recorded(tmp_path, TRAINER, *flags)
    check(truth["evaluation"], phases["evaluation"])
    check(truth["checkpoint"], phases["checkpoint"])
    assert phases["evaluation"].num == 3
    assert phases["checkpoint"].num == 3


def test_lines_without_any_time(tmp_path):
    truth, phases = recorded(tmp_path, HAND_WRITTEN)
    check(truth["evaluation"], phases["evaluation"])
    check(truth["checkpoint"], phases["checkpoint"])


def test_results_of_epochs_over_a_bar(tmp_path):
    truth, phases = recorded(tmp_path, ACCELERATE, "--pty")
    check(truth["evaluation"], phases["evaluation"])
