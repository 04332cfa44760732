"""What every part of an attribution looks at and writes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepscope.ledger.accounts import Books
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.prices import Pricing
from stepscope.ledger.timestamps import StampEvidence
from stepscope.run.model import Floats, Run
from stepscope.run.stops import Stop


class Attribution(NamedTuple):
    """One attribution in progress. `timed`: stops by the row that holds them; `step_s`: seconds of one step, by row."""

    run: Run
    stops: Sequence[Stop]
    timed: dict[int, Stop]
    baseline: Baseline
    step_s: Floats
    stamps: StampEvidence | None
    pricing: Pricing
    books: Books
