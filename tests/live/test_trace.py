"""Looking from inside, with real torch: the results are the same to the bit, and what happened is counted right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.source.inside import read_inside

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


def run_it(tmp_path: Path, name: str, *flags: str) -> tuple[str, Path]:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "stepscope", "run", *flags, "--dir", str(tmp_path), "--name", name, "--"]
    command += [sys.executable, str(script), str(tmp_path / "model.pt")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1], tmp_path / name


def test_the_results_are_the_same_and_the_counts_are_right(tmp_path):
    traced, folder = run_it(tmp_path, "traced", "--trace")
    plain, other = run_it(tmp_path, "plain")
    assert traced == plain
    found = {one.kind: one for one in read_inside(folder)}
    assert found["optimizer"].num == 30
    assert found["evaluation"].num == 3
    assert found["checkpoint"].num == 3
    assert read_inside(other) is None


def test_a_program_without_torch_is_left_alone(tmp_path):
    command = [sys.executable, "-m", "stepscope", "run", "--trace", "--dir", str(tmp_path), "--name", "r", "--"]
    command += [sys.executable, "-c", "import sys; print('sitecustomize' in sys.modules, 'torch' in sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip().endswith("False")
    assert read_inside(tmp_path / "r") == ()


def test_a_torn_trace_is_read_as_far_as_it_goes(tmp_path):
    (tmp_path / "trace.tsv").write_bytes(b"gc\t1.0\t0.5\tx\noptimizer\t1.0\tnan\t\ngc\t2.0\t0.2\tx\nevaluat")
    (found,) = read_inside(tmp_path)
    assert (found.kind, found.num, found.longest_s) == ("gc", 2, 0.5)
