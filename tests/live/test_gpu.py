# ruff: noqa: N802, ARG002 (NVML's own names and arguments)
"""The card, seen through an NVML of our own: what is asked, what is kept, what is told."""

from __future__ import annotations

import dataclasses
import os
from itertools import pairwise
from types import SimpleNamespace

import pytest

from stepscope.i18n import Language, languages
from stepscope.live import gpu
from stepscope.live.gpu_log import Keeper
from stepscope.live.gpu_sampler import Sampler
from stepscope.report import live
from stepscope.report.wording.hardware import hardware_text
from stepscope.source.gpu_series import NAME, busiest_gpu, read_gpu_log
from stepscope.source.hardware import Hardware, Process
from stepscope.source.nvidia_smi import parse_nvidia_smi
from tests.live.test_pulse_and_watch import FACTS, FakeClock, FakeTail, Watch, text_of, views_until
from tests.unit.logs import report_of

GIB = 1 << 30


def with_hardware(report, hardware):
    return dataclasses.replace(report, side_files=report.side_files._replace(hardware=hardware))


class NVMLError(Exception):
    pass


class FakeNvml:
    """Two cards; the second one's power cannot be asked for."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM = 0, 1

    def __init__(self, pids: list[list[int]]) -> None:
        self._pids = pids

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return number

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return b"NVIDIA GeForce RTX 4070"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(used=(6 + handle) * GIB, total=12 * GIB)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(gpu=100 - 60 * handle)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        if handle:
            raise NVMLError("not supported")
        return 193_000

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:
        return 200_000

    def nvmlDeviceGetTemperature(self, handle: int, kind: int) -> int:
        return 71

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        return 1980

    def nvmlDeviceGetMaxClockInfo(self, handle: int, kind: int) -> int:
        return 2610

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:
        return 0x4 | 0x40 | 0x1

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=GIB) for pid in self._pids[handle]]


@pytest.fixture
def nvml(monkeypatch):
    def put(pids: list[list[int]]) -> None:
        monkeypatch.setattr(gpu, "_nvml", lambda: FakeNvml(pids))

    return put


def test_the_busiest_card_where_nobody_says_which(nvml):
    nvml([[1], []])
    card = gpu.read_gpu()
    assert (card.gpu, card.number, card.utilisation, card.memory_used) == ("RTX 4070", 0, 1.0, 6 * GIB)
    assert (card.power, card.power_limit, card.clock, card.clock_most, card.temperature) == (193, 200, 1980, 2610, 71)
    assert card.throttle == ("power_cap", "thermal")
    assert card.others is None


def test_the_card_that_the_process_is_on_and_who_else_is(nvml):
    nvml([[1], [os.getpid(), 1]])
    card = gpu.read_gpu(os.getpid())
    assert card.number == 1
    assert card.power is None
    assert [other.pid for other in card.others] == [1]


def test_no_driver_no_card(monkeypatch):
    monkeypatch.setattr(gpu, "_nvml", lambda: None)
    assert gpu.read_gpu() is None


def test_a_driver_that_fails_is_no_card(nvml, monkeypatch):
    nvml([[], []])
    monkeypatch.setattr(FakeNvml, "nvmlDeviceGetCount", lambda _: (_ for _ in ()).throw(NVMLError("gone")))
    assert gpu.read_gpu() is None


def test_the_series_keeps_what_was_seen_and_stays_small(tmp_path):
    clock = FakeClock()
    card = Hardware(gpu="L4", utilisation=0.5, power=60.0, power_limit=72.0, throttle=("thermal",))
    keeper = Keeper(lambda: card._replace(temperature=float(round(clock.seconds))), tmp_path, clock, most=8)
    for _ in range(2000):
        keeper()
        clock.sleep(0.5)
    found = busiest_gpu(read_gpu_log(tmp_path))
    assert 4 <= len(found.seconds) <= 8
    assert found.temperature[0] == 0
    assert len({later - one for one, later in pairwise(found.temperature)}) <= 2
    (last,) = parse_nvidia_smi((tmp_path / NAME).read_text())[-1]
    assert (last.gpu, last.throttle, last.power_limit) == ("L4", ("thermal",), 72)


def test_a_card_is_not_asked_more_often_than_once_a_second():
    asked = []
    clock = FakeClock()
    sampler = Sampler(clock, pid=7, read=lambda pid: asked.append(pid) or Hardware(gpu="L4"))
    for _ in range(40):
        sampler()
        clock.sleep(0.25)
    assert asked == [7] * 10


def slow_lines() -> list[str]:
    return [f"iter {step}: loss 3.0000, time {100 if step < 100 else 200}.00ms" for step in range(200)]


@pytest.mark.parametrize(
    ("card", "key"),
    [
        (Hardware(throttle=("thermal",)), "alarm-slowdown-thermal"),
        (Hardware(throttle=(), others=(Process(7, "blender"),)), "alarm-slowdown-neighbour"),
        (Hardware(power=199.0, power_limit=200.0), "alarm-slowdown-power"),
        (Hardware(memory_used=99, memory_total=100), "alarm-slowdown-memory"),
        (Hardware(power=120.0, power_limit=200.0, throttle=()), "alarm-slowdown"),
        (None, "alarm-slowdown"),
    ],
)
def test_a_slowdown_is_tied_to_what_the_card_shows(card, key):
    report = report_of(slow_lines())
    report = with_hardware(report, card)
    (alarm,) = [alarm for alarm in report.alarms if alarm.code == "slowdown"]
    assert alarm.message.key == key


def test_a_card_that_is_nearly_full_is_told():
    report = report_of(slow_lines())
    report = with_hardware(report, Hardware(memory_used=int(11.8 * GIB), memory_total=12 * GIB))
    assert "near_oom" in {alarm.code for alarm in report.alarms}
    roomy = with_hardware(report, Hardware(memory_used=10 * GIB, memory_total=12 * GIB))
    assert "near_oom" not in {alarm.code for alarm in roomy.alarms}


@pytest.mark.parametrize("code", languages())
def test_the_panel_shows_every_figure(nvml, code):
    nvml([[1], []])
    clock = FakeClock()
    watch = Watch(
        FakeTail(clock, [(0, text_of(slow_lines()))]), name="x", facts=FACTS, clock=clock, hardware=gpu.read_gpu
    )
    view = views_until(watch, clock, 3)[-1]
    view = view._replace(hardware=view.hardware._replace(others=(Process(7, "bad\x1b[2Jname"),)))
    text = "\n".join(live.screen(view, Language.load(code), width=110))
    for figure in ("RTX 4070", "193", "200", "71", "(7)"):
        assert figure in text
    assert "\x1b" not in text


def test_a_busy_card_is_never_called_efficient():
    """100 % says that some kernel ran all the time, not that it ran well."""
    for code in languages():
        language = Language.load(code)
        text = hardware_text(Hardware(utilisation=1.0), language)
        assert not any(word in text.lower() for word in ("effic", "effiz", "efic", "optim", "well", "good"))
