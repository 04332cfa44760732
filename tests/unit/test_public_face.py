"""What somebody sees who uses Stepscope from Python."""

from __future__ import annotations

import dataclasses
import json
from html import unescape

import pytest

import stepscope
from stepscope.core.installing import install_command
from tests.conftest import DEMO
from tests.unit.logs import report_of, run_of, training


@pytest.fixture
def report():
    return stepscope.explain(stepscope.read(str(DEMO / "train.log")), flags={"max_steps": 20_000})


def test_dir_lists_the_api_and_nothing_else():
    assert dir(stepscope) == sorted(stepscope.__all__)
    assert {"read", "explain", "Run", "Report", "StepscopeError"} <= set(dir(stepscope))
    assert all(hasattr(stepscope, name) for name in dir(stepscope))


def test_an_error_is_a_sentence(tmp_path):
    (tmp_path / "train.log").write_text("hello\n")
    with pytest.raises(stepscope.InputError) as caught:
        stepscope.read(str(tmp_path / "train.lof"))
    assert str(caught.value) == f"No such file: {tmp_path}/train.lof (did you mean {tmp_path}/train.log?)"


def test_a_command_in_an_error_can_be_pasted():
    error = stepscope.UsageError("needs-extra", place="Run.to_pandas", extra="pandas")
    command = install_command("pandas")
    assert str(error) == f"This needs the extra pandas: Run.to_pandas ({command})"
    assert command.endswith("[pandas]'")


def test_a_secret_in_an_error_is_masked(tmp_path):
    with pytest.raises(stepscope.StepscopeError) as caught:
        stepscope.read(str(tmp_path / "api_key=abcdefgh12345678.log"))
    assert "abcdefgh12345678" not in str(caught.value)


def test_a_message_is_a_sentence():
    report = stepscope.explain(stepscope.read(str(DEMO / "train.log")))
    assert str(report.forecast.reason).startswith("the log does not give the total number of iterations")


def test_a_run_and_a_report_are_one_line_each(report):
    for text in (repr(report.run), repr(report)):
        assert "nanoGPT" in text
        assert "\n" not in text
        assert len(text) < 300


def test_a_report_is_the_terminal_text(report):
    assert " nanoGPT · " in str(report).splitlines()[0]
    assert max(map(len, str(report).splitlines())) <= 80


def test_a_report_is_a_document_and_a_page(report):
    document = report.to_dict()
    assert document["schema"] == "stepscope.report/1"
    json.dumps(document)
    page = report._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    held = unescape(page.partition('srcdoc="')[2].partition('" style')[0])
    assert held.startswith("<!DOCTYPE html>")
    assert "</html>" in held
    assert "<script>" not in page  # all of the page is inside the attribute


def test_a_report_is_frozen(report):
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.forecast = None


def test_asking_otherwise_gives_another_report(report):
    assert report.asked(may_lose_s=60.0).ask.may_lose_s == 60.0
    assert report.ask.may_lose_s is None


def test_a_report_reads_no_file_once_it_is_made(report, monkeypatch):
    """Whatever a renderer asks for: the files next to the log were read before."""
    import builtins
    import io

    opened, real = [], io.open

    def spy(path, *args, **kwargs):
        if str(path).endswith((".log", ".csv", ".tsv", ".txt")) and "gpus" not in str(path):
            opened.append(str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", spy)
    monkeypatch.setattr(io, "open", spy)
    str(report), report.to_dict(), report._repr_html_()
    assert opened == []


def test_a_run_is_a_data_frame():
    pandas = pytest.importorskip("pandas")
    run = stepscope.read(str(DEMO / "train.log"))
    frame = run.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["step"].tolist() == run.steps.step.tolist()
    assert frame["step_s"].tolist() == pytest.approx(run.steps.seconds.tolist())
    assert len(frame) == len(run)


def test_a_data_frame_has_the_times_of_the_log():
    pandas = pytest.importorskip("pandas")
    lines = [f"2026-03-01 10:00:{2 * step:02d},500 iter {step}: loss 3.1, time 200{step}.00ms" for step in range(5)]
    frame = run_of(lines).to_pandas()
    assert frame["time"].iloc[1] == pandas.Timestamp("2026-03-01 10:00:02.500")
    zoned = run_of([line.replace(",500 ", ".500Z ").replace("01 10", "01T10") for line in lines]).to_pandas()
    assert zoned["time"].iloc[1] == pandas.Timestamp("2026-03-01 10:00:02.500", tz="UTC")


def test_ipython_in_a_terminal_shows_the_report_as_text():
    class Printer:
        shown = ""

        def text(self, text):
            self.shown += text

    report, printer = report_of(training(400), max_steps=2000), Printer()
    report._repr_pretty_(printer, False)
    assert printer.shown == str(report).rstrip()
