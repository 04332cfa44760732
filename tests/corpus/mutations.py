"""Ways in which a log can be damaged or mixed that leave its times as they are."""

from __future__ import annotations

import re

_ISO = re.compile(r"(\d{4}-\d\d-\d\d)([ T])(\d\d):(\d\d):(\d\d)")
_PREPARATION = [
    f"Tokenizing the training set:  {step:3d}%|{'#' * (step // 10):<10}| {step * 900}/90000 "
    f"[00:{step // 2:02d}<00:{50 - step // 2:02d}, 1800.00 examples/s]"
    for step in range(0, 101, 5)
]


def data_bar_before(text: str) -> str:
    """The bar of a preparation before the log."""
    return "\n".join(_PREPARATION) + "\n" + text


def engine_line_before(text: str) -> str:
    """The first line of another program, which counts too."""
    line = (
        "[2021-05-06 07:08:09,010] [INFO] [logging.py:96:log_dist] [Rank 0] step=0, skipped=0, lr=[0.0], "
        "mom=[(0.9, 0.999)]"
    )
    return line + "\n" + text


def other_trainer_before(text: str) -> str:
    """An evaluation of another trainer before the log, as a script that did something else first."""
    return "{'eval_loss': 2.5, 'eval_runtime': 31.5, 'eval_samples_per_second': 12.5, 'epoch': 1.0}\n" + text


def twelve_hour_timestamps(text: str) -> str:
    """Timestamps with AM and PM."""

    def twelve(match: re.Match[str]) -> str:
        hour = int(match[3])
        half = "PM" if hour >= 12 else "AM"
        return f"{match[1]}{match[2]}{(hour - 1) % 12 + 1:02d}:{match[4]}:{match[5]} {half}"

    return _ISO.sub(twelve, text)


def windows_line_ends(text: str) -> str:
    """A carriage return before each line feed."""
    return text.replace("\n", "\r\n")


def cut_lines(text: str) -> str:
    """Every fortieth line cut in its middle, as by two programs that write at once."""
    lines = text.split("\n")
    return "\n".join(line[: len(line) // 2] if at % 40 == 39 else line for at, line in enumerate(lines))


def prose_between(text: str) -> str:
    """A line of something else after each tenth line."""
    lines = text.split("\n")
    return "\n".join(
        f"{line}\nnote {at // 10}: the cat sat on the mat" if at % 10 == 9 else line for at, line in enumerate(lines)
    )


def arguments_before(text: str) -> str:
    """Arguments, which are no rows."""
    return "Namespace(max_epoch=18, start_epoch=0, batch_size=32, lr=0.1, step_size=1000, print_freq=50)\n" + text


MUTATIONS = (
    data_bar_before,
    engine_line_before,
    other_trainer_before,
    twelve_hour_timestamps,
    windows_line_ends,
    cut_lines,
    prose_between,
    arguments_before,
)
