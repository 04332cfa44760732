"""Many running runs, one process: whose alarms are heard, and when."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from stepscope.core.errors import InputError
from stepscope.fleet import buckets
from stepscope.fleet.engines import Inline
from stepscope.fleet.follow import Fleet
from stepscope.fleet.scan import scan
from stepscope.fleet.sources import sources
from stepscope.fleet.store import Store
from tests.conftest import ROOT
from tests.fleet.logs import nanogpt_log
from tests.fleet.servers import put

CRASH = "Traceback (most recent call last):\n  File 'train.py', line 3, in <module>\nRuntimeError: CUDA error\n"


class Clock:
    """A clock that is set forward by hand, from this moment on."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        self._start = time.time()

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._start + self.ahead_s, dt.UTC)

    def monotonic(self) -> float:
        return self.ahead_s

    def sleep(self, seconds: float) -> None:
        self.ahead_s += seconds


class Heard:
    """The fleet of a folder of logs, and what was heard of it."""

    def __init__(self, tmp_path: Path, places: list[str]) -> None:
        self.clock, self.alarms = Clock(), []
        self.store = Store(tmp_path / "store")
        scan(places, self.store, Inline())
        self.fleet = Fleet(self.store, self._hear, self.clock, interval_s=1.0)

    def close(self) -> None:
        self.fleet.close()

    def _hear(self, run, alarms):
        self.alarms += [(run.rpartition("/")[2], alarm.code) for alarm in alarms]

    @property
    def crashes(self) -> list[str]:
        """Whose crash was heard: where this clock jumps, a run without a new line has stalled as well."""
        return [name for name, code in self.alarms if code == "crash"]

    def look(self, after_s: float = 70.0):
        """Look once more, late enough for a listing."""
        self.clock.ahead_s += after_s
        return self.fleet.look()


