"""Several trainers started at once in one folder: one trains, the others say why they do not."""

from __future__ import annotations

import zipfile

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[dev]'")

from stepscope.trainer.extras.corpora import write_char_folder
from stepscope.trainer.extras.writer import NAME
from tests.faults.trained_process import start
from tests.trainer.conftest import TINY, losses_of, records_of

NUM = 3
LAST = 12


def test_of_several_trainers_in_one_folder_one_trains(tmp_path, monkeypatch):
    """Its losses are those of a run that was alone, its checkpoint is whole, and the others changed nothing."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    corpus, alone, shared = (tmp_path / name for name in ("corpus", "alone", "shared"))
    config = tmp_path / "config.py"
    config.write_text("")
    write_char_folder("".join(chr(97 + (i * i // 7 + 3 * i) % 23) for i in range(5000)), corpus)
    settings = {**TINY, "max_iters": LAST, "lr_decay_iters": LAST, "eval_interval": 3, "eval_iters": 1}
    settings |= {"dtype": "float32", "dataset": corpus}
    printed = [tmp_path / f"printed{number}" for number in range(NUM)]
    processes = [start(path, config, **settings, out_dir=shared) for path in printed]
    reference = start(tmp_path / "reference", config, **settings, out_dir=alone)
    for process in (*processes, reference):
        process.join(300)
    texts = [path.read_text() for path in printed]
    codes = [process.exitcode for process in processes]
    # One that comes after another has ended may train, too; never two at once.
    assert codes.count(0) >= 1, texts
    assert all(code == 0 or "train-locked" in text for code, text in zip(codes, texts, strict=True)), texts
    # Each that trained has records of its own, and they are those of a run that was alone.
    folders = [shared, *(shared / "earlier").glob("*")]
    assert len(folders) == codes.count(0), texts
    assert all(losses_of(folder) == losses_of(alone) for folder in folders)
    for folder in folders:
        kinds = [record["kind"] for record in records_of(folder)]
        assert (kinds.count("start"), kinds.count("step")) == (1, LAST + 1)
    with zipfile.ZipFile(shared / NAME) as archive:
        assert archive.testzip() is None
