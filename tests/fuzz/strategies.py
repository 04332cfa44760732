"""Logs as they might be: nanoGPT's lines in any order a run could print them, and bytes that are no log at all."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

milliseconds = st.one_of(st.floats(0, 1e7), st.floats(1, 500), st.just(100.0))
losses = st.one_of(st.floats(-10, 20).map(lambda x: f"{x:.4f}"), st.sampled_from(["nan", "inf", "-inf", "..."]))


@st.composite
def nanogpt_logs(draw: st.DrawFn) -> str:
    """A run with evaluations, saves, restarts, odd lines and odd numbers."""
    log_interval = draw(st.sampled_from([1, 2, 10, 100]))
    eval_every = draw(st.integers(1, 8))
    lines = draw(
        st.lists(st.sampled_from(["", "some chatter", "max_iters = 500", "Overriding: eval_iters = 20"]), max_size=3)
    )
    step = draw(st.sampled_from([0, 0, 0, 500, 123_456]))
    for index in range(draw(st.integers(0, 40))):
        if index % eval_every == 0 and draw(st.booleans()):
            lines.append(f"step {step}: train loss {draw(losses)}, val loss {draw(losses)}")
            if draw(st.booleans()):
                lines.append("saving checkpoint to out")
        if draw(st.integers(0, 9)):
            lines.append(f"iter {step}: loss {draw(losses)}, time {draw(milliseconds):.2f}ms")
        jump = draw(st.integers(0, 30))
        step = max(0, step - 50) if jump == 0 else step + log_interval
        if jump == 1:
            lines.append(draw(st.text(max_size=40)))
        if jump == 2:
            lines.append("Traceback (most recent call last):")
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


@st.composite
def stamped_logs(draw: st.DrawFn) -> str:
    """A run by a clock that is set now and then, with restarts, evaluations and lines out of place."""
    clock = draw(st.sampled_from([unix, dated, daily, syslog]))
    now, step, lines = draw(st.floats(1e9, 1.8e9)), 0, []
    for _ in range(draw(st.integers(0, 30))):
        now += draw(st.sampled_from([1.0, 1.0, 1.0, 0.0, 30.0]))
        match draw(st.integers(0, 14)):
            case 0:
                now += draw(st.sampled_from([-2.0, -60.0, -3600.0, 3600.0, -86_400.0, -1e9, 1e9]))
            case 1:
                step = max(0, step - draw(st.integers(0, 40)))
            case 2:
                lines.append(f"{clock(now)} step {step}: train loss 3.0, val loss 3.1")
            case 3:
                lines.append(f"{clock(now + draw(st.floats(-100, 100)))} some chatter")
        lines.append(f"{clock(now)} iter {step}: loss 3.0, time {draw(milliseconds):.2f}ms")
        step += draw(st.sampled_from([1, 1, 10, 1 << 33]))
    return "\n".join(lines) + "\n"


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=max(0.0, min(seconds, 6e9)))


def unix(seconds: float) -> str:
    return f"{seconds:.3f}"


def dated(seconds: float) -> str:
    return _moment(seconds).strftime("%Y-%m-%d %H:%M:%S,000")


def daily(seconds: float) -> str:
    return _moment(seconds).strftime("[%H:%M:%S]")


def syslog(seconds: float) -> str:
    return _moment(seconds).strftime("%b %d %H:%M:%S")


any_bytes = st.one_of(
    st.binary(max_size=4000),
    st.text(max_size=2000).map(lambda text: text.encode("utf-16")),
    nanogpt_logs().map(str.encode),
    stamped_logs().map(str.encode),
    st.tuples(nanogpt_logs(), st.binary(max_size=60), st.integers(0, 3000)).map(
        lambda parts: parts[0].encode()[: parts[2]] + parts[1] + parts[0].encode()[parts[2] :]
    ),
)
