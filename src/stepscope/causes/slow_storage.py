"""C14: data comes from slow or distant storage.

What it looks at
    Lines about files fetched over the network, and how long those took against others of their kind.

Why it costs time
    A streamed data set waits for the network; a shared file system for its other users; a disk without cache for its
    own writes. GPU load of 100 % and no I/O wait do not acquit it.

Example
    A request for the next file answered after 5.5 s, all others after 0.1 s.

What to change
    Fetch ahead in a thread or process, copy the data to a local disk first, more than one shard in flight.
"""

from __future__ import annotations

import re

from stepscope.causes._evidence import Case, Evidence
from stepscope.columns.statistics import median
from stepscope.core.message import Seconds, say
from stepscope.core.units import NS
from stepscope.ledger.phases import Finding
from stepscope.run.model import NO_TIME, Floats, RemarkKind

CODE = "C14"
PLACE = 13
_FETCH = re.compile(r"HTTP Request: GET|[Dd]ownloading|[Ff]etching|urlopen|s3://|gs://")
_UNUSUAL = 5.0
_ENOUGH = 5


def explain_step(case: Case) -> Finding | None:
    """A fetch within the row that took far longer than its kind does."""
    if not case.stall_s:
        return None
    for kind, index in case.evidence.remarks_at(case.row):
        line = int(kind.line[index])
        if not _FETCH.search(case.evidence.text(line)):
            continue
        own, answers = _answer_s(kind, index), _answers_s(case.evidence, kind)
        usual = float(median(answers)) if len(answers) >= _ENOUGH else None
        if own is None or usual is None or own < _UNUSUAL * max(usual, 1e-3) or own < 0.2 * case.stall_s:
            continue
        message = say("cause-c14-evidence", own=Seconds(own), usual=Seconds(usual), count=len(answers) - 1)
        lines = (line, int(kind.line[index + 1]))
        return Finding(CODE, "data", "data", 0.8, case.stall_s, message, lines)
    return None


def _answer_s(kind: RemarkKind, index: int) -> float | None:
    """Seconds from a fetch's line to the next of its kind before the same row."""
    if index + 1 >= len(kind.row) or kind.row[index + 1] != kind.row[index]:
        return None
    if NO_TIME in (kind.t_ns[index], kind.t_ns[index + 1]):
        return None
    return float(kind.t_ns[index + 1] - kind.t_ns[index]) / NS


def _answers_s(evidence: Evidence, kind: RemarkKind) -> Floats:
    """What such fetches take."""
    paired = (kind.row[1:] == kind.row[:-1]) & (kind.t_ns[1:] != NO_TIME) & (kind.t_ns[:-1] != NO_TIME)
    seconds: Floats = (kind.t_ns[1:] - kind.t_ns[:-1])[paired & (kind.row[1:] < len(evidence.run))] / NS
    return seconds
