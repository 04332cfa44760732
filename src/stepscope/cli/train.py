"""Train a GPT with nanoGPT's settings, every second accounted for.

Without arguments: a small network learns Python from the sources of the standard library, on the CPU, in a few
minutes. With a config file: nanoGPT's settings and defaults, and flags on top, as in nanoGPT (--batch_size=32). Config
files are read, never run. Several processes share the work: torchrun --nproc_per_node=2 -m stepscope train …
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stepscope.cli import _answer, _flags, _trainer
from stepscope.cli._train_config import SMALL, read_settings
from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import Argument, Decimal, Seconds
from stepscope.core.redact import redact
from stepscope.report.wrapping import wrap

if TYPE_CHECKING:
    from stepscope.i18n import Language
    from stepscope.trainer.config import Plain, TrainConfig
    from stepscope.trainer.extras.selftest import Finding
    from stepscope.trainer.train import Outcome

_SAMPLE_TOKENS = 400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One flag per setting, under nanoGPT's names."""
    from stepscope.trainer.config import NAMES, TrainConfig
    from stepscope.trainer.extras.settings import ABOUT

    defaults = TrainConfig()
    parser.add_argument("config", nargs="*", metavar="CONFIG.py", help="Config files of nanoGPT, read in this order")
    parser.add_argument(
        "--lang",
        metavar="L",
        type=_flags.language_codes,
        help="Language of messages outside the log (default: the locale's)",
    )
    parser.add_argument(
        "--selftest",
        nargs="?",
        const="all",
        metavar="PARTS",
        help="Try each part that depends on the device for seconds, on this one (or --device), and say pass or fail; "
        "PARTS: some of them, with commas",
    )
    for name in NAMES:
        default = f"default: {value}" if (value := getattr(defaults, name)) != "" else ""
        if name in SMALL:
            default += f"; without a config file: {SMALL[name]}"
        shown = (ABOUT[name] + (f" ({default})" if default else "")).replace("%", "%%")
        parser.add_argument(f"--{name}", metavar="X", type=partial(_trainer.setting, name), help=shown)


def run(args: argparse.Namespace) -> int:
    """Train, then say where the time went; or try the device."""
    if args.selftest is not None:
        return _selftest(args)
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
    voice = _Voice(language)
    with _trainer.translated_errors():
        asked = _settings(args, voice)
        from stepscope.trainer.extras.process import process_start_ns
        from stepscope.trainer.extras.settings import build

        config = build(*asked.layers)
        is_first = os.environ.get("RANK", "0") == "0"
        if is_first and asked.is_built_in and config.init_from == "scratch" and config.dataset == "stdlib":
            for key, values in opening(config):
                voice.say(key, **values)
        voice.say("train-loading")
        from stepscope.trainer.train import train

        outcome = train(
            config,
            say=voice.say,
            show=voice.show,
            header=asked.header,
            notes=asked.notes,
            started_ns=process_start_ns(),
            sample_tokens=_SAMPLE_TOKENS if asked.is_built_in else 0,
        )
    if os.environ.get("RANK", "0") != "0":
        return 0 if outcome.stopped_by is None else 128 + outcome.stopped_by
    voice.clear()
    if outcome.sample is not None:
        print(_sample_text(outcome, language), file=sys.stderr)
    print(_fitted(ledger_text(outcome.ledger, language)), file=sys.stderr)
    if outcome.unsaved is not None:
        raise InputError(
            "train-not-saved",
            place=config.out_dir,
            iteration=outcome.unsaved.iteration,
            reason=outcome.unsaved.problem,
            saved=outcome.last_saved,
        )
    if outcome.stopped_by is None:
        if not config.eval_only:
            print(language.text("train-more", folder=config.out_dir), file=sys.stderr)
            for words in (["stepscope", "sample", f"--out_dir={config.out_dir}"], ["stepscope", config.out_dir]):
                print(f"  {shlex.join(words)}", file=sys.stderr)
        return 0
    again = [word for word in sys.argv[1:] if not word.startswith("--init_from")]
    command = shlex.join([*_launcher(), *again, "--init_from=resume"])
    name = signal.Signals(outcome.stopped_by).name
    said = language.text("train-stopped", signal=name, iteration=outcome.iteration, command=command)
    print(said, file=sys.stderr)
    return 128 + outcome.stopped_by


def _selftest(args: argparse.Namespace) -> int:
    """Every part in turn; 0 if all passed, else 1."""
    from stepscope.trainer.config import NAMES, TrainerError

    language = _answer.chosen_languages(args)[0]
    if args.config or any(getattr(args, name) is not None for name in NAMES if name != "device"):
        raise UsageError("selftest-alone", place="--selftest")
    _trainer.need_torch()
    from stepscope.trainer.extras.selftest import PARTS, best_device
    from stepscope.trainer.extras.selftest import run as run_parts

    with _trainer.translated_errors():
        parts = list(PARTS) if args.selftest == "all" else args.selftest.split(",")
        if not set(parts) <= PARTS.keys():
            place = f"--selftest {args.selftest}"
            raise TrainerError("train-choice", place=place, setting="selftest", known=", ".join(PARTS))
        device = args.device or best_device()
        print(language.text("selftest-begins", device=device, count=len(parts)), flush=True)
        num_failed = 0
        for finding in run_parts(device, parts):
            num_failed += not finding.passed
            print(_finding_text(finding, language), flush=True)
    print(language.text("selftest-ends", failed=num_failed, count=len(parts)))
    return 1 if num_failed else 0


