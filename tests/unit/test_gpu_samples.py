"""Samples of the card beside a log: in nvidia-smi's own form, kept by the view of a run, told in a few figures."""

from __future__ import annotations

import datetime as dt
import math

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.live.gpu_log import Keeper
from stepscope.reading.reader import read
from stepscope.report.gpu import samples_data, samples_line
from stepscope.source.gpu_series import busiest_gpu, parse_gpu_series, read_gpu_log
from stepscope.source.nvidia_smi import Hardware
from tests.unit.logs import training

HEAD = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], temperature.gpu"


def test_two_cards_are_told_apart_and_torn_lines_passed_over():
    lines = [
        HEAD,
        "2026/11/16 05:00:00.000, 0, 10 %, 100 MiB, 12282 MiB, 50.00 W, 40",
        "2026/11/16 05:00:00.000, 1, 99 %, 6500 MiB, 12282 MiB, [N/A], 71",
        "2026/11/16 05:00:05.0",
        "nonsense, 1, 99 %, 1 MiB, 1 MiB, 1 W, 1",
        HEAD,
        "2026/11/16 05:00:05.000, 1, 97 %, 6500 MiB, 12282 MiB, 190.10 W, 72",
    ]
    first, second = parse_gpu_series(lines)
    assert first.utilisation == (0.1,)
    assert second.utilisation == (0.99, 0.97)
    assert second.seconds[1] - second.seconds[0] == 5
    assert math.isnan(second.power[0])
    assert second.memory_used == (6500 << 20, 6500 << 20)


def test_without_units_and_without_some_columns():
    [card] = parse_gpu_series(["timestamp, utilization.gpu", "2026/11/16 05:00:00, 55"])
    assert card.utilisation == (0.55,)
    assert math.isnan(card.temperature[0])


def test_only_the_samples_of_the_run_itself_count(tmp_path):
    start = dt.datetime(2026, 11, 16, 5).astimezone()
    lines = [f"{start.timestamp() + number:.3f} {line}" for number, line in enumerate(training(60))]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    samples = [
        f"{start + dt.timedelta(seconds=10 * number):%Y/%m/%d %H:%M:%S}.000, 0, {number % 100} %, 1 MiB, 2 MiB, 3 W, 4"
        for number in range(-300, 300)
    ]
    (tmp_path / "gpu.csv").write_text("\n".join([HEAD, *samples]) + "\n")
    cards = explain(read(str(tmp_path / "train.log"))).gpu_series
    assert cards is not None
    assert cards.seconds[0] >= start.timestamp() - 130
    assert cards.seconds[-1] <= start.timestamp() + 130


def test_no_file_no_figures(tmp_path):
    (tmp_path / "train.log").write_text("\n".join(training(60)) + "\n")
    report = explain(read(str(tmp_path / "train.log")))
    assert samples_data(report) is None
    assert samples_line(report, Language.load("en")) is None


class Hours:
    """A clock that goes one second a look."""

    def __init__(self):
        self.passed = 0.0

    def now(self):
        return dt.datetime(2026, 11, 16, 5).astimezone() + dt.timedelta(seconds=self.passed)

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


def test_what_the_view_sees_is_kept_once_in_five_seconds_and_read_back(tmp_path):
    clock = Hours()
    card = Hardware(gpu="RTX 4070", utilisation=0.97, memory_used=6 << 30, memory_total=12 << 30, temperature=66.0)
    keeper = Keeper(lambda: card, tmp_path, clock)
    for _ in range(21):
        assert keeper() is card
        clock.passed += 1
    kept = busiest_gpu(read_gpu_log(tmp_path))
    assert kept is not None
    assert len(kept.seconds) == 5
    assert kept.gpu == "RTX 4070"
    assert kept.utilisation[0] == 0.97
    assert kept.memory_used[0] == 6 << 30
    assert math.isnan(kept.power[0])


def test_without_a_card_nothing_is_written(tmp_path):
    assert Keeper(lambda: None, tmp_path, Hours())() is None
    assert list(tmp_path.iterdir()) == []
