"""OpenTelemetry spans in a file: of the SDKs' console exporters (one line each or indented), and OTLP's JSON lines."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stepscope.formats._shared.json_values import object_of, objects_of

_KEYS = re.compile(rb'"(?:name|start_?time\w*|end_?time\w*)"\s*:', re.IGNORECASE)
_DECODER = json.JSONDecoder()
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORDS = re.compile(r"[^a-z0-9]+")
# Moments since 1970 as whole numbers: from how much on they are nanoseconds, microseconds, milliseconds.
_SCALES = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))
_LATEST_NS = 1 << 62
_MOST_DIGITS = 20
# What tells the processes of a distributed run apart.
_PROCESS = ("service.instance.id", "rank", "dl.rank", "process.pid", "host.name")
_Object = Mapping[str, object]


class Span(NamedTuple):
    """One span: its name, from when to when in nanoseconds since 1970, its attributes, and whose it is."""

    name: str
    begin_ns: int
    end_ns: int
    attributes: _Object
    process: str

    @property
    def words(self) -> frozenset[str]:
        """The words of its name, in small letters."""
        return frozenset(_NOT_WORDS.split(_CAMEL.sub(" ", self.name).lower())) - {""}

    def contains(self, other: Span) -> bool:
        """Whether another span lies within this one."""
        return self.begin_ns <= other.begin_ns and other.end_ns <= self.end_ns


def is_spans(head: bytes) -> bool:
    """Whether a file begins with a span, by its first bytes; a row of OTLP may be longer than these."""
    if not head.lstrip().startswith(b"{"):
        return False
    if b'"resourceSpans"' in head:
        return True
    first = head.lstrip().split(b"\n{", 1)[0]
    return {match[0][1:2].lower() for match in _KEYS.finditer(first)} == {b"n", b"s", b"e"}


def read_spans(blob: bytes) -> list[Span]:
    """All spans of a file, in the order in which they ended."""
    found = [span for row in _objects(blob.decode("utf-8", errors="replace")) for span in _spans_of(row)]
    return sorted(found, key=lambda span: (span.end_ns, -span.begin_ns))


def _objects(text: str) -> Iterator[_Object]:
    """The objects of a text one after the other, whatever lies between them; a cut one is left out."""
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
            position = text.find("\n{", end)
            position += position >= 0
            continue
        if isinstance(value, dict):
            yield value
        position = text.find("{", end)


def _spans_of(row: _Object) -> Iterator[Span]:
    if "resourceSpans" not in row:
        span = _span(row, _attributes(object_of(row.get("resource")).get("attributes")))
        if span is not None:
            yield span
        return
    for resource_spans in objects_of(row["resourceSpans"]):
        resource = _attributes(object_of(resource_spans.get("resource")).get("attributes"))
        scopes = resource_spans.get("scopeSpans") or resource_spans.get("instrumentationLibrarySpans")
        for scope in objects_of(scopes):
            for inner in objects_of(scope.get("spans")):
                span = _span(inner, resource)
                if span is not None:
                    yield span


def _span(row: _Object, resource: _Object) -> Span | None:
    keys = {key.lower().replace("_", ""): key for key in row}
    begin = _moment(row, keys, "start")
    end = _moment(row, keys, "end")
    name = row.get("name")
    if not isinstance(name, str) or begin is None or end is None or end < begin:
        return None
    attributes = {**resource, **row, **_attributes(row.get("attributes"))}
    process = "/".join(str(resource[key]) for key in _PROCESS if key in resource)
    return Span(name, begin, end, attributes, process)


def _moment(row: _Object, keys: Mapping[str, str], which: str) -> int | None:
    """The moment under `start_time`, `startTimeUnixNano`, `startTimeUnixMs` …"""
    key = next((keys[key] for key in keys if key.startswith(f"{which}time")), None)
    value = row.get(key) if key is not None else None
    if isinstance(value, str) and not (value.isdecimal() and len(value) < _MOST_DIGITS):
        return _parse_iso(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    number = value if isinstance(value, float) else int(value)
    scale = next((scale for least, scale in _SCALES if number >= least or not least), 0)
    return round(number * scale) if 0 < number * scale < _LATEST_NS else None


def _parse_iso(text: str) -> int | None:
    try:
        moment = dt.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    since = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _attributes(value: object) -> dict[str, object]:
    """Attributes as a plain mapping, or as OTLP's list of keys and typed values."""
    if isinstance(value, dict):
        return value
    found: dict[str, object] = {}
    for item in objects_of(value):
        typed = object_of(item.get("value"))
        number = typed.get("intValue", typed.get("doubleValue", typed.get("stringValue", typed.get("boolValue"))))
        found[str(item.get("key"))] = number
    return found
