"""C11: the loader's workers cannot keep up.

What it looks at
    Slow steps at a spacing equal to the number of workers, of changing height; and waits for data that the log prints.

Why it costs time
    W workers hand over W batches at about the same time; when each takes longer than W steps, the queue is empty
    after them and every W-th step waits.

Example
    Seven steps of 0.2 s, then one of 1.1 s, again and again, with `num_workers = 8`.

What to change
    More workers or prefetch, cheaper decoding, a cache of decoded samples, `pin_memory=True`, a faster disk.
"""

from __future__ import annotations

from stepscope.causes._evidence import Rhythmic
from stepscope.core.message import Decimal, Share, say
from stepscope.ledger.phases import Finding

CODE = "C11"
PLACE = 60
_MOST_WORKERS = 64
_ALIKE = 0.15


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb as wide as there are workers, or as there may well be."""
    period = rhythm.period
    workers = rhythm.evidence.run.settings.count("num_workers")
    if not period.is_whole or not 2 <= period.every <= _MOST_WORKERS:
        return None
    every = Decimal(period.every, 0)
    if workers is not None and period.every in {workers, 2 * workers}:
        return Finding(CODE, "data", "data", 0.9, period.each_s, say("cause-c11-workers", count=workers))
    if workers is not None:
        return None
    # Waits are as long as the batch at hand is late; an optimizer's extra work always takes the same.
    varies = period.spread > _ALIKE
    message = say("cause-c11-evidence", every=every, share=Share(period.spread))
    return Finding(CODE, "data", "data", 0.65 if varies else 0.3, period.each_s, message)
