"""The settings that a log states of its run: the echo of a config, a header, facts on the way."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.core.settings import Settings, Value, evaluate_constant, parse_value
from stepscope.lines.figures import AHEAD
from stepscope.lines.format import Format, convert
from stepscope.reading.totals import Totals

_NOT_SETTINGS = frozenset(
    {
        "path",
        "reached",
        "total",
        "samples_total",
        "epoch_samples",
        "batches",
        "epochs",
        "stamp",
        "unix_s",
        "unix_ms",
        "text",
    }
)


class HeaderSettings:
    """Names and values as they come; what is stated later holds."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self.values: dict[str, Value] = {}
        self._is_config_seen = False
        self._num_starts = 0  # ranks that printed a start

    def echo(self, key: str, text: str) -> tuple[str, Value]:
        """A line `key = text` of a config; its name with us, and its value."""
        import ast

        self._is_config_seen = True
        name = self._format.controls.canonical(key)
        text = text.strip()
        try:
            parsed = evaluate_constant(ast.parse(text, mode="eval").body, self.values)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            parsed = None
        if parsed is None:
            parsed = parse_value(text.split("#")[0])
        self.values[name] = parsed
        return name, parsed

    def begin(self) -> None:
        """The first line that announces a process."""
        self._num_starts = 0

    def count_start(self) -> None:
        """A rank printed its start; every rank does."""
        self._num_starts += 1
        self.values["world_size"] = self._num_starts

    def note(self, groups: Mapping[str, str | None]) -> Value | None:
        """What a line of facts states; the number of steps, if that is among it."""
        max_steps: Value | None = None
        for name, raw in groups.items():
            if raw is not None and name not in _NOT_SETTINGS and name not in AHEAD:
                value = convert(name, raw)
                if value is not None:
                    self.values[name] = value
                    max_steps = value if name == "max_steps" else max_steps
        return max_steps

    def settings(self, totals: Totals) -> Settings:
        """All of it, with what the totals say."""
        values = dict(self.values)
        values.pop("max_steps", None)
        if totals.max_steps is not None:
            values["max_steps"] = totals.max_steps
        if totals.batches is not None:
            values["steps_per_epoch"] = totals.batches
        decayed, other = values.pop("decayed_parameters", None), values.pop("other_parameters", None)
        if isinstance(decayed, int) and isinstance(other, int):
            values["parameters"] = decayed + other
        settings = Settings().with_layer(values, "log")
        if totals.max_steps is None and totals.shares.last_step is not None:
            settings = settings.replaced("max_steps", totals.shares.last_step, "detected")
        return settings.with_layer(self._format.controls.defaults, "default") if self._is_config_seen else settings
