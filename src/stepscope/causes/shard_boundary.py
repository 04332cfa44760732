"""C09: the loader opens the next data shard.

What it looks at
    Slow steps at a spacing that is no whole number of steps, or at two spacings side by side that drift apart; and
    whether that spacing is a usual shard's tokens over the tokens of a step.

Why it costs time
    Tokens per shard do not divide by tokens per step, so the boundary wanders; ranks that reach it at different steps
    make two combs. Every rank waits for the one that reads.

Example
    140 ms per step, 300 ms at 189, 378, 567 … and at 190, 380, 570 …: shards of 100 million tokens, 524,288 a step.

What to change
    Read the next shard in a thread before the last one ends, or map shards into memory.
"""

from __future__ import annotations

from stepscope.causes._evidence import Rhythmic
from stepscope.core.message import Decimal, say
from stepscope.ledger.phases import Finding

CODE = "C09"
PLACE = 50
_NEAR = 0.03
# Tokens of a shard as data sets are usually cut.
_SHARDS = (100_000_000, 200_000_000, 10_000_000, 50_000_000, 250_000_000, 500_000_000, 1_000_000_000)


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb that is no whole number, has a twin, or matches a shard's tokens."""
    period = rhythm.period
    if period.every < 8 or period.nested_in is not None:
        return None
    twin = next((own for own in rhythm.others if 0 < abs(own.every / period.every - 1) < _NEAR), None)
    if twin is not None:
        message = say("cause-c09-twins", first=_steps(period.every), second=_steps(twin.every))
        return Finding(CODE, "data", "data", 0.9, period.each_s, message)
    tokens = rhythm.evidence.run.settings.count("tokens_per_step")
    shard = next((size for size in _SHARDS if tokens and abs(size / tokens / period.every - 1) < 0.005), None)
    if shard is not None and tokens:
        message = say("cause-c09-tokens", every=_steps(period.every), shard=shard, tokens=tokens)
        return Finding(CODE, "data", "data", 0.9, period.each_s, message)
    if not period.is_whole:
        message = say("cause-c09-evidence", every=_steps(period.every), count=period.num_events)
        return Finding(CODE, "data", "data", 0.8, period.each_s, message)
    round_number = period.every % 5 == 0 or int(period.every) & (int(period.every) - 1) == 0
    message = say("cause-c09-whole", every=_steps(period.every))
    return Finding(CODE, "data", "data", 0.25 if round_number else 0.5, period.each_s, message)


def _steps(every: float) -> Decimal:
    return Decimal(every, 0 if float(every).is_integer() else 2)
