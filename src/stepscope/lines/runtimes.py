"""How long the whole run took, as trainers, shells and `time` print it at the end."""

from __future__ import annotations

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.figures import parse_clock

_NUMBER = r"(?P<n>\d[\d,]*(?:\.\d+)?)"
_UNIT = r"\s*\(?(?P<u>(?:seconds?|secs?|s|minutes?|mins?|min|m|hours?|hrs?|h|days?|d)\b|秒|分钟?|小时)"
# `1 hours 5 mins 15 secs`, `2h 3m`
_PIECE = r"\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b"
_WORDS = rf"(?P<w>{_PIECE}(?:(?:,| and|\s)\s*{_PIECE}){{1,3}})"
_CLOCK = r"(?P<c>(?:\d+ days?, )?\d+:\d\d(?::\d\d)?(?:\.\d+)?)"
_PHRASES = (
    r"(?:[Tt]otal (?:[a-z-]+ ){0,3})?[Tt]raining (?:run)?[Tt]ime|[Tt]raining took"
    r"|[Tt]rain(?:ing)? end(?:ed)?\W{1,3}time"
    r"|[Tt]raining (?:was )?(?:finished|completed?|done) in"
    r"|[Tt]raining (?:ended in|duration|total time)|[Ff]inished [Tt]raining in|[Tt]otal [Tt]rain [Tt]ime"
    r"|[Tt]otal (?:elapsed|wall(?:[- ]clock)?|run|execution|running)[ -]?time|[Tt]raining loop time"
    r"|[Tt]ime (?:taken|used|spent) (?:for|by|on) (?:the )?training"
    r"|(?:[Tt]otal )?[Tt]raining (?:finished|completed?|ended) after"
    r"|总(?:训练)?(?:时间|耗时|用时|时长)|训练总?(?:时间|耗时|用时|时长)|Время обучения|Общее время(?: обучения)?"
)
_TOTAL = (
    r"Total (?:time|duration)(?: taken| elapsed| spent| used)?|(?:Overall|Execution|Running) time"
    r"|(?:Finished|Completed|Done) in"
)
_PATTERNS = (
    LazyPattern(rf"['\"]?(?P<name>train_runtime)['\"]?\s*[:=]\s*['\"]?(?:{_CLOCK}|(?P<s>\d+(?:\.\d+)?))"),
    LazyPattern(
        rf"\b(?P<name>{_PHRASES})\s*+(?:\(h:m:s\)\s*+)?(?:[:=：]\s*+)?(?:{_CLOCK}|{_WORDS}|{_NUMBER}{_UNIT})",
    ),
    # Of an epoch or an evaluation, more is on the line.
    LazyPattern(rf"^\[?(?P<name>{_TOTAL})\s*+(?:[:=]\s*+)?(?:{_CLOCK}|{_WORDS}|{_NUMBER}{_UNIT})[\s.\]!]*$"),
    LazyPattern(
        rf"^(?P<name>[Tt]otal (?:training )?time) ?\((?P<u>s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)\)"
        rf"\s*[:=]\s*{_NUMBER}\s*$"
    ),
    # `After Train 1000 Iterations Needs Time: Time passes 22.1 seconds`
    LazyPattern(
        r"^(?P<name>After [A-Za-z ]{0,20}+\d[\d,]*+ (?:[Ii]terations|[Ss]teps|[Ee]pochs)\b[A-Za-z :=]{0,60}+)"
        rf"(?:{_CLOCK}|{_NUMBER}{_UNIT})[\s.!]*$"
    ),
    # `The code for file mlp.py ran for 21.49m`
    LazyPattern(rf"\b(?P<name>[Tt]he (?:\w+ )?code (?:for file \S{{0,60}}\s)?ran for) {_NUMBER}{_UNIT}"),
    # `342.1 seconds used for training.`
    LazyPattern(rf"^{_NUMBER}{_UNIT} (?P<name>(?:used|spent|taken) (?:for|on|by) training)\b"),
    LazyPattern(rf"\b(?P<name>epochs completed in) {_NUMBER}{_UNIT}"),
    LazyPattern(rf"^DEEPMD INFO +(?P<name>wall time): {_NUMBER}{_UNIT}\s*$"),
    LazyPattern(r"^(?P<name>real)\s+(?P<mi>\d+)m(?P<s>\d+(?:\.\d+)?)s\s*$"),
    LazyPattern(rf"^(?P<name>Elapsed \(wall clock\) time) \(h:mm:ss or m:ss\): {_CLOCK}\s*$"),
)
# Of which a line that states a total contains one.
WORDS = (
    "runtime",
    "raining time",
    "raining Time",
    " end",
    "uration",
    "n training",
    "r training",
    "y training",
    "xecution",
    "unning",
    "verall",
    "raining took",
    "raining loop",
    " in ",
    "real",
    "lapsed",
    "otal ",
    " after ",
    " ran for ",
    "After ",
    "wall time",
    "时",
    "ремя",
)
_SCALE = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "秒": 1.0, "分": 60.0, "小": 3600.0}
_MOST_S = 1e9


def parse_runtime(text: str) -> tuple[str, float] | None:
    """What a line calls the time of the whole run, and its seconds; None when it says nothing of the kind."""
    head = text[:400]
    if not any(map(head.__contains__, WORDS)):
        return None
    for pattern in _PATTERNS:
        match = pattern.search(head)
        if match is None:
            continue
        parts = match.groupdict()
        if parts.get("c") or parts.get("w"):
            seconds = parse_clock(parts.get("c") or parts["w"])
        elif parts.get("n"):
            seconds = float(parts["n"].replace(",", "")) * _SCALE[(parts["u"] or "s")[0]]
        else:
            seconds = 60.0 * int(parts.get("mi") or 0) + float(parts["s"] or 0)
        if seconds is not None and 0 < seconds < _MOST_S:
            return match["name"], seconds
    return None
