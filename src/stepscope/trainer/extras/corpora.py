"""Folders of tokens: where they are, and how they are made of text, a token per character or GPT-2's byte pairs.

`stepscope data` is the command; a run without a config file makes its own from the sources of Python's library.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stepscope.trainer.config import TrainConfig, TrainerError
from stepscope.trainer.extras.meta import Meta

_END_OF_TEXT = 50256
SHAKESPEARE_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"


def find_folder(config: TrainConfig) -> Path:
    """Where the run's data lie: `data/NAME` as in nanoGPT, or a folder named as it is; the embedded corpus is made."""
    if config.dataset == "stdlib":
        folder = Path(config.out_dir) / "data"
        if not (folder / "meta.pkl").exists():
            prepare_stdlib(folder)
        return folder
    for folder in (Path("data") / config.dataset, Path(config.dataset)):
        if (folder / "train.bin").exists():
            return folder
    raise TrainerError("train-no-data", place=str(Path("data") / config.dataset / "train.bin"), name=config.dataset)


def write_char_folder(text: str, folder: Path) -> Meta:
    """Nine tenths to `train.bin`, one tenth to `val.bin`, one token per character, as nanoGPT does it."""
    chars = sorted(set(text))
    if len(chars) > 1 << 16:
        raise TrainerError("data-too-many-characters", place=str(folder), count=len(chars))
    meta = Meta(len(chars), {c: i for i, c in enumerate(chars)}, dict(enumerate(chars)))
    # One look-up in a table per character instead of one in a dictionary.
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    table = np.zeros(int(points.max()) + 1 if len(points) else 1, dtype=np.uint16)
    table[[ord(char) for char in chars]] = np.arange(len(chars), dtype=np.uint16)
    tokens = table[points]
    cut = int(len(text) * 0.9)
    # The last file to appear: a folder with it is complete.
    with _written_aside(folder, "train.bin", "val.bin", "meta.pkl") as (train, val, described):
        tokens[:cut].tofile(train)
        tokens[cut:].tofile(val)
        described.write_bytes(pickle.dumps(meta._asdict()))
    return meta


def write_gpt2_folder(documents: Iterable[str], folder: Path, *, separate: bool) -> tuple[int, int]:
    """The same with GPT-2's byte pairs; `separate` puts an end-of-text token after each document.

    Tokens go to the disk as they come, so that a corpus need not fit into memory. Gives back the tokens of each split.
    """
    encoding = gpt2_encoding()
    with _written_aside(folder, "train.bin", "val.bin") as (train, val), _scratch(folder / "all.bin") as whole:
        with whole.open("wb") as out:
            for document in documents:
                tokens = encoding.encode_ordinary(document)
                if separate:
                    tokens.append(_END_OF_TEXT)
                np.array(tokens, dtype=np.uint16).tofile(out)
        tokens = np.memmap(whole, dtype=np.uint16, mode="r") if whole.stat().st_size else np.zeros(0, np.uint16)
        # nanoGPT keeps a tenth of a small text, and one document in two thousand of a large corpus.
        cut = int(len(tokens) * (0.9995 if len(tokens) > 10**8 else 0.9))
        tokens[:cut].tofile(train)
        tokens[cut:].tofile(val)
        return cut, len(tokens) - cut


@contextlib.contextmanager
def _written_aside(folder: Path, *names: str) -> Iterator[list[Path]]:
    """Paths to write files to, which get their names when all are written; what was there before stays till then."""
    folder.mkdir(parents=True, exist_ok=True)
    asides = [folder / f"{name}.new" for name in names]
    with contextlib.ExitStack() as scratch:
        for aside in asides:
            scratch.enter_context(_scratch(aside))
        yield asides
        for aside, name in zip(asides, names, strict=True):
            aside.replace(folder / name)


@contextlib.contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """A file that is gone afterwards, also when the disk is full."""
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def gpt2_encoding() -> Any:
    """tiktoken's GPT-2 encoding; its tables are downloaded once unless TIKTOKEN_CACHE_DIR has them."""
    try:
        import tiktoken
    except ImportError:
        raise TrainerError("train-no-tiktoken", extra="train") from None
    try:
        return tiktoken.get_encoding("gpt2")
    except Exception as problem:  # the network may fail in any way
        raise TrainerError("train-tiktoken-download", reason=type(problem).__name__) from None


def read_documents(paths: Iterable[Path]) -> Iterator[str]:
    """Texts of files: a `.jsonl` holds one document per line under `text`, anything else is one document."""
    for path in paths:
        try:
            if path.suffix == ".jsonl":
                with path.open(encoding="utf-8") as lines:
                    for number, line in enumerate(lines, 1):
                        yield _document(line, f"{path}:{number}")
            else:
                yield path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TrainerError("train-unreadable", place=str(path), reason="no such file") from None
        except UnicodeDecodeError:
            raise TrainerError("data-not-text", place=str(path)) from None
        except OSError as problem:
            raise TrainerError("train-unreadable", place=str(path), reason=problem.strerror or str(problem)) from None


def _document(line: str, place: str) -> str:
    try:
        return str(json.loads(line)["text"])
    except (ValueError, KeyError, TypeError):
        raise TrainerError("data-bad-record", place=place) from None


def download_shakespeare() -> str:
    """Fetch tiny Shakespeare, a megabyte of plain text."""
    from urllib.request import urlopen

    try:
        with urlopen(SHAKESPEARE_URL, timeout=30) as answer:
            return str(answer.read().decode("utf-8"))
    except OSError as problem:
        raise TrainerError("data-no-download", place=SHAKESPEARE_URL, reason=str(problem)) from None


def prepare_stdlib(folder: Path) -> Meta:
    """The embedded corpus: the sources of Python's own standard library, which every Python has with it."""
    library = Path(sysconfig.get_paths()["stdlib"])
    pieces = []
    for path in sorted(library.glob("*.py")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        # Printable ASCII and line ends keep the vocabulary below a hundred; the few other signs are in comments.
        pieces.append("".join(char for char in text if char == "\n" or " " <= char <= "~"))
    text = "\n".join(pieces)
    if len(text) < 100_000:
        raise TrainerError("train-no-stdlib", place=str(library))
    return write_char_folder(text, folder)
