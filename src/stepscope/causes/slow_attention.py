"""C26: attention or arithmetic falls back to a slow path.

What it looks at
    The header: a warning about slow attention, and 32-bit floats on a GPU.

Why it costs time
    Without a fused kernel attention writes its whole matrix to memory; 32-bit floats leave the tensor cores idle. The
    whole run is slower, no step more than another, so no timing shows it.

Example
    `WARNING: using slow attention`: 300 ms per step where the fused kernel takes 36 ms.

What to change
    PyTorch 2 or later (`scaled_dot_product_attention`), `dtype = 'bfloat16'` (or `'float16'` before Ampere).
"""

from __future__ import annotations

from stepscope.causes._evidence import Evidence
from stepscope.core.message import say
from stepscope.ledger.phases import Finding

CODE = "C26"
PLACE = 201


def explain_run(evidence: Evidence) -> Finding | None:
    """What the header says."""
    settings = evidence.run.settings
    if settings.truth("slow_attention"):
        return Finding(CODE, "attention", None, 0.95, 0.0, say("cause-c26-attention"))
    dtype, device = settings.get("dtype"), settings.get("device")
    on_gpu = device is None or not str(device.value).startswith(("cpu", "mps"))
    is_stated = dtype is not None and dtype.origin != "default"
    if dtype is not None and is_stated and str(dtype.value) in {"float32", "fp32"} and on_gpu:
        return Finding(CODE, "attention", None, 0.6, 0.0, say("cause-c26-dtype"))
    return None
