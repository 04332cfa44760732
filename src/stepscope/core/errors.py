"""Every exception Stepscope raises on purpose.

    StepscopeError            what happened, where, what to do; becomes an exit code
    ├── InputError       (1)  the log or a file given with it cannot be used
    └── UsageError       (2)  the command line does not make sense

A log that is one but holds too little for a question is no error: the report says so and the exit code is 3.

An error carries a message *key* and arguments, not a sentence: the command line
says it in the user's language (`error-<key>` and its `.hint` in `i18n/*.ftl`).
"""

from __future__ import annotations

from stepscope.core.outlets import outlet


class StepscopeError(Exception):
    """Something a person can put right; never a defect of ours."""

    exit_code = 1

    def __init__(self, key: str, *, place: str | None = None, excerpt: str | None = None, **args: object) -> None:
        super().__init__(key)
        self.key = key
        self.place = place
        self.excerpt = excerpt
        self.args_for_text = args

    def __str__(self) -> str:
        """What happened, where and what to do, in English."""
        text: str = outlet("error")(self)
        return text


class InputError(StepscopeError):
    """No such file, empty, binary, unreadable, not a training log, a config that does not parse."""


class UsageError(StepscopeError):
    """Asked wrongly: flags that do not go together, a value that is not one."""

    exit_code = 2
