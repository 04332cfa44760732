"""A line of an unknown log taken apart: its numbers, the word before each, the unit after it, and the text between.

Two lines of one shape have the same text between their numbers. What the numbers mean is left to `counter.py` and
`time_figures.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

FieldKind = Literal["number", "clock", "words", "stamp"]
MAX_CHARS = 2000
_MAX_FIELDS = 60

NUMBER = (
    # A full stop at the end of a sentence is not part of the number before it.
    r"(?:[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d|,\d)|\d+)(?:\.\d+|\.(?!\s{2}|\s*$|\s[A-Z]))?(?:[eE][-+]?\d+)?(?:[KMBG](?![A-Za-z])|k(?=\s?[a-z]{1,12}/s))?"
    r"|[-+]?\.\d+(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|NAN|inf|Inf|INF)(?![a-ln-rt-yA-Z]))"
)
CLOCK = r"(?:(?:\d+ days?, )?\d+:\d\d(?::\d\d)?(?:\.\d+)?)"
_HOURS, _MINUTES, _SECONDS = r"(?:hours?|hrs?|h)", r"(?:minutes?|mins?|m)", r"(?:seconds?|secs?|s)"
_NEXT = r"(?:,| and)? "
_LAST = rf"{_NEXT}\d+(?:\.\d+)? {_SECONDS}"
# `1h 2m 3s`, `0h:1m:14s`, `1 hour and 5 min 3.2 s`
WORDS = (
    r"(?:\d+[dhms](?:[:,]? ?\d+(?:\.\d+)?(?:ms|[hms]))*"
    rf"|\d+ {_HOURS}{_NEXT}\d+ {_MINUTES}(?:{_LAST})?|\d+ {_MINUTES}{_LAST})(?![\w/])"
)
# Dates with their time of day, seconds or not: the forms of `lines/moment_forms.py` that occur inside lines.
STAMP = (
    r"(?:(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d[-/.]\d\d[-/.](?:\d{4}|\d\d))[T _|,]\s?\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"(?:\s?[AaPp][Mm]\b)?(?!:?\d))"
)
PATTERNS: dict[FieldKind, str] = {"number": NUMBER, "clock": CLOCK, "words": WORDS, "stamp": STAMP}

_TOKEN = re.compile(
    # A number right after a word that counts is one too: `Epoch1 Time:178.1s`.
    rf"(?:(?<![\w.#])|(?<=[Ee]poch)|(?<=EPOCH)|(?<=[Ii]ter)|(?<=[Ss]tep))(?:(?P<stamp>{STAMP})"
    rf"|(?P<clock>(?:\d+ days?, )?\d+:\d\d(?::\d\d)?(?:\.\d+)?(?![:\d])(?!\.\d))"
    rf"|(?P<words>{WORDS})|(?P<number>{NUMBER}))"
)
# A bar drawn with signs says nothing that its numbers do not.
_BAR = re.compile(r"\|[\s\d█▏▎▍▌▋▊▉░▒=#>.-]{0,200}\|(?=\s*$)|[━╸╺─█▏▎▍▌▋▊▉░▒=#>.\-]{6,}")
_UNIT = re.compile(
    r"\s?(?P<unit>%|(?:ms|µs|us|seconds?|secs?|s|minutes?|mins?|m|hours?|h)(?![A-Za-z\d])"
    r"(?:\s?(?:/|per)\s?[A-Za-z]+)?"
    r"|[A-Za-z]+\s?(?:/|per)\s?(?:seconds?|secs?|s)(?![A-Za-z\d])|秒|초"
    r"|(?i:segundos?|secondes?|sekunden?|sek|secondi|minut(?:os?|en|i)|сек|мин|с)(?![^\W\d]))"
)
# By their first letters: `segundos`, `Sekunden`, `secondi`, `minuti`
_FOREIGN_UNITS = {
    **dict.fromkeys(("秒", "초", "с", "сек", "seg", "sec", "sek"), "s"),
    **dict.fromkeys(("мин", "min"), "min"),
}
_WORD = re.compile(r"[A-Za-z_][\w./%-]*")
_NUMBER_NEXT = re.compile(r"[\s:=]{1,3}[\d.]")
# Words before numbers in other scripts, by what they are called here; longer ones first where one begins with another.
_MEANINGS = {
    **dict.fromkeys(("学习率", "學習率", "学習率", "학습률"), "lr"),
    **dict.fromkeys(("训练", "訓練", "学習", "학습", "обучения"), "train"),
    **dict.fromkeys(("验证", "驗證", "検証", "검증", "валидации"), "val"),
    **dict.fromkeys(("测试", "測試", "テスト", "테스트", "теста"), "test"),
    **dict.fromkeys(("损失", "損失", "손실", "потери", "лосс"), "loss"),
    **dict.fromkeys(("准确率", "精度", "準確率", "정확도", "точность"), "accuracy"),
    **dict.fromkeys(("耗时", "用时", "时间", "時間", "耗時", "시간", "время"), "time"),
    **dict.fromkeys(("轮次", "轮数", "周期", "エポック", "에폭", "эпоха"), "epoch"),
    **dict.fromkeys(("步数", "迭代", "ステップ", "스텝", "шаг", "итерация"), "step"),
    **dict.fromkeys(("批次", "バッチ", "배치", "батч"), "batch"),
    **dict.fromkeys(("剩余", "残り", "남은", "осталось"), "left"),
    "奖励": "reward",
}
# Words of Latin script are looked for whole: `Zeit`, not `Zeitschrift`.
_LATIN_MEANINGS = {
    **dict.fromkeys(("entrenamiento", "treinamento", "treino", "entraînement", "entrainement"), "train"),
    **dict.fromkeys(("validación", "validacion", "validação", "validacao", "validierung"), "val"),
    **dict.fromkeys(("pérdida", "perdida", "perda", "perte", "verlust", "perdita"), "loss"),
    **dict.fromkeys(("exactitud", "precisión", "acurácia", "précision", "genauigkeit"), "accuracy"),
    **dict.fromkeys(("duración", "duracion", "duração", "duracao", "durée", "duree", "dauer", "durata"), "time"),
    **dict.fromkeys(("tiempo", "tempo", "temps", "zeit"), "time"),
    **dict.fromkeys(("época", "epoca", "époque", "epoque", "epoche"), "epoch"),
    **dict.fromkeys(("paso", "passo", "étape", "schritt"), "step"),
}
_MEANINGS.update(_LATIN_MEANINGS)
_FOREIGN = re.compile(
    rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, _LATIN_MEANINGS))})(?![^\W\d_])"
    rf"|{'|'.join(re.escape(word) for word in _MEANINGS if word not in _LATIN_MEANINGS)}",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)(?![A-Za-z\d])")
_NAMES_ON = re.compile(r"[A-Za-z_]\w|\.\w")
_MOST_KNOWN = 4096  # texts between numbers: those of one log are few
_BREAK = re.compile(r"[|,;，；、\]})）]|\s[-–]\s|\t")


class Field(NamedTuple):
    """A number of a line: `key` is the words before it, lower case; `unit` the unit after it."""

    kind: FieldKind
    text: str
    key: str
    unit: str
    start: int
    end: int


class LineParts(NamedTuple):
    """A line's numbers, and the texts around them: one more than there are numbers, blanks collapsed."""

    fields: tuple[Field, ...]
    texts: tuple[str, ...]

    @property
    def skeleton(self) -> tuple[str, ...]:
        """What lines of one kind have in common."""
        between = zip(self.texts, self.fields, strict=False)
        return (*(f"{text}\0{field.kind[0]}" for text, field in between), self.texts[-1])


