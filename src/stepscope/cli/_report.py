"""From the arguments to a Report: read the log and the files given with it, then explain the run."""

from __future__ import annotations

import argparse
import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.cli._answer import chosen_languages
from stepscope.cli._progress import Progress
from stepscope.core import clock, units
from stepscope.core.errors import InputError
from stepscope.core.settings import Value
from stepscope.source.wall_time import recorded_job_end

if TYPE_CHECKING:
    from stepscope.analysis.report import Report
    from stepscope.run.model import Run
    from stepscope.source.hardware import Hardware


def build_report(args: argparse.Namespace, *, ask_gpu: bool = False) -> Report:
    """Read the log the arguments name and explain it.

    With `ask_gpu`, the GPU of this machine is asked where neither a flag nor a table names one.
    """
    from stepscope.reading.reader import read, read_sources

    flags = stated_settings(args)
    config, hardware = read_companions(args)
    progress = Progress(args.log)
    heads = getattr(args, "heads", None)  # of a folder's only run
    if heads is None:
        run = read(*args.log, progress=progress)
    else:
        run = read_sources([head.source for head in heads], heads=heads, progress=progress)
    progress.clear()
    if ask_gpu:
        from stepscope.cli import _gpu

        _gpu.warn_of_unknown(args.gpu, chosen_languages(args)[0])
        if hardware is None and args.gpu is None:
            hardware = _gpu.hardware_for(list(run.paths))
    return explain_run(run, args, flags=flags, config=config, hardware=hardware, previous=_previous(args))


def explain_run(
    run: Run,
    args: argparse.Namespace,
    *,
    flags: dict[str, Value],
    config: dict[str, Value] | None,
    hardware: Hardware | None,
    previous: Callable[[Run], list[Run]] | None = None,
) -> Report:
    """The report of a run under the arguments.

    `flags` are the settings stated on the command line, `config` those of a settings file. `hardware` is the GPU as a
    saved table or this machine shows it. `previous` finds earlier runs of the same program for the forecast.
    """
    from stepscope.analysis.explain import explain

    if args.strict and run.num_unread:
        line, text = run.first_unread[0]
        place = f"{', '.join(run.paths)}:{line}"
        raise InputError("unread-lines", place=place, excerpt=text, count=run.num_unread, path=run.paths[0])
    report = explain(
        run,
        config=config,
        flags=flags,
        hardware=hardware,
        gpu=args.gpu,
        now=_stated_moment(args, run, hardware.time if hardware else None),
        fallback_now=clock.now(),
        confidence=args.confidence,
        previous=previous,
    )
    return report.asked(deadline=_deadline(args, report), price=getattr(args, "price", None))


def _previous(args: argparse.Namespace) -> Callable[[Run], list[Run]] | None:
    """How previous runs of the same program are found: the one stated, else by looking around in the log's folder."""
    if "like" not in args:
        return None
    from stepscope.forecast import previous

    if args.like is None:
        return previous.find_previous
    return lambda run: [previous.read_like(run, args.like)]


def _deadline(args: argparse.Namespace, report: Report) -> dt.datetime | None:
    """`--deadline`, else the end of the job that a recording was made in; a bare clock time is the next one."""
    if getattr(args, "deadline", None) is None:
        ends = [end for path in report.run.paths if (end := recorded_job_end(Path(path))) is not None]
        return dt.datetime.fromtimestamp(ends[-1], dt.UTC).astimezone() if ends else None
    since = (report.moment or clock.now()).astimezone()
    deadline = units.parse_moment(args.deadline, day=since.date())
    if deadline is not None and deadline < since and re.fullmatch(r"[\d:]{4,8}", args.deadline.strip()):
        deadline = units.parse_moment(args.deadline, day=since.date() + dt.timedelta(days=1))
    return deadline


def read_companions(args: argparse.Namespace) -> tuple[dict[str, Value] | None, Hardware | None]:
    """The config and the nvidia-smi table, where given; before the log, so that a wrong path fails at once."""
    config, hardware = read_config_of(args), None
    if args.nvidia_smi:
        from stepscope.source.nvidia_smi import read_nvidia_smi

        hardware = read_nvidia_smi(Path(args.nvidia_smi))
    return config, hardware


def read_config_of(args: argparse.Namespace) -> dict[str, Value] | None:
    """The config, where given."""
    if not args.config:
        return None
    from stepscope.core.configfile import read_config

    return read_config(Path(args.config))


def stated_settings(args: argparse.Namespace) -> dict[str, Value]:
    """What `--set` and `--max-steps` state."""
    flags: dict[str, Value] = dict(args.set)
    if args.max_steps is not None:
        flags["max_steps"] = args.max_steps
    return flags


def _stated_moment(args: argparse.Namespace, run: Run, table_time: dt.datetime | None) -> dt.datetime | None:
    """`--now`; a bare clock time lies on the day of the nvidia-smi table or the last timestamp, else today."""
    if args.now is None:
        return None
    day = clock.now().date()
    if table_time is not None:
        day = table_time.date()
    elif run.stamps is not None and run.stamps.dated:
        # A timestamp without an offset is local time already.
        zone = None if run.stamps.zoned else dt.UTC
        day = dt.datetime.fromtimestamp(run.stamps.last_ns / units.NS, zone).date()
    return units.parse_moment(args.now, day=day)
