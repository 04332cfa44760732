"""The GPUs: what each can do at best, where that is from, and how to find one by what people call it.

`tflops` is the dense rate of the tensor cores for 16-bit inputs with 32-bit accumulation, which is what training uses.
On consumer GPUs that is half of the advertised figure (accumulation in 16 bits) and a quarter of the sparse one.
`tests/unit/test_gpus.py` holds each figure against units x operations per clock and unit x boost clock.

The table is `gpus.csv`. `reaches` there is from public GEMM tables (bf16): GeForce 97 to 113 % of the nominal rate
(they boost above it), A100/H100 80 to 85 %, B200 75 %; workstation Ampere and Ada and the inference GPUs are
power-limited and lie between. `link_gbps` is PCIe 4, or NVLink where a GPU has it.
"""

from __future__ import annotations

import csv
import difflib
import re
from pathlib import Path
from typing import NamedTuple

from stepscope.core.errors import UsageError

PROCESSOR = "CPU"


class GpuSpec(NamedTuple):
    """One GPU. `reaches` is the share of `tflops` that large matrix products get in published measurements."""

    name: str
    tflops: float
    gbps: float  # memory bandwidth, GB/s
    gb: float
    watts: float  # board power limit
    reaches: float
    has_bf16: bool = True
    link_gbps: float = 12.0  # to its neighbours, GB/s and direction: PCIe 4, or NVLink where it has it
    float32_share: float = 0.25  # rate as a share of the 16-bit one: TF32 has half of it, and moves twice the bytes
    units: int = 0  # streaming multiprocessors, or compute units; 0 for what was measured
    ops: int = 0  # floating-point operations per clock and unit
    mhz: int = 0  # boost clock
    is_compared: bool = False  # whether `tflops` was checked against a published rate; else by units and clock alone
    source: str = "measured"

    @property
    def memory(self) -> int:
        """Bytes of memory that a process can hope for."""
        return round(self.gb * (1 << 30) * 0.98)

    @property
    def is_processor(self) -> bool:
        """Whether this is no GPU but the machine's processor, as measured."""
        return self.name == PROCESSOR

    @property
    def formula_tflops(self) -> float:
        """What units, operations and clock come to."""
        return self.units * self.ops * self.mhz / 1e6


def _read() -> tuple[GpuSpec, ...]:
    """The table, in its order."""
    text = (Path(__file__).parent / "gpus.csv").read_text(encoding="utf-8")
    return tuple(
        GpuSpec(
            name=row["name"],
            tflops=float(row["tflops"]),
            gbps=float(row["gbps"]),
            gb=float(row["gb"]),
            watts=float(row["watts"]),
            reaches=float(row["reaches"]),
            has_bf16=row["bf16"] == "yes",
            link_gbps=float(row["link_gbps"]),
            units=int(row["units"]),
            ops=int(row["ops"]),
            mhz=int(row["mhz"]),
            is_compared=row["compared"] == "yes",
            source=row["source"],
        )
        for row in csv.DictReader(text.splitlines())
    )


GPUS = _read()
# The model that a bare family name means.
_COMMON = {
    "a100": "A100 40GB",
    "h100": "H100 SXM",
    "h10080gb": "H100 SXM",
    "v10016gb": "V100",
    "rtx6000adageneration": "RTX 6000 Ada",
}
_NOISE = re.compile(r"nvidia|geforce|tesla|graphics|laptop gpu|sxm\d|hbm\d\w?|pcie(?=-?\d)|[\s_-]")


def find_gpu(text: str) -> GpuSpec:
    """The GPU that somebody means by `4070`, `RTX 4070 Ti` or `NVIDIA A100-SXM4-80GB`; else an error that helps."""
    gpu = known_gpu(text)
    if gpu is not None:
        return gpu
    raise UsageError("unknown-card", place=text, known=", ".join(close_names(text)))


def close_names(text: str) -> list[str]:
    """GPUs whose names look like `text`; all of them when none does."""
    names = [gpu.name for gpu in GPUS]
    near = difflib.get_close_matches(text.upper(), [name.upper() for name in names], n=4, cutoff=0.4)
    return [name for name in names if name.upper() in near] or names


def known_gpu(text: str) -> GpuSpec | None:
    """The GPU that `text` names, or None."""
    wanted = _plain(text)
    if wanted in _COMMON:
        wanted = _plain(_COMMON[wanted])
    for gpu in GPUS:
        if wanted in {_plain(gpu.name), _plain(gpu.name).removeprefix("rtx")}:
            return gpu
    return None


def _plain(text: str) -> str:
    return _NOISE.sub("", text.lower())
