"""`compare --fail-on`: fails on a slower run, never on chance, and refuses to judge on too little."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from stepscope.analysis import baseline_file
from stepscope.analysis.gate import judge
from stepscope.analysis.run_figures import run_figures
from stepscope.core.errors import InputError
from stepscope.i18n import languages
from tests.conftest import ROOT
from tests.schemas import check
from tests.unit.logs import report_of
from tests.unit.test_compare import noisy


def figures(seed, **changes):
    return run_figures(report_of(noisy(seed, last=200, **changes)))


@pytest.fixture
def logs(tmp_path):
    found = {}
    for name, seed, step_ms in (("base", 1, 100.0), ("same", 2, 100.0), ("slow", 3, 112.0)):
        found[name] = tmp_path / f"{name}.log"
        found[name].write_text("\n".join(noisy(seed, step_ms=step_ms, last=300)) + "\n")
    found["short"] = tmp_path / "short.log"
    found["short"].write_text("\n".join(noisy(4, last=5)) + "\n")
    return found


def test_chance_never_fails_a_job():
    base = figures(0)
    assert {judge(base, figures(seed), 0.05).verdict for seed in range(1, 13)} == {"passed"}


def test_a_slower_step_always_does():
    base = figures(0)
    for seed in range(1, 6):
        found = judge(base, figures(seed, step_ms=112.0), 0.05)
        assert found.verdict == "slower"
        assert found.low < found.change < found.high


def test_dearer_evaluations_do_too_and_cheaper_ones_hide_no_slower_step():
    base = figures(0)
    assert judge(base, figures(1, evaluation_ms=6000.0), 0.05).verdict == "slower"
    assert judge(base, figures(1, step_ms=112.0, evaluation_ms=1.0), 0.05).verdict == "slower"


def test_runs_of_other_lengths_compare():
    """A short run has one evaluation too many for its length."""
    assert judge(figures(0), run_figures(report_of(noisy(1, last=900))), 0.03).verdict == "passed"


def test_a_difference_that_may_be_chance_is_not_judged():
    import random

    def wild(seed, middle):
        dice = random.Random(seed)
        return run_figures(
            report_of([f"iter {s}: loss 3.0, time {middle * dice.uniform(0.4, 1.6):.2f}ms" for s in range(12)])
        )

    verdicts = [judge(wild(seed, 100), wild(seed + 50, 108), 0.01) for seed in range(20)]
    assert any(one.verdict == "cannot judge" and one.reason.key == "gate-noise" for one in verdicts)
    assert all(one.low <= 0 for one in verdicts if one.verdict == "cannot judge")


@pytest.mark.parametrize(
    ("second", "code", "verdict"), [("same", 0, "passed"), ("slow", 5, "slower"), ("short", 3, "cannot judge")]
)
def test_the_exit_code_is_the_verdict(cli, logs, second, code, verdict):
    status, out, _ = cli("compare", logs["base"], logs[second], "--fail-on", "5%", "--format", "json")
    document = json.loads(out)
    check(document, strict=True)
    assert (status, document["others"][0]["gate"]["verdict"]) == (code, verdict)
    assert cli("compare", logs["base"], logs[second])[0] == 0


@pytest.mark.parametrize("code", languages())
def test_the_job_summary_says_it_first(cli, logs, code):
    for second, mark in (("same", "✅"), ("slow", "❌"), ("short", "⚠️")):
        arguments = ["compare", logs["base"], logs[second], "--fail-on", "5%", "--lang", code]
        out = cli(*arguments, "--format", "github")[1]
        assert out.startswith(f"### {mark} ")
        assert out.count("|---|") == 1
        assert out.splitlines()[0].removeprefix(f"### {mark} ")[:8].strip("*") in cli(*arguments)[1].replace(
            "\n  ", " "
        )


def test_a_baseline_stands_for_its_log(cli, logs, tmp_path):
    base = tmp_path / "base.json"
    status, out, err = cli("compare", logs["base"], "--save-baseline", base)
    assert (status, out, err) == (0, "", f"written: {base}\n")
    assert base.stat().st_size < 20_000
    by_log, by_file = (
        json.loads(cli("compare", first, logs["slow"], "--fail-on", "5%", "--format", "json")[1])
        for first in (logs["base"], base)
    )
    for name in ("change", "change_low", "change_high"):
        assert by_file["others"][0]["gate"].pop(name) == pytest.approx(by_log["others"][0]["gate"].pop(name), rel=1e-4)
    assert by_file["others"][0]["gate"] == by_log["others"][0]["gate"]
    assert by_file["first"] == by_log["first"]


def test_a_run_that_is_too_slow_does_not_become_the_baseline(cli, logs, tmp_path):
    base = tmp_path / "base.json"
    arguments = ("compare", logs["base"], logs["slow"], "--fail-on", "5%", "--save-baseline", base)
    assert cli(*arguments)[0] == 5
    assert not base.exists()


_BROKEN = [
    ("steps", -1),
    ("steps", "many"),
    ("normal_s", [float("nan")]),
    ("normal_s", [True]),
    ("normal_s", None),
    ("phases", {"coffee": 1}),
    ("phases", {"step": -1}),
    ("settings", {str(number): 1 for number in range(500)}),
    ("settings", {"a": [1]}),
    ("wall_s", 1e300),
    ("confidence", None),
]


@pytest.mark.parametrize(("key", "value"), _BROKEN, ids=range(len(_BROKEN)))
def test_a_strangers_baseline_is_checked(tmp_path, key, value):
    data = json.loads(baseline_file.to_text(figures(0))) | {key: value}
    path = tmp_path / "base.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError):
        baseline_file.read_baseline(str(path))


def test_a_strangers_names_and_sizes_are_bounded(tmp_path, cli, logs):
    data = json.loads(baseline_file.to_text(figures(0)))
    data["paths"] = ["\x1b[31m<b>" + "x" * 5000]
    data["settings"] = {"learning_rate\x1b[0m": "`<i>" * 1000}
    path = tmp_path / "base.json"
    path.write_text(json.dumps(data))
    for name in ("terminal", "markdown", "github", "html"):
        out = cli("compare", path, logs["same"], "--format", name)[1]
        assert "\x1b" not in out
        assert name == "terminal" or "<b>" not in out
    path.write_text(path.read_text() + " " * (1 << 20))
    assert cli("compare", path, logs["same"])[0] == 1


@pytest.mark.parametrize(
    ("second", "code", "verdict"),
    [("same", 0, "passed"), ("slow", 5, "slower"), ("short", 0, "cannot-judge"), (None, 0, "new-baseline")],
)
def test_the_action_fails_where_it_is_slower(logs, tmp_path, second, code, verdict):
    """The script of `action.yml`, as a runner would start it."""
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    command = tmp_path / "stepscope"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m stepscope "$@"\n')
    command.chmod(0o755)
    baseline = tmp_path / "new.json" if second is None else logs["base"]
    own = {"LOG": str(logs[second or "base"]), "BASELINE": str(baseline), "FAIL_ON": "5%", "ARGUMENTS": "--lang en"}
    own |= {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    script = ROOT / "tools" / "ci_compare.sh"
    done = subprocess.run(["bash", script, command], env={**os.environ, **own}, capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    assert output.read_text() == f"verdict={verdict}\n"
    assert baseline.exists()
    assert summary.exists() == (second is not None)


def test_the_action_names_what_is_there():
    """Its script exists, inputs reach it as variables only, and the page shows the lines to copy."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    install, compare = action["runs"]["steps"]
    assert "${{" not in install["run"] + compare["run"]
    assert compare["env"] == {
        name.upper().replace("-", "_"): f"${{{{ inputs.{name} }}}}"
        for name in ("log", "baseline", "fail-on", "arguments")
    }
    assert set(action["inputs"]) == {"log", "baseline", "fail-on", "arguments"}
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    example = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])[0]
    assert set(example["with"]) <= set(action["inputs"])
    assert example["uses"].startswith("stepscope/stepscope@v")
