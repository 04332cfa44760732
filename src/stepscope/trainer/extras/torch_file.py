"""The format of `torch.save`, made in two halves: here the structure, by the writer the container.

So the writer of checkpoints needs no PyTorch, which would cost it seconds and 200 MB.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import torch

from stepscope.trainer.extras.writer import Part

Key = tuple[int, tuple[int, ...]]


def key_of(tensor: torch.Tensor) -> Key:
    """Tensors with one key are one: tied weights lie in the file once."""
    return tensor.data_ptr(), tuple(tensor.shape)


# A tensor is pickled as a call that rebuilds it from a storage, and a storage as a reference by number to a part of the
# file. The classes below replace the two; names of functions and classes are those every PyTorch since 1.6 writes.
_STORAGES = {
    torch.float32: torch.FloatStorage,
    torch.float64: torch.DoubleStorage,
    torch.float16: torch.HalfStorage,
    torch.bfloat16: torch.BFloat16Storage,
    torch.int64: torch.LongStorage,
    torch.int32: torch.IntStorage,
    torch.uint8: torch.ByteStorage,
    torch.bool: torch.BoolStorage,
}


class _Storage(NamedTuple):
    number: int
    dtype: torch.dtype
    num_values: int


class _Pickler(pickle.Pickler):
    """Pickles a state and notes which tensors it met; equal memory is one storage."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=2)
        self.met: dict[Key, tuple[_Storage, torch.Tensor]] = {}

    def persistent_id(self, node: object) -> Any:
        """A storage is a reference to a part of the file."""
        if isinstance(node, _Storage):
            return ("storage", _STORAGES[node.dtype], str(node.number), "cpu", node.num_values)
        return None

    def reducer_override(self, node: Any) -> Any:
        """A tensor is a call that rebuilds it from its storage."""
        if not isinstance(node, torch.Tensor):
            return NotImplemented
        storage = _Storage(len(self.met), node.dtype, node.numel())
        storage, _ = self.met.setdefault(key_of(node), (storage, node))
        stride = torch.empty(node.shape, device="meta").stride()  # the layout in shared memory: row after row
        arguments: tuple[Any, ...] = (storage, 0, tuple(node.shape), stride, False, OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments


def parts_of(state: dict[str, Any], content: Callable[[Key, torch.Tensor], bytes | tuple[int, int]]) -> Iterator[Part]:
    """The parts of the file: the structure, then the tensors, each made when it is its turn.

    `content` says what the writer gets of a tensor: its bytes, or where they lie in the shared memory.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(state)
    yield "archive/data.pkl", file.getvalue()
    yield "archive/byteorder", sys.byteorder.encode()
    for key, (storage, tensor) in pickler.met.items():
        yield f"archive/data/{storage.number}", content(key, tensor)
    yield "archive/version", b"3\n"


def bytes_of(tensor: torch.Tensor) -> bytes:
    """The values of a tensor, row after row."""
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return flat.numpy().tobytes()
