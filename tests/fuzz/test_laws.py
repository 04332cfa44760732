"""Laws that hold for every log, sane or not."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepscope.analysis.explain import explain
from stepscope.core.configfile import parse_python
from stepscope.core.errors import InputError
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language, languages
from stepscope.reading.log_reader import LogReader
from stepscope.report import json as as_json
from stepscope.report import markdown, note, terminal
from tests.consistency import breaches
from tests.fuzz.strategies import any_bytes, nanogpt_logs, stamped_logs


def run_of(*chunks):
    reader = LogReader(paths=["fuzz.log"])
    reader.begin_file()
    for chunk in chunks:
        reader.feed(chunk)
    reader.end_file()
    return reader.run()


def columns(run):
    steps, events = run.steps, run.events
    return [
        *(column.tolist() for column in (steps.step, steps.dur_ns, steps.span, steps.line, steps.segment, steps.t_ns)),
        repr(steps.loss.tolist()),
        repr(steps.mfu.tolist()),
        events.kind,
        *(column.tolist() for column in (events.step, events.row, events.line, events.segment)),
        *(column.tolist() for column in (events.t_ns, events.before_ns, events.took_ns)),
        repr(events.val_loss.tolist()),
        run.num_lines,
        run.num_unread,
        run.first_unread,
        run.unread,
        run.passed,
        run.notices,
        run.segments,
        run.settings,
        run.excerpts,
        run.num_nonfinite,
        run.first_nonfinite,
        run.stamps,
        run.means,
    ]


def outcome(*chunks):
    try:
        return columns(run_of(*chunks))
    except InputError as problem:
        return problem.key


@given(any_bytes, st.sampled_from(languages()))
def test_any_bytes_give_an_answer_or_a_clear_error(data, code):
    """No exception but the one for people, in any renderer and language."""
    try:
        run = run_of(data)
    except InputError:
        return
    report = explain(run, flags={"max_steps": 10_000})
    language = Language.load(code)
    json.loads(as_json.render(report, language))
    for text in (
        terminal.render(report, language),
        terminal.render(report, language, full=True),
        markdown.render(report, language),
        note.render(report, language),
        note.render_eta(report, language),
    ):
        assert text.strip()
        assert "\x1b" not in text


@given(nanogpt_logs(), st.lists(st.integers(0, 4000), max_size=6), st.sampled_from(["utf-8", "utf-16"]))
def test_any_chunking_gives_the_same_run(log, cuts, encoding):
    data = log.encode(encoding)
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert outcome(*chunks) == outcome(data)


@given(nanogpt_logs(), st.integers(0, 4000))
def test_a_cut_log_gives_the_same_rows_up_to_the_cut(log, cut):
    data = log.encode()
    try:
        whole, part = run_of(data), run_of(data[: cut % (len(data) + 1)])
    except InputError:
        assume(False)
        return
    # Later lines may show that rows were another writer's all along.
    assume(part.num_other_rows == whole.num_other_rows)
    num = max(0, len(part) - 1)  # the row at the cut itself may have lost its end
    assert part.steps.step[:num].tolist() == whole.steps.step[:num].tolist()
    assert part.steps.dur_ns[:num].tolist() == whole.steps.dur_ns[:num].tolist()


@given(st.one_of(nanogpt_logs(), stamped_logs()))
def test_phases_are_disjoint_and_add_up(log):
    try:
        run = run_of(log.encode())
    except InputError:
        return
    ledger = explain(run).ledger
    assert sum(total.ns for total in ledger.phases) == ledger.wall_ns
    assert len({total.phase for total in ledger.phases}) == len(ledger.phases)
    for total in ledger.phases:
        assert total.low_s <= total.seconds <= total.high_s
        assert total.seconds >= -1e-6
    assert 0 <= ledger.wall_low_s <= ledger.wall_s <= ledger.wall_high_s
    for slow in ledger.slow:
        assert sum(part.seconds for part in slow.parts) == pytest.approx(slow.seconds, rel=1e-6, abs=1e-6)
        for part in slow.parts:
            assert 0 <= part.low_s <= part.seconds + 1e-9
            assert part.seconds <= part.high_s + 1e-9


@given(nanogpt_logs())
def test_printed_seconds_are_never_lost(log):
    """The wall time is at least what was printed: nothing is averaged away."""
    try:
        run = run_of(log.encode())
    except InputError:
        return
    ledger = explain(run).ledger
    assert ledger.wall_ns >= int(np.sum(run.steps.dur_ns)) - 10 * max(1, len(ledger.phases))


@given(st.one_of(nanogpt_logs(), stamped_logs()), st.integers(1, 1_000_000))
def test_the_finish_is_not_before_now(log, max_steps):
    try:
        run = run_of(log.encode())
    except InputError:
        return
    end = explain(run, flags={"max_steps": max_steps}).forecast
    if isinstance(end, Forecast):
        assert 0 <= end.low_s <= end.remaining_s <= end.high_s
        # An evaluation that ends the log shows that more was done than is printed.
        assert 0 <= end.schedule.num_steps <= max(0, max_steps - int(run.steps.step[-1]))


@given(nanogpt_logs())
def test_the_same_log_gives_the_same_bytes(log):
    try:
        texts = {as_json.render(explain(run_of(log.encode())), Language.load("en")) for _ in range(2)}
    except InputError:
        return
    assert len(texts) == 1


@given(st.text(max_size=400))
def test_a_quote_is_one_short_clean_line(text):
    quoted = redact(text)
    assert len(quoted) <= 160
    assert "\n" not in quoted
    assert "\x1b" not in quoted


@given(st.text(max_size=300))
def test_any_config_text_parses_or_says_why(text):
    try:
        values = parse_python(text, "config.py")
    except InputError:
        return
    assert all(isinstance(value, int | float | str | bool) for value in values.values())


@given(nanogpt_logs())
def test_the_parts_of_a_report_agree(log):
    """Ledger, forecast and advice have one account of evaluations and checkpoints."""
    try:
        report = explain(run_of(log if isinstance(log, bytes) else log.encode()), flags={"max_steps": 100_000})
    except InputError:
        return
    assert breaches(report) == []
