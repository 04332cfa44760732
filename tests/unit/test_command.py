"""A pasted command says how long the run was asked to be."""

from __future__ import annotations

import pytest

import stepscope
from stepscope.lines.command import Asked, asked_for


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("$ python train.py config/x.py --compile=True --max_iters=200", Asked(200, None)),
        ("python3 main.py -data a.pkl -b 256 -epoch 400", Asked(None, 400)),
        ("torchrun --nproc_per_node 8 train.py --num-train-epochs 3 --lr 1", Asked(None, 3)),
        ("iter 3: loss 2.1 --max_iters=200", Asked()),
        ("python train.py --lr 0.1", Asked()),
    ],
)
def test_a_command_states_steps_or_epochs(line, asked):
    assert asked_for([line]) == asked


def test_a_total_of_the_command_beats_a_default(tmp_path):
    rows = [f"iter {i}: loss 3.1, time {100 + i % 3}.00ms, mfu 20.00%" for i in range(5, 30)]
    path = tmp_path / "pasted.txt"
    path.write_text("\n".join(["$ python train.py --max_iters=200", "Overriding: max_iters = 200", *rows]))
    report = stepscope.explain(stepscope.read(str(path)))
    assert report.run.settings.count("max_steps") == 200
    assert report.forecast.remaining_s == pytest.approx(171 * 0.101, rel=0.05)


def test_epochs_are_the_steps_where_rows_are_epochs(tmp_path):
    path = tmp_path / "pasted.txt"
    rows = [f"Epoch #{i} at {81.6 * i:.1f}s, lr=1e-05" for i in range(1, 5)]
    path.write_text("\n".join(["python3 enhance.py --train a --epochs=50", *rows]))
    report = stepscope.explain(stepscope.read(str(path)))
    assert report.forecast.remaining_s == pytest.approx(46 * 81.6, rel=0.02)
