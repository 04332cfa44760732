"""Where OpenTelemetry's spans and gauges go: a file of OTLP's JSON lines, or a collector (extra `otlp`)."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stepscope.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.trace import ReadableSpan

_IDS = ("traceId", "spanId", "parentSpanId")
_TIMEOUT_S = 5.0


class Target(Protocol):
    """Where spans and gauges go. `put` says in a sentence what went wrong, or None."""

    def put(self, spans: Sequence[ReadableSpan], gauges: MetricsData) -> str | None:
        """Take them."""


def open_target(target: str) -> Target:
    """A file by its path, or a collector by its URL."""
    try:
        return _Collector(target) if "://" in target else _File(target)
    except ImportError:
        raise UsageError("needs-extra", place="--otlp", extra="otlp") from None


class _File:
    """A file of OTLP's JSON lines, as the collector's file exporter writes them. Each line is appended whole."""

    def __init__(self, path: str) -> None:
        import opentelemetry.exporter.otlp.proto.common.trace_encoder  # noqa: F401  said at the start, not at the end

        self._path = Path(path)
        try:
            self._append("")
        except OSError as problem:
            raise InputError("cannot-write", place=path, reason=problem.strerror or str(problem)) from None

    def put(self, spans: Sequence[ReadableSpan], gauges: MetricsData) -> str | None:
        """Append a line of spans, where there are any, and one of gauges."""
        from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        lines = [_json_line(encode_spans(spans))] if spans else []
        try:
            self._append("".join([*lines, _json_line(encode_metrics(gauges))]))
        except OSError as problem:
            return str(problem)
        return None

    def _append(self, text: str) -> None:
        number = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(number, text.encode())
        finally:
            os.close(number)


def _json_line(message: Any) -> str:
    """A message as OTLP has it in JSON: unlike in protobuf's own, the ids are in hexadecimal digits."""
    from google.protobuf.json_format import MessageToDict

    row = MessageToDict(message, use_integers_for_enums=True)
    for resource_spans in row.get("resourceSpans", ()):
        for scope in resource_spans.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                span.update({key: base64.b64decode(span[key]).hex() for key in _IDS if key in span})
    return json.dumps(row, separators=(",", ":")) + "\n"


class _Collector:
    """A collector that takes OTLP over HTTP: `http://localhost:4318`."""

    def __init__(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        if not url.startswith(("http://", "https://")):
            raise UsageError("bad-address", place=f"--otlp {url}")
        base = url.rstrip("/")
        self._url = base
        self._spans = OTLPSpanExporter(f"{base}/v1/traces", timeout=_TIMEOUT_S)
        self._metrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=_TIMEOUT_S)

    def put(self, spans: Sequence[ReadableSpan], gauges: MetricsData) -> str | None:
        """Send them; a collector that does not answer holds the view up for seconds at most."""
        import logging

        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # said once, by the writer
        results = [self._spans.export(spans).name] if spans else []
        results.append(self._metrics.export(gauges, timeout_millis=_TIMEOUT_S * 1000).name)
        return None if set(results) == {"SUCCESS"} else f"{self._url}: no collector took it"
