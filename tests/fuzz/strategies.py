"""Logs as they might be: nanoGPT's lines in any order a run could print them, and bytes that are no log at all."""

from __future__ import annotations

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


any_bytes = st.one_of(
    st.binary(max_size=4000),
    st.text(max_size=2000).map(lambda text: text.encode("utf-16")),
    nanogpt_logs().map(str.encode),
    st.tuples(nanogpt_logs(), st.binary(max_size=60), st.integers(0, 3000)).map(
        lambda parts: parts[0].encode()[: parts[2]] + parts[1] + parts[0].encode()[parts[2] :]
    ),
)
