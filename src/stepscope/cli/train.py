"""The nanoGPT-compatible trainer that accounts for its own time

Without arguments: a small network learns Python from the sources of the standard library, on the CPU, in a minute or
two. With a config file: nanoGPT's settings and defaults, and flags on top, as in nanoGPT (--batch_size=32). Config
files are read, never run. Several processes share the work: torchrun --nproc_per_node=2 -m stepscope train …
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.cli import _answer, _flags, _trainer
from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import Argument, Decimal, Seconds
from stepscope.core.redact import redact

if TYPE_CHECKING:
    from stepscope.i18n import Language
    from stepscope.trainer.config import Plain

_SAMPLE_TOKENS = 400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One flag per setting, under nanoGPT's names."""
    from stepscope.trainer.config import ABOUT, NAMES, SMALL, TrainConfig

    defaults = TrainConfig()
    parser.add_argument("config", nargs="*", metavar="CONFIG.py", help="Config files of nanoGPT, read in this order")
    parser.add_argument(
        "--lang",
        metavar="L",
        type=_flags.language_codes,
        help="Language of messages outside the log (default: the locale's)",
    )
    for name in NAMES:
        default = f"default: {value}" if (value := getattr(defaults, name)) != "" else ""
        if name in SMALL:
            default += f"; without a config file: {SMALL[name]}"
        help_text = ABOUT[name] + (f" ({default})" if default else "")
        # nanoGPT's configs have these; there is nothing here that they could change.
        shown = argparse.SUPPRESS if name.startswith("wandb_") else help_text.replace("%", "%%")
        parser.add_argument(f"--{name}", metavar="X", type=partial(_setting, name), help=shown)


def _setting(name: str, text: str) -> Plain:
    """The value of a setting as nanoGPT reads it."""
    from stepscope.trainer.config import parse_flag

    with _trainer.translated_errors():
        return parse_flag(name, text)


def run(args: argparse.Namespace) -> int:
    """Train, then say where the time went."""
    code = _train(args)
    if os.environ.get("WORLD_SIZE", "1") != "1":
        # DistributedDataParallel keeps the process group alive, and with it gloo's threads. One of them that lets go
        # of a tensor while the interpreter is being taken down aborts the process: a good run would end as a failure.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _train(args: argparse.Namespace) -> int:
    language = _answer.chosen_languages(args)[0]
    if os.name != "posix":
        raise UsageError("needs-posix", place="stepscope train")
    _trainer.need_torch()
    with _trainer.translated_errors():
        layers, header = _settings(args)
        from stepscope.trainer.accounts import process_start_ns
        from stepscope.trainer.config import build

        config = build(*layers)
        voice = _Voice(language)
        if config.wandb_log:
            voice.say("train-no-wandb")
        voice.say("train-loading")
        from stepscope.trainer.train import train

        outcome = train(
            config,
            say=voice.say,
            show=voice.show,
            header=header,
            started_ns=process_start_ns(),
            sample_tokens=0 if args.config else _SAMPLE_TOKENS,
        )
    if os.environ.get("RANK", "0") != "0":
        return 0 if outcome.stopped_by is None else 128 + outcome.stopped_by
    voice.clear()
    if outcome.sample is not None:
        print(language.text("train-sample") + "\n" + outcome.sample + "\n", file=sys.stderr)
    print(ledger_text(outcome.ledger, language), file=sys.stderr)
    if outcome.unsaved is not None:
        raise InputError(
            "train-not-saved",
            place=config.out_dir,
            iteration=outcome.unsaved.iteration,
            reason=outcome.unsaved.problem,
            saved=outcome.last_saved,
        )
    if outcome.stopped_by is None:
        print(language.text("train-more", folder=config.out_dir), file=sys.stderr)
        return 0
    again = [word for word in sys.argv[1:] if not word.startswith("--init_from")]
    command = shlex.join([*_launcher(), *again, "--init_from=resume"])
    name = signal.Signals(outcome.stopped_by).name
    said = language.text("train-stopped", signal=name, iteration=outcome.iteration, command=command)
    print(said, file=sys.stderr)
    return 128 + outcome.stopped_by


def _launcher() -> list[str]:
    """How this process was started: by itself, or by `torchrun` with as many others."""
    processes, machines = (os.environ.get(name, "1") for name in ("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"))
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return ["stepscope"]
    where = "--standalone" if machines == "1" else f"--nnodes={machines}"
    return ["torchrun", where, f"--nproc_per_node={processes}", "-m", "stepscope"]


