"""Small logs for the tests of the fleet, written by hand."""

from __future__ import annotations

import random


def nanogpt_log(*, seed: int, step_ms: float = 100.0, steps: int = 400, first: int = 0) -> str:
    """A log of nanoGPT: a line every 10 steps, an evaluation every 100."""
    dice = random.Random(seed)
    lines = ["tokens per iteration will be: 32,768", "number of parameters: 10.65M"]
    for step in range(first, first + steps + 1, 10):
        extra = 0.0
        if step % 100 == 0:
            lines += [f"step {step}: train loss {3 + dice.random():.4f}, val loss {3 + dice.random():.4f}"]
            lines += ["saving checkpoint to out"] if step else []
            extra = 2000.0
        lines.append(
            f"iter {step}: loss {3 + dice.random():.4f}, time {step_ms * dice.uniform(0.97, 1.03) + extra:.2f}ms"
        )
    return "\n".join(lines) + "\n"
