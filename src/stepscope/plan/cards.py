"""The cards: what each can do at best, and how to find one by what people call it.

`tflops` is the dense rate of the tensor cores for 16-bit inputs with 32-bit accumulation, which is what training uses.
On consumer cards that is half of the advertised figure (accumulation in 16 bits) and a quarter of the sparse one:
SMs x FLOPs per clock and SM x boost clock, with 512 on GeForce 30/40/50, 1,024 on A10/A40/A6000/L4/L40S/6000 Ada and
on V100/T4 (fp16), 2,048 on A100/A30, 4,096 on H100. Vendors' data sheets agree within 4 %.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from stepscope.errors import UsageError


class Card(NamedTuple):
    """One card. `reaches` is the share of `tflops` that large matrix products get in published measurements."""

    name: str
    tflops: float
    gbps: float  # memory bandwidth, GB/s
    gb: float
    watts: float  # board power limit
    reaches: float
    has_bf16: bool = True
    link_gbps: float = 12.0  # to its neighbours, GB/s and direction: PCIe 4, or NVLink where it has it
    float32_share: float = 0.25  # of the 16-bit rate: TF32 is half of it, and twice the bytes

    @property
    def memory(self) -> int:
        """Bytes of memory that a process can hope for."""
        return round(self.gb * (1 << 30) * 0.98)


# Public GEMM tables (bf16): GeForce 97 to 113 % of the nominal rate (they boost above it), A100/H100 80 to 85 %,
# B200 75 %; workstation Ampere/Ada and the inference cards are power-limited and lie between.
_GEFORCE, _WORKSTATION, _DATACENTRE = 1.0, 0.85, 0.82
_NVLINK = 200.0

CARDS: tuple[Card, ...] = (
    Card("RTX 2080 Ti", 53.8, 616, 11, 250, _GEFORCE, has_bf16=False),
    Card("RTX 3060", 25.5, 360, 12, 170, _GEFORCE),
    Card("RTX 3060 Ti", 32.4, 448, 8, 200, _GEFORCE),
    Card("RTX 3070", 40.6, 448, 8, 220, _GEFORCE),
    Card("RTX 3080", 59.5, 760, 10, 320, _GEFORCE),
    Card("RTX 3080 Ti", 68.2, 912, 12, 350, _GEFORCE),
    Card("RTX 3090", 71.2, 936, 24, 350, _GEFORCE),
    Card("RTX 3090 Ti", 80.0, 1008, 24, 450, _GEFORCE),
    Card("RTX 4060", 30.2, 272, 8, 115, _GEFORCE),
    Card("RTX 4060 Ti", 44.1, 288, 16, 165, _GEFORCE),
    Card("RTX 4070", 58.3, 504, 12, 200, _GEFORCE),
    Card("RTX 4070 SUPER", 71.0, 504, 12, 220, _GEFORCE),
    Card("RTX 4070 Ti", 80.2, 504, 12, 285, _GEFORCE),
    Card("RTX 4070 Ti SUPER", 88.2, 672, 16, 285, _GEFORCE),
    Card("RTX 4080", 97.5, 717, 16, 320, _GEFORCE),
    Card("RTX 4080 SUPER", 104.4, 736, 16, 320, _GEFORCE),
    Card("RTX 4090", 165.2, 1008, 24, 450, _GEFORCE),
    Card("RTX 5060 Ti", 47.4, 448, 16, 180, _GEFORCE),
    Card("RTX 5070", 61.7, 672, 12, 250, _GEFORCE),
    Card("RTX 5070 Ti", 87.9, 896, 16, 300, _GEFORCE),
    Card("RTX 5080", 112.6, 960, 16, 360, _GEFORCE),
    Card("RTX 5090", 209.5, 1792, 32, 575, _GEFORCE),
    Card("RTX A4000", 76.7, 448, 16, 140, _WORKSTATION),
    Card("RTX A5000", 111.1, 768, 24, 230, _WORKSTATION),
    Card("RTX A6000", 154.8, 768, 48, 300, _WORKSTATION),
    Card("RTX 6000 Ada", 364.0, 960, 48, 300, _WORKSTATION),
    Card("T4", 65.0, 320, 16, 70, 0.6, has_bf16=False),
    Card("V100", 125.0, 900, 16, 300, _DATACENTRE, has_bf16=False, link_gbps=100.0),
    Card("V100 32GB", 125.0, 900, 32, 300, _DATACENTRE, has_bf16=False, link_gbps=100.0),
    Card("A10", 125.0, 600, 24, 150, 0.7),
    Card("A30", 165.0, 933, 24, 165, _DATACENTRE),
    Card("A40", 149.7, 696, 48, 300, _WORKSTATION),
    Card("A100 40GB", 312.0, 1555, 40, 400, _DATACENTRE, link_gbps=_NVLINK),
    Card("A100 80GB", 312.0, 2039, 80, 400, _DATACENTRE, link_gbps=_NVLINK),
    Card("L4", 121.0, 300, 24, 72, 0.7),
    Card("L40", 181.0, 864, 48, 300, _WORKSTATION),
    Card("L40S", 362.0, 864, 48, 350, 0.75),
    Card("H100 PCIe", 756.0, 2000, 80, 350, 0.7),
    Card("H100 SXM", 989.0, 3350, 80, 700, _DATACENTRE, link_gbps=300.0),
    Card("H200", 989.0, 4800, 141, 700, _DATACENTRE, link_gbps=300.0),
    Card("B200", 2250.0, 8000, 180, 1000, 0.75, link_gbps=600.0),
    Card("MI300X", 1307.0, 5300, 192, 750, 0.5, link_gbps=200.0),
)
# What a bare family name means.
_COMMON = {
    "a100": "A100 40GB",
    "h100": "H100 SXM",
    "h10080gb": "H100 SXM",
    "v10016gb": "V100",
    "rtx6000adageneration": "RTX 6000 Ada",
}
_NOISE = re.compile(r"nvidia|geforce|tesla|graphics|laptop gpu|sxm\d|hbm\d\w?|pcie(?=-?\d)|[\s_-]")


def find_card(text: str) -> Card:
    """The card that somebody means by `4070`, `RTX 4070 Ti` or `NVIDIA A100-SXM4-80GB`; else an error that helps."""
    card = known_card(text)
    if card is not None:
        return card
    names = [card.name for card in CARDS]
    near = difflib.get_close_matches(text.upper(), [name.upper() for name in names], n=4, cutoff=0.4)
    close = [name for name in names if name.upper() in near] or names
    raise UsageError("unknown-card", place=text, known=", ".join(close))


def known_card(text: str) -> Card | None:
    """The card that `text` names, or None."""
    wanted = _plain(text)
    if wanted in _COMMON:
        wanted = _plain(_COMMON[wanted])
    for card in CARDS:
        if wanted in {_plain(card.name), _plain(card.name).removeprefix("rtx")}:
            return card
    return None


def _plain(text: str) -> str:
    return _NOISE.sub("", text.lower())
