"""Tokens: nanoGPT's folders (`train.bin`, `val.bin`, `meta.pkl`), the batches of a run, and how such folders are made.

A `.bin` file is nothing but 16-bit token numbers. nanoGPT opens it for every batch; here it stays open, and one
gather makes the whole batch. `meta.pkl` is a pickle and so could run code: it is read by an unpickler that knows no
classes at all, which is enough for the dictionaries nanoGPT puts there.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepscope.trainer.config import TrainConfig, TrainerError

GPT2_TOKENS = 50257
GPT2_VOCABULARY = 50304  # 50257 rounded up to a multiple of 64, which matrix units like
_END_OF_TEXT = 50256
SHAKESPEARE_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"


# -- reading a folder ---------------------------------------------------------------------------------------------


class Meta(NamedTuple):
    """What `meta.pkl` says of a character-level folder."""

    vocab_size: int
    stoi: dict[str, int]
    itos: dict[int, str]

    def encode(self, text: str) -> list[int]:
        """Tokens of a text; a character that the corpus never had is an error."""
        unknown = next((char for char in text if char not in self.stoi), None)
        if unknown is not None:
            raise TrainerError("train-unknown-character", place=repr(text[:40]), character=repr(unknown))
        return [self.stoi[char] for char in text]

    def first_tokens(self) -> list[int]:
        """What a text begins with where nothing is asked for: a line end, or any character of a corpus without one."""
        return [self.stoi.get("\n", 0)]

    def decode(self, tokens: Iterable[int]) -> str:
        """Text of tokens."""
        return "".join(self.itos.get(token, "\N{REPLACEMENT CHARACTER}") for token in tokens)


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, text and containers only: a pickle that asks for any class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"asks for {module}.{name}")


def read_meta(folder: Path) -> Meta | None:
    """The folder's `meta.pkl`, where there is one."""
    path = folder / "meta.pkl"
    if not path.is_file():
        return None
    try:
        raw = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        meta = Meta(int(raw["vocab_size"]), dict(raw.get("stoi", {})), dict(raw.get("itos", {})))
    except Exception as problem:  # a broken pickle can raise nearly anything, and all of it means the same
        raise TrainerError("train-bad-meta", place=str(path), reason=str(problem) or type(problem).__name__) from None
    if meta.vocab_size < 1:
        raise TrainerError("train-bad-meta", place=str(path), reason=f"vocab_size = {meta.vocab_size}")
    return meta


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


class Split:
    """One `.bin` file, open for as long as the run lasts."""

    def __init__(self, path: Path, *, block_size: int, vocab_size: int | None = None) -> None:
        self.path = path
        self.block_size = block_size
        self.vocab_size = vocab_size
        try:
            size = path.stat().st_size
            if size % 2 or size // 2 <= block_size + 1:
                raise TrainerError("train-short-data", place=str(path), tokens=size // 2, block_size=block_size)
            self._tokens = np.asarray(np.memmap(path, dtype=np.uint16, mode="r"))
        except FileNotFoundError:
            raise TrainerError("train-no-data", place=str(path), name=path.parent.name) from None
        except OSError as problem:
            raise TrainerError("train-unreadable", place=str(path), reason=problem.strerror or str(problem)) from None
        self._span = np.arange(block_size + 1)

    def __len__(self) -> int:
        return len(self._tokens)

    def windows(self, starts: Any, device: Any) -> tuple[Any, Any]:
        """Inputs and targets that begin at the given positions: the targets are one token further on."""
        import torch

        block = self._tokens[np.asarray(starts)[:, None] + self._span]
        if self.vocab_size is not None and int(block.max()) >= self.vocab_size:
            # An index past the embedding is a crash on a CPU and a poisoned device on a GPU.
            raise TrainerError(
                "train-vocabulary", place=str(self.path), token=int(block.max()), vocab_size=self.vocab_size
            )
        both = torch.from_numpy(block.astype(np.int64))
        x, y = both[:, :-1].contiguous(), both[:, 1:].contiguous()
        if device.type == "cuda":
            # Pinned memory lets the copy run while the GPU computes.
            return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
        return x.to(device), y.to(device)


class Batches:
    """The training batches of one process, and the position in them, which a checkpoint keeps.

    Two orders. nanoGPT's: every draw comes from PyTorch's global generator, which dropout and evaluation use as well.
    Ours: a generator of its own draws all micro-batches of an iteration at once and every process takes its share, so
    that neither the evaluation settings nor the number of processes change what is trained on.
    """

    def __init__(self, split: Split, config: TrainConfig, device: Any, *, rank: int = 0, world_size: int = 1) -> None:
        import torch

        self._split = split
        self._device = device
        self._classic = config.eval == "nanogpt"
        self._generator = None if self._classic else torch.Generator().manual_seed(config.seed)
        micro = config.gradient_accumulation_steps
        self._shape = (micro, config.batch_size)
        self._own = slice(rank * micro // world_size, (rank + 1) * micro // world_size)
        self._drawn: Any = None  # starts of the iteration at hand, all processes together
        self._queue: list[Any] = []  # this process's batches that were not fetched yet

    def next(self) -> tuple[Any, Any]:
        """The next micro-batch."""
        import torch

        limit = len(self._split) - self._split.block_size
        if self._generator is None:
            self._drawn = torch.randint(limit, self._shape[1:])
            return self._split.windows(self._drawn, self._device)
        if not self._queue:
            self._drawn = torch.randint(limit, self._shape, generator=self._generator)
            self._queue = list(self._drawn[self._own])
        return self._split.windows(self._queue.pop(0), self._device)

    def state(self) -> dict[str, Any]:
        """Where the run is in its data, between two iterations: the batches that come next, and the generator's state.

        The first batch of the next iteration has been fetched already; `restore` hands it out again.
        """
        return {
            "generator": None if self._generator is None else self._generator.get_state(),
            "drawn": self._drawn.clone(),
        }

    def restore(self, state: dict[str, Any]) -> tuple[Any, Any] | None:
        """Go to a position and give back its first batch; None where the position is of a run with other batches."""
        drawn = state["drawn"]
        shape = self._shape[1:] if self._classic else self._shape
        if tuple(drawn.shape) != shape or (state["generator"] is None) != self._classic:
            return None
        self._drawn = drawn
        if self._generator is None:
            return self._split.windows(drawn, self._device)
        self._generator.set_state(state["generator"])
        self._queue = list(drawn[self._own])
        return self._split.windows(self._queue.pop(0), self._device)


# -- making a folder ----------------------------------------------------------------------------------------------


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
