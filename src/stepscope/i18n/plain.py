"""Errors and messages as plain sentences, for those who use Stepscope from Python and for the command line."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.errors import StepscopeError
from stepscope.core.message import Message
from stepscope.core.redact import redact
from stepscope.i18n import Language


class ErrorText(NamedTuple):
    """What happened and what to do, in one language."""

    sentence: str
    hint: str | None


def error_text(error: StepscopeError, language: Language) -> ErrorText:
    """An error in a language, secrets masked."""
    args = {
        name: value if isinstance(value, int) else redact(str(value)) for name, value in error.args_for_text.items()
    }
    args.setdefault("place", redact(error.place or "-"))
    if "extra" in args:
        from stepscope.core.installing import install_command

        args["install"] = install_command(str(args["extra"]))
    key = f"error-{error.key}"
    return ErrorText(language.text(key, **args), language.hint(key, **args))


def english_error(error: StepscopeError) -> str:
    """An error as an English sentence: what happened, where, what to do."""
    sentence, hint = error_text(error, Language.load("en"))
    where = f": {redact(error.place)}" if error.place else ""
    # In brackets and as it is: a hint may be a command to paste.
    what_to_do = f" ({hint})" if hint else ""
    return f"{sentence[:1].upper()}{sentence[1:]}{where}{what_to_do}"


def english_message(message: Message) -> str:
    """A message as an English sentence."""
    return Language.load("en").say(message)
