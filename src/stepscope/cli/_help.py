"""How the command line helps: the overview, a command's page, and what was probably meant.

A command's docstring is its help: a sentence; indented lines are its examples; the rest is text, wrapped to the
terminal. Nothing here knows a command but by its module.
"""

from __future__ import annotations

import argparse
import importlib
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from stepscope.core.errors import UsageError
from stepscope.core.nearest import nearest
from stepscope.core.unseen import visible

_WIDEST, _NARROWEST = 100, 40
_NAME_COLUMNS = 14
_MOST_SHOWN = 120
_T = TypeVar("_T", bound=argparse.Namespace)

_ABOUT = (
    "Where every second of a training run went, why an iteration was slow, when the run will finish, what to change."
)
_EXAMPLES = (
    ("stepscope train.log", "the report of a log"),
    ("stepscope eta train.log --max-steps 20000", "time left, on one line"),
    ("stepscope run -- python train.py", "run a training and watch it live"),
    ("stepscope serve runs/", "a folder of runs in the browser"),
    ("stepscope demo", "no log at hand: an example"),
)


def width() -> int:
    """The columns that help may take."""
    import shutil

    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((80, 24)).columns))


def summary(name: str) -> str:
    """What a command is for, in one sentence."""
    return (importlib.import_module(f"stepscope.cli.{name}").__doc__ or "").partition("\n")[0]


def overview(groups: dict[str, tuple[str, ...]]) -> str:
    """The help of the whole: every command in its group, and examples."""
    columns = width()
    lines = [*textwrap.wrap(_ABOUT, columns), "", "usage: stepscope LOG [options]"]
    lines += ["       stepscope COMMAND [options]"]
    for title, names in groups.items():
        lines += ["", f"{title}:"]
        for name in names:
            about = textwrap.wrap(summary(name), columns - _NAME_COLUMNS)
            lines.append(f"  {name:<{_NAME_COLUMNS - 2}}{about[0]}")
            lines += [" " * _NAME_COLUMNS + line for line in about[1:]]
    lines += ["", "Examples:", *example_lines(_EXAMPLES, columns), ""]
    end = "`stepscope help COMMAND` says more. Help is in English; answers are in the language of --lang or the locale."
    return "\n".join([*lines, *textwrap.wrap(end, columns)])


def example_lines(examples: Iterable[tuple[str, str]], columns: int) -> list[str]:
    """Commands with what each is for: beside it where all fit, else in a line above."""
    examples = list(examples)
    longest = max(len(command) for command, _ in examples)
    if all(2 + longest + (3 + len(note) if note else 0) <= columns for _, note in examples):
        return [f"  {command:<{longest}}   {note}".rstrip() for command, note in examples]
    lines = []
    for command, note in examples:
        lines += [f"  # {part}" for part in textwrap.wrap(note, columns - 4)]
        # A command that goes on in the next line can still be pasted.
        parts = textwrap.wrap(command, columns - 4, break_long_words=False, break_on_hyphens=False)
        lines += [
            f"  {'    ' if index else ''}{part}{' ' + chr(92) * (index < len(parts) - 1)}".rstrip()
            for index, part in enumerate(parts)
        ]
    return lines


class Formatter(argparse.HelpFormatter):
    """Wraps a docstring to the terminal, keeps its examples, and ends each option's help as a sentence."""

    def __init__(self, prog: str, **kwargs: Any) -> None:
        kwargs["width"] = width()
        super().__init__(prog, **kwargs)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 (as argparse calls it)
        blocks = []
        for block in text.strip("\n").split("\n\n"):
            lines = block.splitlines()
            # The code formatter takes the indent away where nothing but examples follows the sentence.
            if all(line.startswith(("  ", "stepscope ")) for line in lines):
                split = (re.split(r"\s{3,}", line.strip(), maxsplit=1) for line in lines)
                examples = [(parts[0], parts[1] if len(parts) > 1 else "") for parts in split]
                blocks.append("\n".join(example_lines(examples, width)))
            else:
                blocks.append(textwrap.fill(" ".join(lines), width, break_on_hyphens=False))
        return "\n\n".join(blocks)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _expand_help(self, action: argparse.Action) -> str:
        text = super()._expand_help(action)
        return text if text.endswith((".", "?", "…")) else f"{text}."


class Parser(argparse.ArgumentParser):
    """Says what is wrong with arguments as every other error is said, with what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Arguments that do not fit."""
        reason = visible(message)
        if found := re.search(r"arguments are required: (.+)", reason):
            raise UsageError("missing-argument", missing=found[1], command=self.prog)
        if found := re.search(r"argument (?:-\w/)?(-\S+): expected", reason):
            raise UsageError("missing-value", flag=found[1], command=self.prog)
        raise UsageError("wrong-usage", reason=reason, command=self.prog)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        flag = action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest.upper())
        known = [str(choice) for choice in action.choices]
        meant = nearest(str(value), known) or "none"
        raise UsageError(
            "bad-choice", place=f"{flag} {value}", flag=flag, text=str(value), nearest=meant, known=", ".join(known)
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse flags and positionals in any order; an unknown flag is an error that names the nearest known one."""
        args, unknown = self.parse_known_intermixed_args(arguments)
        for word in unknown:
            flag = word.partition("=")[0]
            if flag.startswith("-"):
                meant = nearest(flag, self._shown_flags()) or "none"
                raise UsageError("unknown-flag", place=word, flag=flag, nearest=meant, command=self.prog)
        if unknown:
            raise UsageError("too-many-arguments", place=" ".join(unknown), command=self.prog)
        return args

    def _shown_flags(self) -> list[str]:
        return [flag for action in self._actions if action.help != argparse.SUPPRESS for flag in action.option_strings]


def make_parser(name: str) -> Parser:
    """The parser of a command's flags."""
    module = importlib.import_module(f"stepscope.cli.{name}")
    parser = Parser(
        prog=f"stepscope {name}",
        description=module.__doc__ or "",
        formatter_class=Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="Show this help and exit")
    module.add_arguments(parser)
    positionals = _positionals(parser)
    is_last = positionals.startswith("-- ")  # another program's command line comes after all of ours
    parser.usage = "%(prog)s " + " ".join(["[options]", positionals] if is_last else [positionals, "[options]"]).strip()
    return parser


def _positionals(parser: argparse.ArgumentParser) -> str:
    """The positional arguments as the usage line shows them: `LOG…`, `[PATH]`."""
    shown = []
    for action in parser._actions:
        if action.option_strings or action.help == argparse.SUPPRESS:
            continue
        choices = "|".join(map(str, action.choices or ()))
        name = str(action.metavar or (f"{{{choices}}}" if choices else action.dest.upper()))
        many = "…" if action.nargs in {"+", "*"} else ""
        is_optional = action.nargs in {"?", "*"} and not name.startswith("-- ")
        shown.append((f"[{name}{many}]" if is_optional else f"{name}{many}").replace("%", "%%"))
    return " ".join(shown)


def ensure_command(word: str, rest: Sequence[str], commands: Iterable[str]) -> None:
    """Raise an error where `word` is a command that was mistyped; any other word is taken for a log."""
    from pathlib import Path

    if not re.fullmatch(r"[a-z]{2,12}", word) or Path(word).exists():
        return
    meant = nearest(word, commands)
    if meant is not None:
        raise UsageError("unknown-command", place=word, nearest=visible(" ".join([meant, *rest]))[:_MOST_SHOWN])
