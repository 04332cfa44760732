"""A scheduler's wall time is the deadline by itself: the chance to be done, and the latest step at which to save."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepscope.i18n import Language
from stepscope.live.watch import Facts
from stepscope.report import live
from stepscope.source.wall_time import job_end_of, job_end_s, recorded_job_end
from tests.live.test_pulse_and_watch import START, text_of, views_until, watch_of
from tests.unit.logs import training


def test_moments_and_lengths_are_read():
    assert job_end_s({"SLURM_JOB_END_TIME": "1795010000"}) == 1795010000
    assert job_end_s({"COBALT_ENDTIME": "1795010000.5"}) == 1795010000.5
    assert job_end_s({}) is None
    assert job_end_s({"SLURM_JOB_END_TIME": "never"}) is None
    assert job_end_s({"SLURM_JOB_END_TIME": "12"}) is None  # not a moment of this world


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
def test_a_length_counts_from_the_start_of_the_job():
    end = job_end_s({"PBS_WALLTIME": "01:00:00"})
    assert end is not None
    assert end <= time.time() + 3600  # this process began before now
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, "SLURM_JOB_END_TIME": "1795010000"})
    try:
        found = None
        while found is None and child.poll() is None:
            found = job_end_of(child.pid)
    finally:
        child.kill()
        child.wait(timeout=30)
    assert found == 1795010000


def alarms_with(deadline_s: float) -> list:
    """The alarms of a run of 1,000 steps of a second each, of which 400 are done, whose job ends after so long."""
    facts = Facts(None, {"max_steps": 1000}, 0.9, (START + dt.timedelta(seconds=deadline_s)).astimezone())
    watch, clock = watch_of([(0, text_of(training(400, every=10, step_ms=1000.0)))], facts=facts)
    views = views_until(watch, clock, 10)
    assert "Done by" in live.line(views[-1], Language.load("en"))
    return [alarm for view in views for alarm in view.fresh]


def test_a_job_that_ends_too_early_is_said_once_with_the_step_to_save_at():
    found = alarms_with(400.0)
    assert [alarm.code for alarm in found] == ["walltime"]
    step = found[0].message.args["step"]
    assert 650 < step < 800  # 370 of the 600 seconds that are left, less what is uncertain


def test_the_moment_to_save_is_an_alarm():
    assert {alarm.code for alarm in alarms_with(100.0)} == {"walltime", "save_now"}


def test_a_job_that_lasts_long_enough_is_no_alarm():
    assert alarms_with(7200.0) == []


def test_a_recording_keeps_the_end_of_its_job(tmp_path):
    run = [sys.executable, "-m", "stepscope", "run", "--dir", str(tmp_path), "--name", "r", "--", "true"]
    environment = {**os.environ, "SLURM_JOB_END_TIME": "1795010000"}
    subprocess.run(run, env=environment, capture_output=True, timeout=60, check=True)
    assert recorded_job_end(tmp_path / "r") == 1795010000