@pytest.fixture
def hear(tmp_path):
    """Makes a fleet, which is closed afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda places: stack.enter_context(contextlib.closing(Heard(tmp_path, places)))


def running(path: Path, seed: int, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nanogpt_log(seed=seed, steps=200) + text, encoding="utf-8")
    return path


def test_the_alarms_of_all_runs_come_with_their_names(tmp_path, hear):
    logs = [running(tmp_path / "logs" / str(job) / f"job-{job}.out", job) for job in range(5)]
    old = running(tmp_path / "logs" / "old" / "old.out", 9, CRASH)
    os.utime(old, (1_700_000_000, 1_700_000_000))
    heard = hear([str(tmp_path / "logs")])
    assert heard.look(0).num_followed == 5
    assert heard.alarms == []
    with logs[3].open("a") as file:
        file.write(CRASH)
    heard.look(5)
    at = heard.look(5)
    assert heard.alarms == [("job-3.out", "crash")]
    assert (at.num_followed, at.num_ended, dict(at.alarms)) == (4, 1, {"crash": 1})


def test_an_alarm_that_the_store_has_is_not_sent_again(tmp_path, hear):
    running(tmp_path / "logs" / "job.out", 1, CRASH)
    heard = hear([str(tmp_path / "logs")])
    heard.look(0)
    heard.look()
    assert heard.alarms == []


def test_a_run_that_has_begun_since_is_followed(tmp_path, hear):
    """Beside one that is followed already, in the same folder."""
    running(tmp_path / "logs" / "job-a.out", 1)
    heard = hear([str(tmp_path / "logs")])
    assert heard.look(0).num_followed == 1
    running(tmp_path / "logs" / "other-b.out", 2, CRASH)
    assert heard.look(5).num_followed == 1  # not listed yet
    heard.look()
    heard.look(5)
    assert heard.crashes == ["other-b.out"]


def test_a_run_that_went_silent_is_heard_once(tmp_path, hear):
    running(tmp_path / "logs" / "job.out", 1)
    heard = hear([str(tmp_path / "logs")])
    heard.look(0)
    for _ in range(4):
        at = heard.look(3600)
    assert [code for _, code in heard.alarms] == ["stall"]
    assert at.doing["stalled"] == 1


def test_a_run_that_goes_on_after_its_end_is_followed_again_without_its_old_alarms(tmp_path, hear):
    log = running(tmp_path / "logs" / "job.out", 1)
    heard = hear([str(tmp_path / "logs")])
    heard.look(0)
    with log.open("a") as file:
        file.write(CRASH)
    heard.look(5)
    assert heard.look(5).num_followed == 0
    with log.open("a") as file:
        file.write(nanogpt_log(seed=2, first=200, steps=100))
    assert heard.look().num_followed == 1
    assert heard.crashes == ["job.out"]


def test_ranks_are_one_run(tmp_path, hear):
    for rank in range(4):
        running(tmp_path / "logs" / f"rank_{rank}.log", rank)
    heard = hear([str(tmp_path / "logs")])
    assert heard.look(0).num_followed == 1


def test_an_object_that_is_uploaded_again_is_read_on(s3, hear, monkeypatch):
    buckets._store.cache_clear()
    text = nanogpt_log(seed=1, steps=200)
    put(s3, "watched/train.log", text)
    heard = hear(["s3://logs/watched"])
    assert heard.look(0).num_followed == 1
    fetched, fetch = [], buckets.fetch_range
    monkeypatch.setattr(buckets, "fetch_range", lambda *given: fetched.append(given[1]) or fetch(*given))
    put(s3, "watched/train.log", text + CRASH)
    heard.look()
    heard.look(5)
    assert fetched[0] == len(text)
    assert heard.alarms == [("train.log", "crash")]


def test_an_mlflow_run_is_followed_as_a_document(tmp_path, hear):
    run = tmp_path / "mlruns" / "0" / ("ab" * 16)
    (run / "metrics").mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: x\n")
    start = time.time() * 1000 - 60_000

    def log(num):
        values = "".join(f"{start + 500 * step:.0f} {3 - step / 100} {step}\n" for step in range(num))
        (run / "metrics" / "loss").write_text(values)

    log(60)
    heard = hear([str(tmp_path / "mlruns")])
    assert heard.look(0).reports[0][1].state.step == 59
    log(90)
    os.utime(run / "metrics" / "loss", (time.time() + 5, time.time() + 5))
    assert heard.look(5).reports[0][1].state.step == 89


def test_a_store_without_sources_says_what_to_do(tmp_path):
    with pytest.raises(InputError) as caught:
        Fleet(Store(tmp_path), print, Clock(), interval_s=1.0)
    assert caught.value.key == "fleet-without-sources"


def test_a_store_knows_its_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    running(tmp_path / "logs" / "job.out", 1)
    running(tmp_path / "more" / "job.out", 1)
    store = Store(tmp_path / "store")
    for place in ("logs", "more", str(tmp_path / "logs")):
        scan([place], store, Inline())
    assert sources(store.folder) == [str(tmp_path / "logs"), str(tmp_path / "more")]


def test_the_command_sends_alarms_and_writes_metrics(tmp_path, cli):
    pytest.importorskip("prometheus_client")
    running(tmp_path / "logs" / "job.out", 1)
    assert cli("fleet", "scan", tmp_path / "logs", "--store", tmp_path / "store", "--workers", "1")[0] == 0
    running(
        tmp_path / "logs" / "later.out", 2, "step 210: train loss nan, val loss nan\niter 210: loss nan, time 99.00ms\n"
    )
    said = tmp_path / "said"
    program = f"import os, pathlib; pathlib.Path({str(said)!r}).write_text(os.environ['STEPSCOPE_ALARM'])"
    metrics = tmp_path / "fleet.prom"
    command = ("fleet", "watch", "--store", tmp_path / "store", "--once", "--metrics-file", metrics)
    # A process of its own: who ends does not wait for the command of an alarm.
    command = [sys.executable, "-m", "stepscope", *command, "--exec", f'{sys.executable} -c "{program}"']
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert f"{tmp_path}/logs/later.out ! " in done.stdout
    assert done.stdout.endswith("2 followed · 0 stalled · 0 ended · 1 alarms\n")
    assert f'stepscope_steps{{run="{tmp_path}/logs/later.out"}} 210.0' in metrics.read_text()
    until = time.monotonic() + 60
    while not (said.exists() and said.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    assert said.read_text().startswith(f"{tmp_path}/logs/later.out: ")


# -- Grafana ----------------------------------------------------------------------------------------------

DASHBOARD = ROOT / "docs" / "grafana" / "fleet.json"


def test_the_dashboard_asks_for_metrics_that_there_are(tmp_path, hear):
    """Each panel has a place of its own, the data source of the import, and queries of metrics that are written."""
    pytest.importorskip("prometheus_client")
    from stepscope.web.fleet_metrics import render_round

    running(tmp_path / "logs" / "job.out", 1)
    heard = hear([str(tmp_path / "logs")])
    text = render_round(heard.look(0))
    written = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert board["__inputs"][0] | {"label": ""} == {
        "name": "DS_PROMETHEUS",
        "label": "",
        "type": "datasource",
        "pluginId": "prometheus",
        "pluginName": "Prometheus",
    }
    assert board["uid"]
    assert board["schemaVersion"] >= 36
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    places = set()
    asked = set()
    for panel in board["panels"]:
        assert panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & places
        places |= cells
        for target in panel["targets"]:
            assert target["refId"]
            asked |= set(re.findall(r"stepscope_\w+", target["expr"]))
    assert asked
    assert asked <= written
