"""Print a script that lets the shell complete commands and options.

    eval "$(stepscope completion bash)"        in ~/.bashrc
    source <(stepscope completion zsh)         in ~/.zshrc, after compinit
    stepscope completion fish | source         in ~/.config/fish/config.fish

Each line goes into the start-up file of its shell; zsh needs compinit before it.
"""

from __future__ import annotations

import argparse
import sys

from stepscope.cli import COMMANDS, _completion
from stepscope.cli._flags import add_language_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=_completion.SHELLS, metavar="SHELL", help="Shell: bash, zsh or fish")
    add_language_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print its script."""
    sys.stdout.write(_completion.SCRIPTS[args.shell](_completion.commands(COMMANDS)))
    return 0
