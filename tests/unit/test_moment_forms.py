"""Every form of a timestamp that loggers print: what it means, and where the trainer's own line begins."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.lines.prefix import split_prefix
from tests.unit.logs import run_of

BODY = "iter 7: loss 3.1"
NOON = dt.datetime(2024, 2, 3, 12, 5, 9)
LATE = dt.datetime(2024, 2, 3, 13, 7, 0)
YEARLESS = dt.datetime(2000, 2, 3, 12, 5, 9)
DAILY = dt.datetime(1970, 1, 1, 12, 5, 9)
MS = dt.timedelta(milliseconds=250)

DATED = [
    ("2024-02-03 12:05:09 ", NOON),
    ("2024/02/03 12:05:09 ", NOON),
    ("2024.02.03 12:05:09 ", NOON),
    ("2024/2/3 12:05:09 ", NOON),
    ("(2024-02-03 12:05:09) ", NOON),
    ("<2024-02-03 12:05:09> ", NOON),
    ("[2024-02-03 12:05:09,250] ", NOON + MS),
    ("2024-02-03 12:05:09:250 ", NOON + MS),
    ("2024-02-03, 12:05:09 | ", NOON),
    ("2024-02-03T12:05:09.250 ", NOON + MS),
    ("2024-02-03 01:07:00 PM ", LATE),
    ("2024-02-03 1:07:00 p.m. ", LATE),
    ("[2024-02-03 01:07:00 PM-loop.py-INFO:", LATE),
    ("2/3/2024, 1:07:00 PM ", LATE),
    ("2024-02-03 12:07:00 AM ", dt.datetime(2024, 2, 3, 0, 7)),
    ("2024-02-03 12:05:09 CST ", NOON),
    ("[02.23.24|12:05:09] ", NOON.replace(day=23)),
    ("23.02.2024 12:05:09 ", NOON.replace(day=23)),
    ("02/23/2024 12:05:09 - INFO - ", NOON.replace(day=23)),
    ("24/02/03 12:05:09 INFO ", NOON),
    ("24-02-03 12:05:09 ", NOON),
    ("Sat Feb  3 12:05:09 2024 ", NOON),
    ("Sat Feb  3 12:05:09 CET 2024 ", NOON),
    ("Sat 03 Feb 2024 01:07:00 PM CST ", LATE),
    ("Feb 3, 2024 at 1:07:00 PM ", LATE),
    ("03-Feb-2024 12:05:09 ", NOON),
    ("20240203-120509 ", NOON),
    ("20240203_120509 ", NOON),
    ("20240203 12:05:09 ", NOON),
    ("2024-02-03 12-05-09 ", NOON),
    ("2024-02-03_12-05-09 ", NOON),
    ("2024年2月3日 12:05:09 ", NOON),
    ("2024年2月3日 下午1:07:00 ", LATE),
    ("2024年 02月 03日 星期六 12:05:09 CST ", NOON),
    ("2024-02-03 12:05:09.250 | INFO     | loop.engine:fit:88 - ", NOON + MS),
    ("INFO 2024-02-03 12:05:09 ", NOON),
    ("[INFO] 2024-02-03 12:05:09 ", NOON),
    ("[INFO][2024-02-03 12:05:09] ", NOON),
    ("INFO:root:2024-02-03 12:05:09 ", NOON),
    ("loop.engine - INFO - 2024-02-03 12:05:09 - ", NOON),
    ("loop.py:88 2024-02-03 12:05:09 ", NOON),
    ("[I 2024-02-03 12:05:09,250] ", NOON + MS),
    ("[I 240203 12:05:09 loop:88] ", NOON),
    ("I20240203 12:05:09.250000 4321 loop.cpp:88] ", NOON + MS),
    ("Time: 2024-02-03 12:05:09 ", NOON),
]
ZONED = [
    ("2024-02-03T12:05:09.250Z ", NOON + MS),
    ("2024-02-03T14:05:09+02:00 ", NOON),
    ("2024-02-03 12:05:09 UTC ", NOON),
    ("03/Feb/2024:14:05:09 +0200 ", NOON),
    ("[pod/loop-0/main] 2024-02-03T12:05:09.250000000Z ", NOON + MS),
    ("job\tRun the loop\t2024-02-03T12:05:09.2500000Z ", NOON + MS),
    ("loop-1  | 2024-02-03T12:05:09Z ", NOON),
    ("2024-02-03T12:05:09+0000 node7 loop[88]: ", NOON),
    ("1706961909.250 ", NOON + MS),
]
UNDATED = [
    ("[Feb 3, 12:05:09] ", YEARLESS),
    ("Feb 03 12:05:09 ", YEARLESS),
    ("Feb  3 12:05:09 node7 loop[88]: ", YEARLESS),
    ("02-03 12:05:09 ", YEARLESS),
    ("[02/03 12:05:09] ", YEARLESS),
    ("I0203 12:05:09.250000 4321 loop.cpp:88] ", YEARLESS + MS),
    ("12:05:09.250 | ", DAILY + MS),
    ("[12:05:09] ", DAILY),
    ("12:05:09 pm ", DAILY),
    ("1:07:00 PM ", DAILY.replace(hour=13, minute=7, second=0)),
]
FORMS = [*((*form, True, False) for form in DATED), *((*form, True, True) for form in ZONED)]
FORMS += [(*form, False, False) for form in UNDATED]


@pytest.mark.parametrize(("before", "moment", "dated", "zoned"), FORMS)
def test_forms(before, moment, dated, zoned):
    prefix = split_prefix(before + BODY)
    assert prefix is not None
    assert dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=prefix.t_ns / 1000) == moment
    assert (prefix.dated, prefix.zoned) == (dated, zoned)
    assert (before + BODY)[prefix.length :] == BODY


@pytest.mark.parametrize(
    "text",
    [
        "epoch 1/2 12:00:00",
        "12.5 seconds",
        "10:5:3 x",
        "2024-01-01 25:00:00 x",
        "1.2.3 12:00:00 x",
        "5/10 [00:10<00:20, 1.0it/s]",
        "12345678901234 rows",
        "20 loss 12:00:00",
        "2024-13-40 12:00:00 x",
    ],
)
def test_what_is_no_timestamp(text):
    prefix = split_prefix(text)
    assert prefix is None or prefix.t_ns is None


def test_minutes_of_a_date_before_an_elapsed_clock():
    prefix = split_prefix("INFO - 2024/06/01 01:31 -- 0:00:10 - Iter: 100")
    assert prefix is not None
    assert prefix.decimals == -1
    assert "INFO - 2024/06/01 01:31 -- 0:00:10 - Iter: 100"[prefix.length :] == "0:00:10 - Iter: 100"


def lines_of(pattern, start, *, num=200, every_s=30.0):
    moments = (start + dt.timedelta(seconds=step * every_s) for step in range(num))
    return [
        f"{moment.strftime(pattern)} iter {step}: loss 3.{step:04d}, time {every_s * 1e3:.2f}ms"
        for step, moment in enumerate(moments)
    ]


@pytest.mark.parametrize("num", [200, 4000])
@pytest.mark.parametrize("pattern", ["%Y-%m-%d %I:%M:%S %p", "[%m.%d.%y|%H:%M:%S]", "%Y%m%d-%H%M%S", "%b %d, %H:%M:%S"])
def test_logs_long_and_short_through_noon_and_midnight(pattern, num):
    """A log of four thousand lines is read in bulk."""
    report = explain(run_of(lines_of(pattern, dt.datetime(2024, 2, 3, 11, 20), num=num)))
    assert report.ledger.wall_s == pytest.approx(num * 30.0, rel=0.01)
    assert not report.ledger.slow


@pytest.mark.parametrize("num", [60, 3000])
@pytest.mark.parametrize(
    "pattern", ["%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d.%m.%y %H:%M:%S", "%m.%d.%y|%H:%M:%S"]
)
def test_day_and_month_by_the_days_that_follow_each_other(pattern, num):
    every_s = 2.5 * 86_400 / num
    start = dt.datetime(2024, 2, 10, 20, 0)
    report = explain(run_of(lines_of(pattern, start, num=num, every_s=every_s)))
    assert report.ledger.wall_s == pytest.approx(2.5 * 86_400, rel=0.03)
    last = start + dt.timedelta(seconds=(num - 1) * every_s)
    assert abs(report.moment.replace(tzinfo=None) - last) < dt.timedelta(seconds=1)


def test_a_header_by_another_clock_is_not_the_beginning():
    """The launcher prints UTC, the trainer local time without a zone."""
    lines = ["2024-02-03T02:00:00Z starting", *lines_of("%Y-%m-%d %H:%M:%S", dt.datetime(2024, 2, 3, 11, 0))]
    report = explain(run_of(lines))
    assert report.ledger.wall_s == pytest.approx(200 * 30.0, rel=0.01)


def loop_lines(moment_of, *, num=60, every_s=20):
    start = dt.datetime(2024, 2, 3, 11, 30)
    for step in range(num):
        yield from moment_of(start + dt.timedelta(seconds=every_s * step), step)


@pytest.mark.parametrize(
    "lines_at",
    [
        lambda at, step: [f"{at:%a %b %d %H:%M:%S CET %Y}", f"round {step} of my loop, loss = 0.{step + 100}"],
        lambda at, step: [f"Time: {at:%Y-%m-%d %I:%M:%S %p}", f"round {step} of my loop, loss = 0.{step + 100}"],
        lambda at, step: [f"round {step} of my loop, loss = 0.{step + 100}, done on {at:%Y-%m-%d %I:%M:%S %p}"],
        lambda at, step: [f"round {step} of my loop, loss = 0.{step + 100} ({at:%d.%m.%Y %H:%M:%S})"],
    ],
    ids=["date", "time and half", "inside", "inside, day first"],
)
def test_moments_on_lines_of_their_own_and_inside_lines_of_unknown_logs(lines_at):
    report = explain(run_of(list(loop_lines(lines_at))))
    assert report.ledger.step.typical_s == pytest.approx(20, rel=0.02)
    assert int(report.run.steps.step[-1]) == 59


@pytest.mark.parametrize("form", ["[ %a %b %d %H:%M:%S %Y ]", "[ %Y-%m-%d %H:%M:%S ]", "( %d.%m.%Y %H:%M:%S )"])
def test_a_moment_may_have_blanks_inside_its_brackets(form):
    lines = list(loop_lines(lambda at, step: [f"{at:{form}} \tround {step} of my loop, loss = 0.{step + 100}"]))
    report = explain(run_of(lines))
    assert report.ledger.step.typical_s == pytest.approx(20, rel=0.02)
    assert report.run.stamps.dated
