"""Small logs written by hand, for tests that need a run of a certain shape."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.analysis.explain import explain
from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.reading.log_reader import LogReader
from stepscope.report import terminal
from stepscope.run.model import Run


def run_of(lines: Iterable[str] | str) -> Run:
    text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    reader = LogReader(paths=["hand.log"])
    reader.begin_file()
    reader.feed(text.encode())
    reader.end_file()
    return reader.run()


def report_of(lines: Iterable[str] | str, **flags: object) -> Report:
    return explain(run_of(lines), flags=flags)


def full(report: Report, width: int = 80) -> str:
    """All that the terminal says about a report, in one line."""
    return " ".join(terminal.render(report, Language.load("en"), width=width, full=True).split())


def training(
    last: int,
    *,
    first: int = 0,
    every: int = 1,
    evaluate: int = 0,
    step_ms: float = 100.0,
    evaluation_ms: float = 2000.0,
    save_ms: float = 0.0,
    saves: bool = True,
    compile_ms: float = 0.0,
) -> list[str]:
    """A run as nanoGPT prints it: `every` is log_interval, `evaluate` eval_interval."""
    lines = []
    for step in range(first, last + 1):
        took = step_ms + (compile_ms if step == first else 0.0)
        if evaluate and step % evaluate == 0:
            took += evaluation_ms
            lines.append(f"step {step}: train loss 3.0000, val loss 3.1000")
            if saves and step > 0:
                took += save_ms
                lines.append("saving checkpoint to out")
        if step % every == 0:
            lines.append(f"iter {step}: loss {3 + (step * 7919 % 13) / 100:.4f}, time {took:.2f}ms")
    return lines
