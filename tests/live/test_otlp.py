"""`--otlp`: a run as OpenTelemetry spans and gauges, in a file and at a collector."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read

LOG = [
    line
    for step in range(0, 201, 10)
    for line in (
        *([f"step {step}: train loss 3.1, val loss 3.2"] if step % 50 == 0 else []),
        f"iter {step}: loss 3.1, time {2100 if step % 50 == 0 else 100}.00ms",
    )
]


def watch(log, target: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "stepscope",
        "watch",
        str(log),
        "--max-steps",
        "200",
        "--lang",
        "en",
        "--otlp",
        target,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("\n".join(LOG) + "\n")
    return path


def attributes(row) -> dict[str, object]:
    return {one["key"]: next(iter(one["value"].values())) for one in row["attributes"]}


def test_every_second_of_the_run_is_in_one_span(log, tmp_path):
    target = tmp_path / "spans.jsonl"
    done = watch(log, str(target))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    spans = [span for row in rows for one in row.get("resourceSpans", ()) for span in one["scopeSpans"][0]["spans"]]
    times = [(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) for span in spans]
    assert all(before[1] <= after[0] for before, after in pairwise(times))
    ledger = explain(read(str(log)), flags={"max_steps": 200}).ledger
    assert sum(end - begin for begin, end in times) / 1e9 == pytest.approx(ledger.wall_s, rel=1e-6)
    assert {span["name"] for span in spans} >= {f"stepscope.{total.phase}" for total in ledger.phases if total.ns}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert {(len(span["traceId"]), len(span["spanId"])) for span in spans} == {(32, 16)}
    metrics = rows[-1]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    points = next(one for one in metrics if one["name"] == "stepscope.phase.seconds")["gauge"]["dataPoints"]
    seconds = {attributes(point)["phase"]: point["asDouble"] for point in points}
    assert seconds == {total.phase: pytest.approx(total.seconds) for total in ledger.phases}
    again = read(str(target))
    assert again.format.name == "otel_spans"


def test_a_collector_gets_them(log):
    got: dict[str, int] = {}

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got[self.path] = len(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = watch(log, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (done.returncode, done.stderr) == (0, "")
    assert set(got) == {"/v1/traces", "/v1/metrics"}
    assert all(got.values())


def test_no_collector_is_said_once_and_costs_nothing_else(log):
    done = watch(log, "http://127.0.0.1:9")
    assert done.returncode == 0
    assert done.stderr == "--otlp: http://127.0.0.1:9: no collector took it\n"


def test_a_file_that_cannot_be_written_is_said_before_the_watch(log, tmp_path):
    done = watch(log, str(tmp_path / "none" / "spans.jsonl"))
    assert done.returncode == 1
    assert "cannot-write" in done.stderr