def _finding_text(finding: Finding, language: Language) -> str:
    """One line: the verdict, the part, the figures or the reason, the seconds."""
    verdict = language.text("selftest-pass" if finding.passed else "selftest-fail")
    if finding.problem is not None:
        found = redact(finding.problem)
    else:
        # Losses have four places in the log, and so here.
        shown: dict[str, Argument] = {
            name: Decimal(value, 4) if isinstance(value, float) else value for name, value in finding.facts.items()
        }
        found = language.text(f"selftest-{finding.part}", **shown)
    return f"{verdict:<5} {finding.part:<11} {found} ({language.duration(finding.seconds)})"


def _launcher() -> list[str]:
    """How this process was started: by itself, or by `torchrun` with as many others."""
    processes, machines = (os.environ.get(name, "1") for name in ("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"))
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return ["stepscope"]
    where = "--standalone" if machines == "1" else f"--nnodes={machines}"
    return ["torchrun", where, f"--nproc_per_node={processes}", "-m", "stepscope"]


class _Asked(NamedTuple):
    """What the command line asks for: settings (later over earlier), lines of the log, lines of its file only."""

    layers: list[dict[str, Plain]]
    header: list[str]
    notes: list[str]
    is_built_in: bool  # nothing says what to train: the run that comes with Stepscope


def _settings(args: argparse.Namespace, voice: _Voice) -> _Asked:
    """The settings, and nanoGPT's lines that say so."""
    from stepscope.trainer.config import NAMES

    flags = {name: value for name in NAMES if (value := getattr(args, name)) is not None}
    layers: list[dict[str, Plain]] = []
    header: list[str] = []
    notes: list[str] = []
    for path in args.config:
        file = read_settings(Path(path), NAMES)
        for name in file.others:
            voice.say("train-unknown-setting", setting=name, path=path)
        layers.append(file.values)
        header += [f"Overriding config with {path}:", file.text.rstrip("\n")]
    is_built_in = not args.config
    if is_built_in and flags.get("init_from") == "resume":
        saved = _saved_settings(str(flags.get("out_dir", SMALL["out_dir"])))
        is_built_in = saved.get("dataset") == SMALL["dataset"]
        layers.append(saved)
    elif is_built_in:
        layers.append(SMALL)
        notes = [f"Overriding: {name} = {value}" for name, value in SMALL.items() if name not in flags]
    header += [f"Overriding: {name} = {value}" for name, value in flags.items()]
    return _Asked([*layers, flags], header, notes, is_built_in)


def _saved_settings(out_dir: str) -> dict[str, Plain]:
    """Of the run that is resumed and that no config file describes: those that its checkpoint states."""
    from stepscope.trainer.extras.found import saved_settings

    saved = saved_settings(Path(out_dir))
    return {**saved, "out_dir": out_dir}


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
        print(_fitted(self._language.text(key, **said)), file=sys.stderr, flush=True)

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


def _fitted(text: str) -> str:
    """Sentences broken between words where a terminal would break them anywhere; in a file they stay whole."""
    if not sys.stderr.isatty():
        return text
    width = shutil.get_terminal_size((80, 24)).columns
    lines = text.splitlines()
    return "\n".join(part for line in lines for part in (wrap(line, width) if len(line) > width else [line]))


def opening(config: TrainConfig) -> list[tuple[str, dict[str, Any]]]:
    """What the run that comes with Stepscope is going to do, in three lines."""
    when = {"iterations": config.max_iters, "device": config.device}
    when |= {"interval": config.eval_interval, "folder": config.out_dir}
    return [("train-opening-what", {}), ("train-opening-when", when), ("train-opening-end", {})]


def _sample_text(outcome: Outcome, language: Language) -> str:
    """What the network writes now, after what it wrote before it had learned anything."""
    assert outcome.sample is not None
    text = [language.text("train-sample-before"), outcome.sample.before, ""]
    return "\n".join([*text, language.text("train-sample", iteration=outcome.iteration), outcome.sample.after, ""])


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
        figures = {"count": saving["saves"], "size": Decimal(saving["bytes"] / 1e6, 1), "written": Seconds(written)}
        said = language.text("train-saves", **figures, stalled=Seconds(stalled))
        if written > stalled:
            said += " " + language.text("train-saved-wait", saved=Seconds(written - stalled))
        lines.append(said)
    if saving["step_while_writing_ratio"] is not None:
        lines.append(language.text("train-interference", ratio=Decimal(saving["step_while_writing_ratio"], 2)))
    return "\n".join(lines)
