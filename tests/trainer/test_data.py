"""Data folders: nanoGPT's, made and read without running anything."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from stepscope.trainer.config import TrainerError
from stepscope.trainer.data import Batches, Split
from stepscope.trainer.extras.corpora import prepare_stdlib, write_char_folder, write_gpt2_folder
from stepscope.trainer.extras.device import World
from stepscope.trainer.extras.meta import read_meta
from stepscope.trainer.extras.settings import build

CPU = torch.device("cpu")
ALONE = World(0, 1, CPU)


def test_a_folder_holds_what_nanogpt_puts_there(tmp_path):
    write_char_folder("hello world\n" * 10, tmp_path)
    meta = pickle.loads((tmp_path / "meta.pkl").read_bytes())
    assert meta["vocab_size"] == 9
    assert meta["itos"][meta["stoi"]["w"]] == "w"
    train, val = (np.fromfile(tmp_path / f"{split}.bin", dtype=np.uint16) for split in ("train", "val"))
    assert (len(train), len(val)) == (108, 12)
    assert "".join(meta["itos"][int(token)] for token in train[:11]) == "hello world"


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Trap:
        def __reduce__(self):
            return (eval, ("1",))

    (tmp_path / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 3, "stoi": Trap()}))
    with pytest.raises(TrainerError, match=r"train-bad-meta.*builtins\.eval"):
        read_meta(tmp_path)


@pytest.mark.parametrize("blob", [b"", b"not a pickle", pickle.dumps([1, 2]), pickle.dumps({"vocab_size": 0})])
def test_a_broken_meta_is_told(tmp_path, blob):
    (tmp_path / "meta.pkl").write_bytes(blob)
    with pytest.raises(TrainerError, match="train-bad-meta"):
        read_meta(tmp_path)


def test_targets_are_the_inputs_one_token_on(corpus):
    split = Split(corpus / "train.bin", block_size=16)
    x, y = split.windows([5, 90], CPU)
    raw = np.fromfile(corpus / "train.bin", dtype=np.uint16)
    assert x.tolist() == [raw[5:21].tolist(), raw[90:106].tolist()]
    assert y.tolist() == [raw[6:22].tolist(), raw[91:107].tolist()]


def test_a_token_outside_the_vocabulary_is_told(corpus):
    split = Split(corpus / "train.bin", block_size=16, vocab_size=3)
    with pytest.raises(TrainerError, match="train-vocabulary"):
        split.windows([0], CPU)


@pytest.mark.parametrize("size", [0, 10, 34, 1001])
def test_a_file_too_short_or_odd_is_told(tmp_path, size):
    (tmp_path / "train.bin").write_bytes(bytes(size))
    with pytest.raises(TrainerError, match="train-short-data"):
        Split(tmp_path / "train.bin", block_size=16)


def test_all_processes_together_see_the_batches_of_one(corpus):
    """The order of the data depends neither on the number of processes nor on the evaluation settings."""
    config = build({"batch_size": 3, "block_size": 16, "gradient_accumulation_steps": 4})
    split = Split(corpus / "train.bin", block_size=16)
    alone = Batches(split, config, ALONE)
    pair = [Batches(split, config, World(rank, 2, CPU)) for rank in (0, 1)]
    for _ in range(3):
        whole = [alone.next()[0].tolist() for _ in range(4)]
        shares = [[each.next()[0].tolist() for _ in range(2)] for each in pair]
        assert shares[0] + shares[1] == whole


@pytest.mark.parametrize("order", ["fixed", "nanogpt"])
def test_a_position_in_the_data_can_be_kept(corpus, order):
    config = build({"batch_size": 3, "block_size": 16, "gradient_accumulation_steps": 2, "eval": order})
    split = Split(corpus / "train.bin", block_size=16)
    torch.manual_seed(5)
    batches = Batches(split, config, ALONE)
    for _ in range(3):
        fetched = batches.next()[0]
    state, generator = batches.state(), torch.get_rng_state()
    after = [batches.next()[0].tolist() for _ in range(6)]
    again = Batches(split, config, ALONE)
    restored = again.restore(state)
    torch.set_rng_state(generator)
    assert restored is not None
    assert restored[0].tolist() == fetched.tolist()
    assert [again.next()[0].tolist() for _ in range(6)] == after


def test_a_position_of_other_batches_is_not_taken(corpus):
    split = Split(corpus / "train.bin", block_size=16)
    one = Batches(split, build({"batch_size": 3, "block_size": 16}), ALONE)
    one.next()
    other = Batches(split, build({"batch_size": 4, "block_size": 16}), ALONE)
    assert other.restore(one.state()) is None


def test_the_embedded_corpus_is_there_and_plain(tmp_path):
    meta = prepare_stdlib(tmp_path)
    assert 90 <= meta.vocab_size <= 96
    assert (tmp_path / "train.bin").stat().st_size > 1_000_000
    assert meta.decode(meta.encode("import os\n")) == "import os\n"


def test_gpt2_tokens_come_from_tiktoken(tmp_path, monkeypatch):
    """The tables are a download, so the encoder is stood in for; what is written is ours."""

    class Bytes:
        def encode_ordinary(self, text):
            return list(text.encode())

    import tiktoken

    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: Bytes())
    assert write_gpt2_folder(["abcdefghi", "j" * 9], tmp_path, separate=True) == (18, 2)
    tokens = np.fromfile(tmp_path / "train.bin", dtype=np.uint16).tolist()
    assert tokens[:10] == [*b"abcdefghi", 50256]
    assert not (tmp_path / "all.bin").exists()


def test_prepare_makes_a_folder_from_files(cli, tmp_path):
    source = tmp_path / "poem.txt"
    source.write_text("so much depends\nupon\n" * 20, encoding="utf-8")
    code, out, _ = cli("data", "prepare", source, "--out", tmp_path / "poem", "--lang", "en")
    assert code == 0
    assert "378 tokens to train on, 42 to validate" in out
    assert read_meta(tmp_path / "poem") is not None


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("openwebtext", (2, "data-openwebtext")),
        ("missing.txt", (1, "train-unreadable")),
        ("binary.txt", (1, "data-not-text")),
        ("bad.jsonl", (1, "data-bad-record")),
    ],
)
def test_what_cannot_be_prepared_is_told(cli, tmp_path, monkeypatch, what, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00\x81")
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"words": 1}\n')
    status, _, err = cli("data", "prepare", what, "--lang", "en")
    assert status == problem[0]
    assert problem[1] in err
