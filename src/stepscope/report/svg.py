"""The top of the page as one picture, for a chat, slides or a README: state, four figures, and the timeline."""

from __future__ import annotations

from html import escape

from stepscope.analysis.report import Report
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.report.page_head import Card, cards_of
from stepscope.report.palette import PHASES, SURFACES, Color, Theme
from stepscope.report.svg_lanes import EDGE, WIDTH, lanes

_CARD_HEIGHT, _GAP = 96, 12
# No fonts can be measured here: signs that are wider or narrower than most, in a font that is wide (DejaVu Sans).
_WIDE, _NARROW = frozenset("mwMW@%…—"), frozenset(" .,:;|!'ilIjtfr()[]·\N{NO-BREAK SPACE}")
_CHIPS = {"running": "good", "finished": "accent", "stopped": "warn", "interrupted": "warn"}
_WORDS = frozenset({"cause", "remedy"})
_BAD = frozenset({"crashed", "out_of_memory", "killed"})


def render(report: Report, language: Language, theme: Theme = "light") -> str:
    """The picture as SVG."""
    named: dict[str, Color] = {**SURFACES, **{str(phase): color for phase, color in PHASES.items()}}
    paint = {name: color.on(theme) for name, color in named.items()}
    head = _head(report, language, paint)
    cards = _cards(cards_of(report, language), paint)
    drawn, bottom = lanes(report, language, paint, 62 + _CARD_HEIGHT + 18 if cards else 62)
    height = round(bottom + EDGE)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, Arial, sans-serif" font-size="12" role="img">',
            f"<title>{escape(_name(report))}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="{paint["canvas"]}"/>',
            *head,
            *cards,
            *drawn,
            "</svg>\n",
        ]
    )


def _name(report: Report) -> str:
    return redact((report.run.paths[0] if report.run.paths else "-").rpartition("/")[2], 60)


def _head(report: Report, language: Language, paint: dict[str, str]) -> list[str]:
    """The name, and the trainer and the state as chips after it."""
    name = _cut(_name(report), 420, 18, bold=True)
    found = [f'<text x="{EDGE}" y="40" font-size="18" font-weight="bold" fill="{paint["ink"]}">{escape(name)}</text>']
    x = EDGE + _length(name, 18, bold=True) + 14
    state = report.state.value
    tone = "bad" if state in _BAD else _CHIPS.get(state)
    chips = [
        (report.run.format.title, paint["raised"], paint["ink"]),
        (
            language.text(f"state-name-{state}"),
            paint[f"{tone}-soft"] if tone else paint["raised"],
            paint[tone] if tone else paint["ink"],
        ),
    ]
    for text, back, ink in chips:
        wide = _length(text, 12, bold=True) + 22
        found.append(f'<rect x="{x:.0f}" y="23" width="{wide:.0f}" height="22" rx="11" fill="{back}"/>')
        found.append(
            f'<text x="{x + wide / 2:.0f}" y="38" text-anchor="middle" font-weight="bold" fill="{ink}">'
            f"{escape(text)}</text>"
        )
        x += wide + 8
    return found


def _cards(cards: list[Card], paint: dict[str, str]) -> list[str]:
    if not cards:
        return []
    weights = [1.35 if card.kind in _WORDS else 1.0 for card in cards]
    room = WIDTH - 2 * EDGE - (len(cards) - 1) * _GAP
    found, x = [], float(EDGE)
    for card, weight in zip(cards, weights, strict=True):
        wide = room * weight / sum(weights)
        found += _card(card, x, wide, paint)
        x += wide + _GAP
    return found


def _card(card: Card, x: float, wide: float, paint: dict[str, str]) -> list[str]:
    """A figure: its name, its value and, below, a bar or a note."""
    is_words = card.kind in _WORDS
    back, line = (paint["bad-soft"], paint["bad"]) if card.tone == "bad" else (paint["panel"], paint["line"])
    room, size, top = wide - 28, 13 if is_words else 22, 62
    found = [
        f'<rect x="{x:.1f}" y="{top}" width="{wide:.1f}" height="{_CARD_HEIGHT}" rx="10" fill="{back}" '
        f'stroke="{line}"/>',
        _text(x + 14, top + 22, _cut(card.name, room, 12, bold=True), paint["dim"], 12, bold=True),
    ]
    if is_words:
        for row, text in enumerate(_wrapped(card.value, room, size, 3)):
            found.append(_text(x + 14, top + 44 + 18 * row, text, paint["ink"], size, bold=True))
        return found
    value = _cut(card.value, room, size, bold=True)
    found.append(_text(x + 14, top + 50, value, paint["ink"], size, bold=True))
    unit = x + 14 + _length(value, size, bold=True) + 7
    if card.unit and unit + _length(card.unit, 12) < x + wide - 8:
        found.append(_text(unit, top + 50, card.unit, paint["dim"], 12))
    bar = [(paint[phase], left, width) for phase, left, width, _ in card.bar]
    if card.share is not None:
        bar = [(paint["raised"], 0.0, 100.0), (paint["accent"], 0.0, 100 * card.share)]
    for color, left, width in bar:
        found.append(
            f'<rect x="{x + 14 + room * left / 100:.1f}" y="{top + 60}" width="{room * width / 100:.1f}" height="8" '
            f'fill="{color}"/>'
        )
    note = card.note or " · ".join(f"{name} {share}" for _, name, share in card.keys[:2])
    lines = [_cut(note, room, 11)] if bar else _wrapped(note, room, 11, 2)
    for row, text in enumerate(lines):
        found.append(_text(x + 14, top + (84 if bar else 70) + 15 * row, text, paint["dim"], 11))
    return found


def _text(x: float, y: float, text: str, color: str, size: int, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}"{weight} fill="{color}">{escape(text)}</text>'


def _length(text: str, size: int, *, bold: bool = False) -> float:
    """How long a text is about, in pixels."""
    shares = (0.97 if sign in _WIDE else 0.35 if sign in _NARROW else 0.63 for sign in text)
    return sum(shares) * size * (1.11 if bold else 1.0)


def _cut(text: str, room: float, size: int, *, bold: bool = False) -> str:
    """As much of a text as there is room for."""
    if _length(text, size, bold=bold) <= room:
        return text
    while text and _length(text + "…", size, bold=bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _wrapped(text: str, room: float, size: int, most: int) -> list[str]:
    """A bold text in lines, the last of them cut."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if _length(joined, size, bold=True) <= room or not lines[-1] or len(lines) == most:
            lines[-1] = joined
        else:
            lines.append(word)
    return [_cut(line, room, size, bold=True) for line in lines]
