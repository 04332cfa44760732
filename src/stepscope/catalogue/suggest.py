"""A format as the TOML text that teaches it: what `formats try --suggest` writes for the user to change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from stepscope.catalogue.flat_keys import flat_value
from stepscope.lines.format import Assumption, Clock, Format, Line, Sample

_SWITCHES = ("is_timed", "events_follow_step", "clock_is_process", "figure_is_total", "bars_nest")
_BLANK_LINES = 3
_NUMBERS = ("first_step", "first_epoch")


def to_toml(fmt: Format, *, title: str, say: Callable[[Assumption], str], remarks: Sequence[str] = ()) -> str:
    """The file that teaches `fmt`; `say` puts an assumption into words, `remarks` open the file."""
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"# {say(assumption)}" for assumption in (fmt.inferred.assumptions if fmt.inferred else ())]
    lines += ["", f"title = {quoted(title)}"]
    lines += [f"{name} = {flat_value(fmt, name)}" for name in _NUMBERS]
    defaults = {"is_timed": True}
    for name in _SWITCHES:
        value = flat_value(fmt, name)
        if value != defaults.get(name, False) or name == "figure_is_total":
            lines.append(f"{name} = {str(value).lower()}")
    includes = ", ".join(quoted(item) for item in fmt.clock.includes)
    lines += ["", "[clock]", f"covers = {quoted(fmt.clock.covers)}", f"includes = [{includes}]"]
    for line in fmt.lines:
        lines += ["", "[[lines]]", f"kind = {quoted(line.kind)}", f"pattern = {quoted(line.pattern)}"]
        sample = next((sample.text for sample in fmt.samples if line.regex.match(sample.text)), None)
        if sample is not None:
            lines.append(f"sample = {quoted(sample)}")
    return "\n".join(lines).lstrip("\n") + "\n"


def quoted(text: str) -> str:
    """A TOML string: unchanged where that is possible, else with escapes."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=True)


def blank(texts: Sequence[str]) -> Format:
    """A format to fill in, for a log without a step counter: its lines are lines of the log, read as chatter."""
    lines = [Line("step", r"step (?P<step>\d+) time (?P<dur_s>[\d.]+)")]
    lines += [Line("chatter", re.escape(text[:40])) for text in texts[:_BLANK_LINES]]
    return Format(
        title="",
        url="",
        lines=tuple(lines),
        samples=tuple(Sample(text, "chatter") for text in texts[:_BLANK_LINES]),
        clock=Clock(covers="step", includes=(), note=""),
    )
