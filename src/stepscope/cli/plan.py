"""Predict whether a run fits a GPU and how long it will take.

    stepscope plan --gpu 4070 --config config/train_gpt2.py
    stepscope plan --gpu 4070,4080,4090 --config train.py --write configs/
    stepscope plan --gpu 4090 --from train.log --nvidia-smi smi.txt    170 ms on my GPU; how long on a 4090?
    stepscope plan --calibrate --params 124M --max-steps 5000          measures this machine instead of looking it up

Predictions come from the model's shape and the GPU's data sheet, with the spread that published figures show around
them; one measured run (--from) narrows it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from pathlib import Path

from stepscope.cli import _answer, _flags
from stepscope.cli._plan_subject import Seen, find_subject, known_about
from stepscope.cli._write import make_folder, write_file
from stepscope.core import clock, units
from stepscope.core.errors import UsageError
from stepscope.core.message import say
from stepscope.core.price import parse_price
from stepscope.i18n import Language
from stepscope.plan.build import plan_gpu
from stepscope.plan.gpus import GpuSpec, find_gpu
from stepscope.report import plan_json, plan_markdown, plan_terminal
from stepscope.report.plan_table import PlanReport, settings_lines

_FORMATS = ("terminal", "json", "markdown")
_SHAPE_FLAGS = {
    "--layers": "Number of layers",
    "--hidden": "Width of the model",
    "--vocab": "Vocabulary size (default: 50,304)",
    "--context": "Tokens in a sequence (default: 1,024)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The GPU, the model, the run, and how to answer."""
    parser.add_argument(
        "--gpu",
        metavar="NAME[,NAME…]",
        help="GPUs to plan for, such as 4070, A100 or H100 SXM (default: that of the log, else this machine's)",
    )
    parser.add_argument(
        "--devices",
        metavar="N",
        type=_flags.whole_number("--devices", "bad-devices", below=100_001),
        default=1,
        help="GPUs in one machine (default: 1)",
    )
    _add_model_arguments(parser)
    parser.add_argument("--from", dest="log", metavar="LOG", help="Log to calibrate with, from this or another GPU")
    parser.add_argument("--from-gpu", metavar="NAME", help="GPU that wrote that log (default: the one in --nvidia-smi)")
    parser.add_argument("--nvidia-smi", metavar="FILE", help="Saved nvidia-smi table of that GPU")
    parser.add_argument(
        "--calibrate", action="store_true", help="Measure this machine for a few seconds and use the result"
    )
    parser.add_argument(
        "--price", metavar="P[/h|/kWh]", type=parse_price, help="Price of one GPU for an hour, or of a kilowatt-hour"
    )
    parser.add_argument(
        "--now",
        metavar="TIME",
        type=_flags.moment("bad-moment"),
        help="Start of the run: 02:30, an ISO date, or Unix seconds (default: now)",
    )
    parser.add_argument(
        "--write", metavar="FOLDER", help="Write the proposed settings to this folder, one config file per GPU"
    )
    _flags.add_one_file_arguments(parser, formats=_FORMATS)


def _add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The model and its training, by a config or one by one."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="File with the settings: nanoGPT's config.py (read, never executed) or a Hugging Face config.json",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        type=_flags.model_setting,
        default=[],
        help="Setting that overrides the config, such as n_layer=12; may be repeated",
    )
    parser.add_argument("--params", metavar="N", type=_parameters, help="Number of parameters, such as 124M")
    for flag, text in _SHAPE_FLAGS.items():
        parser.add_argument(flag, metavar="N", type=_flags.whole_number(flag, "plan-bad-shape"), help=text)
    parser.add_argument(
        "--max-steps",
        metavar="N",
        type=_flags.whole_number("--max-steps", "bad-max-steps", below=10**12),
        help="Number of the run's last step",
    )


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    language = _answer.chosen_languages(args)[0]
    report = _plan(args, language)
    if args.format == "json":
        text = plan_json.render(report, language)
    elif args.format == "markdown":
        text = plan_markdown.render(report, language)
    else:
        text = plan_terminal.render(report, language, width=_answer.terminal_size(args)[0])
    if args.output:
        write_file(args.output, text)
    else:
        _answer.put_out(text, args.format)
    if args.write:
        _write_configs(report, Path(args.write), language)
    return 0


def _plan(args: argparse.Namespace, language: Language) -> PlanReport:
    """The plan for every GPU asked for."""
    subject = find_subject(args)
    measured = None
    if args.calibrate:
        from stepscope.plan.calibrate import measure

        print(language.text("plan-calibrating"), file=sys.stderr)
        measured = measure(Path.cwd())
        subject.notes.append(
            say(
                "plan-note-calibrated",
                gpu=measured.gpu.name,
                tflops=language.number(measured.gpu.tflops, 2),
                bandwidth=language.number(measured.gpu.gbps, 0),
                disk=language.number(measured.disk_bytes_per_s / 1e6, 0),
            )
        )
    gpus = [measured.gpu] if measured and not args.gpu else _gpus(args, subject.seen)
    training = subject.training
    if measured and measured.gpu.is_processor and not args.gpu:
        training = training._replace(dtype="float32")
    disk = measured.disk_bytes_per_s if measured else None
    return PlanReport(
        shape=subject.shape,
        training=training,
        cards=tuple(
            plan_gpu(
                subject.shape,
                training,
                gpu,
                devices=args.devices,
                known=known_about(subject, gpu)._replace(disk_bytes_per_s=disk),
            )
            for gpu in gpus
        ),
        derived=subject.derived,
        notes=tuple(subject.notes),
        price=args.price,
        now=_start(args),
        config=subject.config,
    )


def _write_configs(report: PlanReport, folder: Path, language: Language) -> None:
    """Write the proposed settings of each GPU into a config file of its own."""
    make_folder(folder)
    for plan in report.cards:
        if plan.proposed is not None:
            path = folder / f"train_{re.sub(r'[^a-z0-9]+', '_', plan.gpu.name.lower())}.py"
            write_file(path, "\n".join(settings_lines(plan, report.config)) + "\n")
            print(language.text("written", path=str(path)), file=sys.stderr)


def _start(args: argparse.Namespace) -> dt.datetime:
    now = clock.now()
    stated = units.parse_moment(args.now, day=now.date()) if args.now else None
    return (stated or now).astimezone()


def _parameters(text: str) -> float:
    """The number of parameters in `124M`."""
    count = units.parse_count(text)
    if count is None:
        raise UsageError("bad-parameters", place=f"--params {text}")
    return count


def _gpus(args: argparse.Namespace, seen: Seen | None) -> list[GpuSpec]:
    """The GPUs to plan for: those named, that of the log, or that of this machine."""
    if args.gpu:
        found = [find_gpu(name) for name in args.gpu.split(",") if name.strip()]
        if not found:
            raise UsageError("plan-needs-card", place=f"--gpu {args.gpu}")
        return list(dict.fromkeys(found))
    if seen is not None:
        return [seen.gpu]
    from stepscope.cli._gpu import installed_hardware

    hardware = installed_hardware()
    if hardware is None or hardware.gpu is None:
        raise UsageError("plan-needs-card", place="stepscope plan")
    return [find_gpu(hardware.gpu)]
