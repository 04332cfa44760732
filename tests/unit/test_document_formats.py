"""Files of trainers that are no text of log lines: StyleGAN's stats, CatBoost's folder, Peng's tables."""

from __future__ import annotations

import datetime as dt
import json
from functools import partial

import pytest

from stepscope.catalogue.detect import find_document
from stepscope.reading.log_reader import LogReader
from stepscope.run.model import NO_TIME


def _read(blob: bytes):
    reader = LogReader()
    reader.begin_file()
    reader.feed(blob)
    reader.end_file()
    return reader.run()


def _figure(mean: float) -> dict[str, float]:
    return {"num": 1, "mean": mean, "std": 0.0}


def test_stats_of_stylegan_are_ticks_with_a_running_clock_and_maintenance():
    rows = [
        {
            "Loss/G/loss": _figure(1.5),
            "Progress/tick": _figure(tick),
            "Timing/total_sec": _figure(30 + 20 * tick + (100 if tick >= 5 else 0)),
            "Timing/maintenance_sec": _figure(100 if tick == 5 else 0.1),
            "timestamp": 1.7e9 + 20 * tick,
        }
        for tick in range(12)
    ]
    run = _read("\n".join(json.dumps(row) for row in rows).encode())
    assert run.format.name == "stylegan_stats"
    assert run.steps.step.tolist() == list(range(12))
    assert run.events.row.tolist() == [5]
    assert run.events.took_ns.tolist() == [100 * 10**9]
    assert int(run.steps.dur_ns[3]) == 20 * 10**9


def test_time_left_of_catboost_is_in_milliseconds():
    text = "iter\tPassed\tRemaining\n" + "".join(f"{at}\t{50 * (at + 1)}\t{50 * (99 - at)}\n" for at in range(60))
    run = _read(text.encode())
    assert run.format.name == "catboost_info"
    assert int(run.steps.dur_ns[30]) == 50 * 10**6


def test_the_json_of_catboost_has_a_total():
    rounds = [{"learn": [0.5], "iteration": at, "passed_time": 0.2 * (at + 1)} for at in range(20)]
    meta = {"test_sets": [], "launch_mode": "Train", "iteration_count": 300}
    run = _read(json.dumps({"meta": meta, "iterations": rounds}).encode())
    assert run.format.name == "catboost_info"
    assert run.settings.count("max_steps") == 299
    assert int(run.steps.dur_ns[7]) == 2 * 10**8


def test_the_wall_time_of_a_peng_table_is_in_hours():
    names, width = ("Iteration", "Wall_Time", "Samples", "Return"), 25
    rows = [(50 * at, at / 10, 900 * at, 1.5) for at in range(30)]
    text = "\n".join("".join(str(cell).ljust(width) for cell in row) for row in (names, *rows))
    run = _read(text.encode())
    assert run.format.name == "peng_table"
    assert int(run.steps.dur_ns[9]) == 360 * 10**9 // 50


def test_a_line_of_words_is_no_table():
    assert find_document(b"Training  the  model\nstep 1 loss 2\n") is None


_BEGIN_NS = 1_794_850_000 * 10**9


def _traced_training():
    """Ten steps of 2 s, loading of 0.5 s in each; after the fifth an evaluation of 30 s and a save of 10 s."""
    spans, now = [], _BEGIN_NS
    for step in range(10):
        spans.append(("trainer.data_loading", now, now + 5 * 10**8, {}))
        spans.append(("trainer.optimizer_step", now + 15 * 10**8, now + 2 * 10**9, {}))
        spans.append(
            ("trainer.train.iteration", now, now + 2 * 10**9, {"trainer.iteration": step, "trainer.loss": 2.5})
        )
        now += 2 * 10**9
        if step == 4:
            spans += [("trainer.evaluate.step", now + at * 10**9, now + (at + 1) * 10**9, {}) for at in range(30)]
            spans.append(("trainer.evaluate", now, now + 30 * 10**9, {}))
            now += 30 * 10**9
            spans.append(("trainer.checkpoint.save.io_write", now + 10**9, now + 9 * 10**9, {}))
            spans.append(("trainer.checkpoint.save", now, now + 10 * 10**9, {"trainer.iteration": step}))
            now += 10 * 10**9
    return [*spans, ("trainer.train", _BEGIN_NS, now, {"trainer.train_iters": 50})]


def _console(spans, indent=None, rank=0):
    def moment(nanos):
        return dt.datetime.fromtimestamp(nanos / 1e9, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    rows = [
        {
            "name": name,
            "context": {"trace_id": "0x1f", "span_id": f"0x{at:x}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": None,
            "start_time": moment(begin),
            "end_time": moment(end),
            "status": {"status_code": "UNSET"},
            "attributes": attributes,
            "resource": {"attributes": {"service.instance.id": f"job-rank{rank}"}, "schema_url": ""},
        }
        for at, (name, begin, end, attributes) in enumerate(spans)
    ]
    return "\n".join(json.dumps(row, indent=indent) for row in rows) + "\n"


def _otlp(spans, batch=7):
    def typed(value):
        return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}

    rows = [
        {
            "name": name,
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(end),
            "attributes": [{"key": key, "value": typed(value)} for key, value in attributes.items()],
        }
        for name, begin, end, attributes in spans
    ]
    batches = [rows[at : at + batch] for at in range(0, len(rows), batch)]
    return "".join(
        json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": some}]}]}) + "\n"
        for some in batches
    )


@pytest.mark.parametrize(
    "write", [_console, partial(_console, indent=4), _otlp], ids=["console", "console indented", "otlp"]
)
def test_spans_of_opentelemetry_are_steps_and_stops(write):
    run = _read(write(_traced_training()).encode())
    assert run.format.name == "otel_spans"
    assert run.steps.step.tolist() == list(range(10))
    assert run.steps.dur_ns.tolist() == [2 * 10**9] * 10
    assert run.steps.loss.tolist() == [2.5] * 10
    assert sorted(zip(run.events.kind, run.events.took_ns.tolist(), strict=True)) == [
        ("checkpoint", 10 * 10**9),
        ("evaluation", 30 * 10**9),
    ]
    assert run.settings.count("max_steps") == 49


def test_loading_before_a_span_counts_with_its_step():
    spans, now = [], _BEGIN_NS
    for _ in range(6):
        spans.append(("load_batch", now, now + 10**9, {}))
        spans.append(("train_step", now + 10**9, now + 3 * 10**9, {}))
        now += 3 * 10**9
    run = _read(_otlp(spans).encode())
    assert run.steps.step.tolist() == list(range(6))
    assert run.steps.dur_ns.tolist() == [3 * 10**9] * 6


def test_spans_of_another_rank_are_no_second_training():
    spans = _traced_training()
    run = _read((_console(spans) + _console(spans, rank=1)).encode())
    assert run.steps.step.tolist() == list(range(10))


def test_a_save_in_the_background_takes_no_time():
    spans = [("step", _BEGIN_NS + at * 10**9, _BEGIN_NS + (at + 1) * 10**9, {}) for at in range(8)]
    spans.append(("save_checkpoint_async", _BEGIN_NS + 3 * 10**9, _BEGIN_NS + 6 * 10**9, {}))
    run = _read(_otlp(spans).encode())
    assert list(run.events.kind) == ["checkpoint"]
    assert run.events.took_ns.tolist() == [NO_TIME]