def _settings(args: argparse.Namespace) -> tuple[list[dict[str, Plain]], list[str]]:
    """The settings, later over earlier, and nanoGPT's lines that say so."""
    from stepscope.trainer.config import NAMES, SMALL

    flags = {name: value for name in NAMES if (value := getattr(args, name)) is not None}
    layers: list[dict[str, Plain]] = []
    header: list[str] = []
    for path in args.config:
        values, text = _read(Path(path), NAMES)
        layers.append(values)
        header += [f"Overriding config with {path}:", text]
    if not args.config:
        # A stated number of iterations is not changed.
        small = {**SMALL, "budget": 0.0} if "max_iters" in flags else SMALL
        layers.append(small)
        header += [f"Overriding: {name} = {value}" for name, value in small.items()]
    header += [f"Overriding: {name} = {value}" for name, value in flags.items()]
    return [*layers, flags], header


def _read(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Plain], str]:
    """The settings in a nanoGPT config file. What only running could show is refused: a guess would train wrongly."""
    from stepscope.core.configfile import parse_config, parse_python, read_config_text

    text = read_config_text(path)
    values = parse_config(text, path)
    if path.suffix not in {".json", ".toml"}:
        values = parse_python(text, str(path))
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if not isinstance(target, ast.Name) or target.id not in names:
                    continue
                if target.id not in values or isinstance(node, ast.AugAssign):
                    line = redact(text.splitlines()[target.lineno - 1])
                    place = f"{path}:{target.lineno}"
                    raise InputError("train-config-expression", place=place, excerpt=line, setting=target.id)
    return {name: value for name, value in values.items() if name in names}, text.rstrip("\n")


# -- what is said -------------------------------------------------------------------------------------------------


class _Voice:
    """Says things on stderr, so that the log on stdout stays a log; on a terminal also how far the run is."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._shown = 0.0
        self._pace, self._num_steps = 0.0, 0
        self._has_terminal = sys.stderr.isatty()

    def say(self, key: str, **args: Any) -> None:
        """A message of the trainer."""
        self.clear()
        said: dict[str, Argument] = {
            name: Decimal(value, 2)
            if isinstance(value, float)
            else value
            if isinstance(value, int)
            else redact(str(value))
            for name, value in args.items()
        }
        print(self._language.text(key, **said), file=sys.stderr, flush=True)

    def show(self, doing: str, iteration: int, last: int, seconds: float) -> None:
        """What the trainer is at; a line of the log is about to come when it says "log"."""
        if not self._has_terminal:
            return
        now = time.monotonic()
        if doing == "log":
            self.clear()
        elif doing != "step":
            self._draw(self._language.text(f"train-doing-{doing}", iteration=iteration, last=last))
        else:
            # A mean of the last twenty or so; the first one has an evaluation in it and does not count.
            if self._num_steps:
                self._pace += (seconds - self._pace) / min(self._num_steps, 20)
            self._num_steps += 1
            if self._pace and now - self._shown >= 0.5:
                left = Seconds(self._pace * (last - iteration))
                self._draw(self._language.text("train-progress", iteration=iteration, last=last, left=left))
                self._shown = now

    def _draw(self, text: str) -> None:
        print(f"\r{text}", end="\x1b[K\r", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line of progress away."""
        if self._has_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def ledger_text(ledger: dict[str, Any], language: Language) -> str:
    """Where the time went, by phase, and what saving cost."""
    wall = ledger["wall_s"]
    rows = [
        (language.text(f"train-phase-{name}"), language.duration(seconds), language.percent(seconds / wall))
        for name, seconds in sorted(ledger["phases"].items(), key=lambda item: -item[1])
        if seconds >= 0.0005 * wall
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [language.text("train-ledger", wall=Seconds(wall), iterations=ledger["iterations"])]
    lines += [f"  {name:<{widths[0]}}  {time_:>{widths[1]}}  {share:>{widths[2]}}" for name, time_, share in rows]
    saving = ledger["checkpoint"]
    if saving["saves"]:
        stalled, written = saving["stalled_s"], saving["written_in_s"]
        lines.append(
            language.text(
                "train-saves",
                count=saving["saves"],
                size=Decimal(saving["bytes"] / 1e6, 1),
                written=Seconds(written),
                stalled=Seconds(stalled),
                saved=Seconds(max(0.0, written - stalled)),
            )
        )
    if saving["step_while_writing_ratio"] is not None:
        lines.append(language.text("train-interference", ratio=Decimal(saving["step_while_writing_ratio"], 2)))
    return "\n".join(lines)
