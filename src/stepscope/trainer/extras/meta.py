"""`meta.pkl`: the characters of a folder of tokens, where each has a token of its own.

It is a pickle and so could run code: it is read by an unpickler that knows no classes at all, which is enough for the
dictionaries nanoGPT puts there.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from stepscope.trainer.config import TrainerError


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
