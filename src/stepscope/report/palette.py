"""The colours, in one place for the page, the app, the exports and the terminal.

The phases differ in lightness as well as in hue, and those that are next to each other in a bar stay apart for people
who do not see red or green: `tests/unit/test_palette.py` measures it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.ledger.phases import Phase

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


class Color(NamedTuple):
    """One colour on light and on dark paper, and the nearest that every terminal has."""

    light: str
    dark: str
    terminal: str = "default"

    def on(self, theme: Theme) -> str:
        """The colour for that paper."""
        return self.light if theme == "light" else self.dark


PHASES: dict[Phase, Color] = {
    "step": Color("#0f8a63", "#3fcf9b", "green"),
    "evaluation": Color("#0b5fbf", "#4f97f5", "blue"),
    "checkpoint": Color("#5b1a86", "#f3c4f3", "magenta"),
    "warmup": Color("#b86a00", "#ffbe5c", "yellow"),
    "data": Color("#00768f", "#5fd4e8", "cyan"),
    "gc": Color("#7a5040", "#c9a896", "bright_yellow"),
    "logging": Color("#5c6b00", "#c3d64a", "bright_cyan"),
    "communication": Color("#b0286b", "#ff8fc0", "bright_magenta"),
    "stall": Color("#a81e12", "#ff7462", "red"),
    "gap": Color("#5f6672", "#9aa2b1", "bright_black"),
    "unlogged": Color("#7d8593", "#7f8797", "bright_black"),
}
# What is not a phase: words, paper, lines, and what asks for attention.
SURFACES: dict[str, Color] = {
    "ink": Color("#12151c", "#eceef3"),
    "dim": Color("#565d6d", "#a3abbb"),
    "paper": Color("#ffffff", "#0e1015"),
    "canvas": Color("#f6f7f9", "#0e1015"),
    "panel": Color("#ffffff", "#171a21"),
    "raised": Color("#f0f2f5", "#1f232c"),
    "line": Color("#e0e3e9", "#2a2f3a"),
    "edge": Color("#868e9c", "#6d7585"),
    "shade": Color("#0f8a6322", "#3fcf9b26"),
    "accent": Color("#1f5fd0", "#8ab8ff"),
    "good": Color("#0f7a55", "#4fd6a4"),
    "warn": Color("#995700", "#ffc266"),
    "bad": Color("#c0281a", "#ff8a78"),
    "good-soft": Color("#e3f4ec", "#12302a"),
    "warn-soft": Color("#fdf0db", "#352812"),
    "bad-soft": Color("#fdeae7", "#3a1b18"),
    "accent-soft": Color("#e6eefc", "#16263f"),
}


def css() -> str:
    """The colours as custom properties: light, and dark where the reader's screen is."""

    def rule(theme: Theme) -> str:
        named: dict[str, Color] = {**{str(phase): color for phase, color in PHASES.items()}, **SURFACES}
        return ":root{" + "".join(f"--{name}:{color.on(theme)};" for name, color in named.items()) + "}"

    fills = "".join(f".{phase}{{fill:var(--{phase});--own:var(--{phase})}}" for phase in PHASES)
    return f"{rule('light')}\n@media screen and (prefers-color-scheme: dark){{{rule('dark')}}}\n{fills}\n"
