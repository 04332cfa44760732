"""Print a log again at the pace at which it was written.

stepscope replay train.log --speed 50 | stepscope watch - --max-steps 5000
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from stepscope.cli._flags import add_language_argument, number
from stepscope.core.errors import UsageError

if TYPE_CHECKING:
    from stepscope.run.model import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log and the pace."""
    parser.add_argument("log", metavar="LOG", help="Log file to print")
    parser.add_argument(
        "--speed",
        type=number("--speed", "bad-speed", lambda speed: speed > 0),
        default=1.0,
        metavar="X",
        help="Speed relative to the original (default: 1)",
    )
    add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from stepscope.reading.reader import read
    from stepscope.source.files import resolve

    if args.log == "-":
        raise UsageError("replay-file", place="-")
    waits = _waits(read(args.log), args.speed)
    number, due = 0, time.monotonic()
    for source in resolve(args.log):
        rest = b""
        for chunk in source.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                number += 1
                due += waits.get(number, 0.0)
                pause = due - time.monotonic()
                if pause > 0:
                    sys.stdout.flush()
                    time.sleep(pause)
                sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.write(rest)
    sys.stdout.flush()
    return 0


def _waits(run: Run, speed: float) -> dict[int, float]:
    """Seconds before each line whose moment is known."""
    import numpy as np

    from stepscope.live.arrivals import arrivals

    lines, moments = arrivals(run)
    return dict(zip(lines.tolist(), (np.diff(moments, prepend=0.0) / speed).tolist(), strict=True))
