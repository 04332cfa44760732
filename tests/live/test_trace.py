"""Looking from inside, with real torch: the results are the same to the bit, and what happened is counted right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from stepscope.report import json as json_report
from stepscope.source.trace_file import read_trace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

SCRIPT = """
import hashlib, sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Dropout(0.5))
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40, 16)), batch_size=4, shuffle=True)
for epoch in range(3):
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 16))
    model.train()
    for (batch,) in loader:
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.save(model.state_dict(), sys.argv[1])
print(hashlib.sha256(model[0].weight.detach().numpy().tobytes()).hexdigest())
"""


# A nanoGPT-like loop: an evaluation of 0.2 s and a save of 0.1 s every ten steps, one slow batch.
PHASES = """
import sys, time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

class Data(torch.utils.data.Dataset):
    def __len__(self): return 41
    def __getitem__(self, index):
        if index == 25: time.sleep(1.0)
        return torch.zeros(4)

class Slow(dict):
    def __reduce__(self):
        time.sleep(0.1)
        return dict, ({},)

print("tokens per iteration will be: 4")
began = time.time()
for step, batch in enumerate(torch.utils.data.DataLoader(Data())):
    if step % 10 == 0:
        model.eval()
        time.sleep(0.2)
        model.train()
        print(f"step {step}: train loss 3.0000, val loss 3.1000")
        if step:
            print("saving checkpoint to out")
            torch.save(Slow(), sys.argv[1])
    model(batch).sum().backward()
    optimizer.step()
    time.sleep(0.02)
    now = time.time()
    print(f"iter {step}: loss 3.0000, time {(now - began) * 1000:.2f}ms")
    began = now
"""


def run_it(tmp_path: Path, name: str, *flags: str, source: str = SCRIPT) -> tuple[str, Path]:
    script = tmp_path / "train.py"
    script.write_text(source)
    command = [sys.executable, "-m", "stepscope", "run", *flags, "--dir", str(tmp_path), "--name", name, "--"]
    command += [sys.executable, str(script), str(tmp_path / "model.pt")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1], tmp_path / name


def test_the_results_are_the_same_and_the_counts_are_right(tmp_path):
    traced, folder = run_it(tmp_path, "traced", "--trace")
    plain, other = run_it(tmp_path, "plain")
    assert traced == plain
    found = {one.kind: one for one in read_trace(folder).totals}
    assert found["step"].num == 30
    assert found["evaluation"].num == 3
    assert found["checkpoint"].num == 3
    assert read_trace(other) is None


def test_a_program_without_torch_is_left_alone(tmp_path):
    command = [sys.executable, "-m", "stepscope", "run", "--trace", "--dir", str(tmp_path), "--name", "r", "--"]
    command += [sys.executable, "-c", "import sys; print('sitecustomize' in sys.modules, 'torch' in sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip().endswith("False")
    assert read_trace(tmp_path / "r") is None


def test_a_torn_trace_is_read_as_far_as_it_goes(tmp_path):
    (tmp_path / "trace.tsv").write_bytes(b"gc\t1.0\t0.5\tx\noptimizer\t1.0\tnan\t\ngc\t2.0\t0.2\tx\nevaluat")
    (found,) = read_trace(tmp_path).totals
    assert (found.kind, found.num, found.longest_s) == ("gc", 2, 0.5)


def test_what_was_timed_from_inside_is_measured_in_the_ledger(tmp_path):
    _, folder = run_it(tmp_path, "traced", "--trace", source=PHASES)
    report = explain(read(str(folder)), flags={"max_steps": 40})
    phases = {total.phase: total for total in report.ledger.phases}
    trace = {one.kind: one for one in read_trace(folder).totals}
    for phase, num, least in (("evaluation", 5, 1.0), ("checkpoint", 4, 0.4), ("data", 1, 1.0)):
        assert phases[phase].basis == "measured"
        assert phases[phase].num >= num
        assert phases[phase].seconds >= 0.98 * least
    assert phases["evaluation"].seconds == pytest.approx(trace["evaluation"].seconds)
    assert sum(total.ns for total in report.ledger.phases) == report.ledger.wall_ns
    assert report.ledger.split == "trace"
    waited = next(slow for slow in report.ledger.slow if slow.step == 25)
    assert (waited.cause, waited.parts[0].phase, waited.parts[0].basis) == ("data", "data", "measured")
    saved = next(slow for slow in report.ledger.slow if slow.step == 20)
    assert {part.phase for part in saved.parts if part.basis == "measured"} >= {"evaluation", "checkpoint"}
    assert json_report.document(report)["inside_skipped"] == []


def test_a_trace_of_another_run_changes_nothing(tmp_path):
    _, folder = run_it(tmp_path, "plain", source=PHASES)
    before = explain(read(str(folder)), flags={"max_steps": 40}).ledger
    (folder / "trace.tsv").write_text("evaluation\t100.0\t50.0\t\ncheckpoint\t200.0\t9.0\t\n")
    after = explain(read(str(folder)), flags={"max_steps": 40}).ledger
    assert after.phases == before.phases


def test_a_hook_that_torch_does_not_take_is_said(tmp_path):
    """The others stay, and the training runs as before."""
    torch_without = tmp_path / "path"
    torch_without.mkdir()
    (torch_without / "torch.py").write_text(
        "import types\nnn = types.SimpleNamespace(Module=type('Module', (), {'train': lambda self, mode=True: self}))\n"
        "def save(what): return what\n"
    )
    script = tmp_path / "train.py"
    script.write_text("import torch\nmodel = torch.nn.Module()\nmodel.train(False)\ntorch.save(1)\nprint('done')\n")
    command = [sys.executable, "-m", "stepscope", "run", "--trace", "--dir", str(tmp_path), "--name", "r", "--"]
    paths = os.pathsep.join([str(torch_without), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*command, sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert done.stdout.strip().endswith("done")
    trace = read_trace(tmp_path / "r")
    # `Module.train` itself was hooked; this Module has no parameters to tell what is trained.
    assert {name.partition(":")[0] for name in trace.skipped} == {"backward", "optimizer steps", "Module.train"}
    # Whether Python collects garbage in so short a program is its own affair.
    assert [one.kind for one in trace.totals if one.kind != "gc"] == ["checkpoint"]
