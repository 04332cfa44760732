"""What the shells complete, from the same parsers that read the arguments; and how each of them is told."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NamedTuple

from stepscope.cli import _help
from stepscope.i18n import languages

SHELLS = ("bash", "zsh", "fish")
_VALUES = {"lang": languages}  # values that are no `choices`, because several may be joined
_MOST_HELP = 90


class Flag(NamedTuple):
    """An option: its spellings, what it is for, whether a value follows, and which values where they are few."""

    names: tuple[str, ...]
    about: str
    takes_value: bool
    values: tuple[str, ...]


class Command(NamedTuple):
    """A command: what it is for, its options, and the words that may come first where they are few."""

    name: str
    about: str
    flags: tuple[Flag, ...]
    words: tuple[str, ...]


def commands(names: Sequence[str]) -> list[Command]:
    """The commands as their parsers have them."""
    found = []
    for name in names:
        shown = [action for action in _help.make_parser(name)._actions if action.help != argparse.SUPPRESS]
        flags = tuple(_flag(action) for action in shown if action.option_strings)
        words = next((_values(action) for action in shown if not action.option_strings), ())
        found.append(Command(name, _about(_help.summary(name)), flags, tuple(names) if name == "help" else words))
    return found


def _flag(action: argparse.Action) -> Flag:
    takes_value = action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction)
    return Flag(tuple(action.option_strings), _about(action.help or ""), takes_value, _values(action))


def _values(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return _VALUES[action.dest]() if action.dest in _VALUES else ()


def _about(text: str) -> str:
    """The first sentence, without what a shell would have to quote."""
    # A typographic apostrophe needs no quoting.
    plain = re.sub(r"[^\w ,.:;()<>=/+%’-]", "", text.replace("%%", "%").replace("'", "’").split(". ")[0])
    if len(plain) > _MOST_HELP:
        plain = plain[:_MOST_HELP].rpartition(" ")[0]
    return plain.rstrip(" .,:;(")


# -- bash -------------------------------------------------------------------------------------------------


def bash(found: Sequence[Command]) -> str:
    """A function for bash 3.2 and later; what it has no words for is left to the completion of file names."""
    flags = [f'    {one.name}) flags="{_words(name for flag in one.flags for name in flag.names)}" ;;' for one in found]
    words = [f'    {one.name}) words="{_words(one.words)}" ;;' for one in found if one.words]
    values = [
        f'    {"|".join(f"{one.name}:{name}" for name in flag.names)}) words="{_words(flag.values)}"; value=1 ;;'
        for one in found
        for flag in one.flags
        if flag.values
    ]
    files = [
        f"    {'|'.join(f'{one.name}:{name}' for flag in plain for name in flag.names)}) value=1 ;;"
        for one in found
        if (plain := [flag for flag in one.flags if flag.takes_value and not flag.values])
    ]
    return _BASH.format(
        commands=_words(one.name for one in found),
        flags="\n".join(flags),
        words="\n".join(words),
        values="\n".join(values + files),
    )


def _words(words: object) -> str:
    return " ".join(words)  # type: ignore[arg-type]


_BASH = """\
# Completion of stepscope for bash: eval "$(stepscope completion bash)"
_stepscope() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev= command=explain commands="{commands}"
  local flags= words= value= at=$((COMP_CWORD - 1))
  COMPREPLY=()
  # bash takes the = of --flag=value for a word of its own
  if [[ $cur == "=" ]]; then cur=; elif [[ ${{COMP_WORDS[at]}} == "=" ]]; then at=$((at - 1)); fi
  ((at > 0)) && prev=${{COMP_WORDS[at]}}
  if ((COMP_CWORD > 1)) && [[ " $commands " == *" ${{COMP_WORDS[1]}} "* ]]; then command=${{COMP_WORDS[1]}}; fi
  case $command in
{flags}
  esac
  case $command:$prev in
{values}
  esac
  if [[ -n $value ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands" -- "$cur") $(compgen -f -- "$cur"))
  else
    case $command in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -o bashdefault -o default -F _stepscope stepscope
"""


# -- zsh --------------------------------------------------------------------------------------------------


def zsh(found: Sequence[Command]) -> str:
    """A function for zsh, by `_arguments`."""
    described = "\n".join(f"    '{one.name}:{_no_colon(one.about)}'" for one in found)
    cases = "\n".join(f"    {one.name})\n      _arguments -S {_zsh_arguments(one)} ;;" for one in found)
    return _ZSH.format(described=described, cases=cases, names="|".join(one.name for one in found))


def _zsh_arguments(command: Command) -> str:
    found = []
    for flag in command.flags:
        about = _no_colon(flag.about).replace("[", "(").replace("]", ")")
        value = f":value:({_words(flag.values)})" if flag.values else ":value:_files" if flag.takes_value else ""
        for name in flag.names:
            joins = "=" if flag.takes_value and name.startswith("--") else ""
            found.append(f"'{name}{joins}[{about}]{value}'")
    found.append(f"'*:word:({_words(command.words)})'" if command.words else "'*:file:_files'")
    return " \\\n        ".join(found)


def _no_colon(text: str) -> str:
    return text.replace(":", " -")


_ZSH = """\
#compdef stepscope
# Completion of stepscope for zsh: source <(stepscope completion zsh)
_stepscope() {{
  local -a commands
  commands=(
{described}
  )
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command commands
    _files
    return
  fi
  local command=explain
  case $words[2] in
    {names}) command=$words[2]; shift words; ((CURRENT--)) ;;
  esac
  case $command in
{cases}
  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _stepscope "$@"; else compdef _stepscope stepscope; fi
"""


# -- fish -------------------------------------------------------------------------------------------------


def fish(found: Sequence[Command]) -> str:
    """Lines for fish, one for each command and option."""
    names = _words(one.name for one in found)
    lines = ["# Completion of stepscope for fish: stepscope completion fish | source"]
    for one in found:
        lines.append(f"complete -c stepscope -n __fish_use_subcommand -a {one.name} -d '{one.about}'")
        seen = f"__fish_seen_subcommand_from {one.name}"
        # Without a command, the options are those of explain.
        when = f"{seen}; or not __fish_seen_subcommand_from {names}" if one.name == "explain" else seen
        lines += [_fish_line(flag, when) for flag in one.flags]
        if one.words:
            lines.append(f"complete -c stepscope -n '{seen}' -f -a '{_words(one.words)}'")
    return "\n".join(lines) + "\n"


def _fish_line(flag: Flag, when: str) -> str:
    names = _words(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    value = f" -x -a '{_words(flag.values)}'" if flag.values else " -r" if flag.takes_value else ""
    return f"complete -c stepscope -n '{when}' {names}{value} -d '{flag.about}'"


SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}