def take_apart(line: str) -> LineParts:
    """The shape of a line, of its first two thousand characters."""
    line = line[:MAX_CHARS]
    fields: list[Field] = []
    texts: list[str] = []
    last = after = 0
    for match in _TOKEN.finditer(line):
        if len(fields) >= _MAX_FIELDS:
            break
        kind: FieldKind = match.lastgroup  # type: ignore[assignment]
        if kind == "number" and _is_name(line, match):
            continue
        between = line[last : match.start()]
        named = line[max(last, after) : match.start()]
        unit = _UNIT.match(line, match.end())
        if unit is not None and _names_next(line, unit) and _WORD.search(named):
            unit = None  # `ppl 9.4 ms/batch 3800`: each number stands behind its name
        fields.append(
            Field(
                kind,
                match[0],
                _key(named),
                _plain_unit(unit["unit"]) if unit else "",
                match.start(),
                match.end(),
            )
        )
        texts.append(squeeze(between))
        last = match.end()
        after = unit.end() if unit else last
    texts.append(squeeze(line[last:]))
    return LineParts(tuple(fields), tuple(texts))


def _names_next(line: str, unit: re.Match[str]) -> bool:
    """Whether a rate's unit comes apart from the number before it, right before another number."""
    is_rate = "/" in unit[0] or " per " in unit[0]
    return is_rate and unit[0][:1].isspace() and _NUMBER_NEXT.match(line, unit.end()) is not None


@lru_cache(maxsize=_MOST_KNOWN)
def _plain_unit(text: str) -> str:
    plain = re.sub(r"\s", "", text).lower().replace("per", "/")
    return _FOREIGN_UNITS.get(plain[:3] if plain[:1].isalpha() and "/" not in plain else plain, plain)


def _is_name(line: str, match: re.Match[str]) -> bool:
    """Whether digits are part of a name: a version, a path, an address."""
    after = line[match.end() : match.end() + 2]
    if _ORDINAL.match(line, match.end()):
        return False  # `11th epoch`
    return bool(_NAMES_ON.match(after)) and not _UNIT.match(line, match.end()) and not _starts_unit(after)


def _starts_unit(after: str) -> bool:
    """Whether the text right after a number begins like a unit or a multiplier: `4x`, `2GB`, `50it`."""
    return after[:1] in {"x", "G", "M", "K", "B", "T", "z", "i"}


@lru_cache(maxsize=_MOST_KNOWN)
def squeeze(text: str) -> str:
    """Text without bars, blanks collapsed, and without blanks next to a number unless nothing else separates it."""
    text = re.sub(r"\s+", " ", _BAR.sub("\1", text))
    return text if text.isspace() else text.strip()


@lru_cache(maxsize=_MOST_KNOWN)
def _key(between: str) -> str:
    """The words right before a number: after the last comma, bar or bracket, at most four."""
    between = _FOREIGN.sub(lambda found: f" {_MEANINGS[found[0].lower()]} ", between)
    text = re.sub(
        r"\s*/\s*(?=[a-z])", "/", re.sub(r"\(([A-Za-z/%]+)\)", r" \1 ", between.replace('"', " ").replace("'", " "))
    )
    words = _WORD.findall(_BREAK.split(text)[-1])
    return " ".join(words[-4:]).lower().strip("./-% ")
