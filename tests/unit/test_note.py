"""The note answers the worry first: it reassures only where the slow iterations are planned stops that cost little."""

from __future__ import annotations

import pytest

from stepscope.i18n import Language, languages
from stepscope.report import changes
from stepscope.report import note as notes
from tests.unit.logs import report_of, training

CALM = "**Those jumps are normal.**"


def nanogpt(steps=3000, *, every=1000, stop_ms=5000, odd=None, losses=None, step_ms=100.0):
    """A nanoGPT log: an evaluation every so often, perhaps one iteration that nothing explains."""
    lines = ["tokens per iteration will be: 32,768", "number of parameters: 123.59M"]
    for step in range(0, steps + 1, 10):
        stop = step % every == 0
        if stop:
            loss = losses(step) if losses else 4.0 - step / 1000
            lines.append(f"step {step}: train loss {loss:.4f}, val loss {loss:.4f}")
            lines += ["saving checkpoint to out"] if step else []
        took = step_ms + (stop_ms if stop else 0) + (3000 if step == odd else 0) + step % 7 / 10
        lines.append(f"iter {step}: loss {4.0 - step / 1000:.4f}, time {took:.2f}ms, mfu 30.00%")
    return "\n".join(lines) + "\n"


def note(cli, tmp_path, text, *more):
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")
    _, out, _ = cli(log, "--format", "note", "--set", "max_iters=20000", *more)
    return out


def test_planned_stops_that_cost_little_are_normal(cli, tmp_path):
    assert CALM in note(cli, tmp_path, nanogpt())


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (nanogpt(every=100, stop_ms=9000), "planned stops, but they take"),
        (nanogpt(odd=1530), "One of 5 slow iterations is unexplained"),
        (nanogpt() + "Traceback (most recent call last):\nRuntimeError: cuDNN error\n", "**Crashed after"),
        (nanogpt() + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n", "**Out of memory after"),
    ],
    ids=["costly", "unexplained", "crashed", "out of memory"],
)
def test_it_reassures_nobody_wrongly(cli, tmp_path, text, instead):
    out = note(cli, tmp_path, text)
    assert CALM not in out
    assert instead in out


def test_a_run_that_overfits_is_not_called_normal(cli, tmp_path):
    overfit = nanogpt(6000, every=500, stop_ms=500, losses=lambda step: 2.0 + abs(step - 1500) / 1000)
    out = note(cli, tmp_path, overfit)
    assert CALM not in out
    assert "after the best validation loss" in out.split("###")[0]


def test_the_slow_lines_themselves_are_quoted(cli, case):
    """Also where a step is several lines: its result, its checkpoint, its own."""
    _, out, _ = cli(*case, "--format", "note")
    assert (
        "step 500: train loss 5.6502, val loss 5.6834\nsaving checkpoint to out\niter 500: loss 5.6411, time 5985.00ms"
    ) in out
    assert "iter 0: loss 10.8214, time 12543.00ms" in out.partition("### Why iteration 0")[2]


def test_a_pipe_cannot_be_read_again_and_is_not(cli, monkeypatch):
    import io
    import sys
    import types

    monkeypatch.setattr(
        sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(nanogpt().encode()), isatty=lambda: False)
    )
    _, out, _ = cli("-", "--format", "note", "--set", "max_iters=20000")
    assert "step 1000: train loss" in out
    assert "iter 1000:" not in out


@pytest.mark.parametrize("code", languages())
def test_a_note_ends_with_a_summary(cli, case, code):
    _, out, _ = cli(*case, "--format", "note", "--lang", code)
    title = {"en": "Summary", "es": "Resumen", "de": "Zusammenfassung", "fr": "Résumé"}[code]
    assert out.rpartition("\n### ")[2].startswith(f"{title}\n\n- ")


def test_what_a_log_says_is_text_in_a_note(cli, tmp_path):
    out = note(cli, tmp_path, nanogpt() + "Traceback (most recent call last):\nRuntimeError: <script>*bold*@all\n")
    assert "<script>" not in out.partition("###")[0]


def test_a_note_of_a_dead_run_says_once_what_it_died_of():
    """In its first sentence and its summary; not as an alarm and as the end of a forecast, too."""
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. "
    oom += "GPU 0 has a total capacity of 10.75 GiB of which 36.50 MiB is free. Process 1 has 10 GiB in use."
    log = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    train()", oom]
    for code, title in (("en", "Out of memory"), ("de", "Speicher voll")):
        text = notes.render(report_of(["number of parameters: 0.80M", *log]), Language.load(code))
        assert f"title: {title}" in text
        assert text.count("37 MiB") == 2
        assert "…." not in text
        assert "10.75" not in text


def test_advice_on_a_dead_run_begins_with_what_to_do():
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB."
    text = changes.render(report_of([*training(50), oom]), None, Language.load("en"))
    assert text.startswith("Out of memory")
    assert "Halve the batch size" in text.partition("What to change")[0]
