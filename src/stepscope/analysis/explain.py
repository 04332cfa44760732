"""Run → Report, from top to bottom: the page to read first."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from stepscope.analysis.quotes import quoted_lines
from stepscope.analysis.report import Ask, Report
from stepscope.analysis.side_files import FindPrevious, read_side_files
from stepscope.audit._lacks import qualified
from stepscope.causes._diagnose import diagnose
from stepscope.core.settings import Value
from stepscope.forecast.finish import forecast
from stepscope.ledger.attribute import attribute
from stepscope.ledger.thinning import thinned
from stepscope.reading.again import lines_again
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware


def explain(
    run: Run,
    *,
    config: Mapping[str, Value] | None = None,
    flags: Mapping[str, Value] | None = None,
    hardware: Hardware | None = None,
    gpu: str | None = None,
    now: dt.datetime | None = None,
    fallback_now: dt.datetime | None = None,
    confidence: float = 0.9,
    may_lose_s: float | None = None,
    previous: FindPrevious | None = None,
    has_gpu_log: bool = True,
) -> Report:
    """Everything Stepscope has to say about `run`.

    config
        The run's settings as a config file states them, under the trainer's own names.
    flags
        Settings that the user states: they win over the log and the config.
    hardware
        The GPU at one moment, such as a saved `nvidia-smi` table.
    gpu
        The name of the GPU.
    now
        The moment of the last line.
    fallback_now
        The moment of the last line where nothing else says.
    confidence
        How likely the truth is inside each interval.
    may_lose_s
        The work, in seconds, that may be lost in a crash.
    previous
        Finds complete runs of the same program, whose step cost is followed where it changes during training.
    has_gpu_log
        Whether samples of the GPU next to the log are read.
    """
    ask = Ask(now=now, fallback_now=fallback_now, gpu=gpu, confidence=confidence, may_lose_s=may_lose_s)

    run = with_settings(thinned(run), config=config, flags=flags)
    side_files = read_side_files(run, hardware=hardware, previous=previous, has_gpu_log=has_gpu_log)
    ledger = attribute(run, confidence=confidence, spans=side_files.spans, records=side_files.records)
    ledger = diagnose(ledger, run, side_files.hardware)
    finish = qualified(forecast(run, ledger, confidence=confidence, previous=side_files.previous), run)
    quoted = lines_again(run, quoted_lines(run, ledger))
    return Report(run=run, ledger=ledger, forecast=finish, side_files=side_files, ask=ask, quoted=quoted)
