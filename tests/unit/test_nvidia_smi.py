"""What `nvidia-smi` prints, in the layouts of its generations: invented cards and figures."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepscope
from stepscope.core.errors import InputError
from stepscope.source.nvidia_smi import parse_nvidia_smi, read_nvidia_smi
from tests.conftest import DEMO

MIB = 1 << 20

# CUDA 11: narrow columns, names cut, processes with GI and CI.
DRIVER_470 = """\
Mon Jan  5 02:30:11 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA GeForce ...  Off  | 00000000:02:00.0  On |                  N/A |
| 71%   83C    P2   341W / 350W |  23011MiB / 24268MiB |    100%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
|   1  Tesla V100-SXM2...  On   | 00000000:03:00.0 Off |                    0 |
| N/A   41C    P0    61W / 300W |    301MiB / 16160MiB |      3%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0   N/A  N/A      2210      G   /usr/lib/xorg/Xorg                 61MiB |
|    0   N/A  N/A     41207      C   python train.py                 22944MiB |
+-----------------------------------------------------------------------------+
"""

# CUDA 12: wider, a divided card, no utilisation for it.
DRIVER_550_MIG = """\
Tue Feb  3 11:04:59 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:0F:00.0 Off |                   On |
| N/A   44C    P0            152W /  400W |   21377MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    1   0   0  |           18902MiB / 19968MiB    | 42      0 |  3   0    2    0    0 |
|                  |                 2MiB / 32767MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    5   0   1  |             2475MiB /  9856MiB   | 14      0 |  1   0    0    0    0 |
|                  |                 0MiB / 16383MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    1    0      88123      C   /opt/venv/bin/python                        18880MiB |
+-----------------------------------------------------------------------------------------+
"""

# CUDA 13: figures that are not there, a card that has fallen off the bus.
DRIVER_590_ERR = """\
Wed Mar  4 23:59:02 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 590.44.01              Driver Version: 590.44.01      CUDA Version: 13.1     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA RTX 6000 Ada Gene...    Off |   00000000:41:00.0 Off |                  Off |
|ERR!   ERR! ERR!            N/A  /  300W |     512MiB /  49140MiB |     ERR!     Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA RTX 6000 Ada Gene...    Off |   00000000:61:00.0 Off |                  Off |
| 30%   48C    P8              9W /  300W |   48211MiB /  49140MiB |     97%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
"""

WINDOWS_535 = """\
Thu Apr  2 08:15:00 2026
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.98                 Driver Version: 535.98       CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                     TCC/WDDM  | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA GeForce RTX 3060      WDDM  | 00000000:0A:00.0  On |                  N/A |
|  0%   52C    P5              20W / 170W |   1300MiB / 12288MiB |     12%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
"""

QUERY_535 = """\

==============NVSMI LOG==============

Timestamp                                 : Fri May  1 17:20:44 2026
Driver Version                            : 535.161.08
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:17:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Clocks Throttle Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 551 MiB
        Used                              : 79801 MiB
        Free                              : 1206 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
    Utilization
        Gpu                               : 100 %
        Memory                            : 61 %
    Temperature
        GPU Current Temp                  : 84 C
        GPU Shutdown Temp                 : 92 C
    GPU Power Readings
        Power Draw                        : 698.71 W
        Current Power Limit               : 700.00 W
        Default Power Limit               : 700.00 W
    Clocks
        Graphics                          : 1410 MHz
        SM                                : 1410 MHz
        Memory                            : 2619 MHz
    Max Clocks
        Graphics                          : 1980 MHz
        SM                                : 1980 MHz
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 9001
            Type                          : C
            Name                          : python
            Used GPU Memory               : 61000 MiB
        Process ID                        : 9044
            Type                          : C
            Name                          : somebody
            Used GPU Memory               : 18000 MiB

GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Clocks Throttle Reasons
        SW Power Cap                      : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : N/A
    Utilization
        Gpu                               : 0 %
    Power Readings
        Power Draw                        : [Unknown Error]
"""

CSV_HEAD = """\
timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], power.limit [W], \
temperature.gpu, clocks.current.sm [MHz], clocks_event_reasons.active
2026/06/07 03:10:00.101, 0, NVIDIA L4, 99 %, 21000 MiB, 23034 MiB, 71.90 W, 72.00 W, 78, 1200 MHz, 0x0000000000000004
2026/06/07 03:10:00.104, 1, NVIDIA L4, 0 %, 1 MiB, 23034 MiB, [N/A], 72.00 W, 40, 210 MHz, 0x0000000000000001
2026/06/07 03:10:05.101, 0, NVIDIA L4, 97 %, 21010 MiB, 23034 MiB, 70.10 W, 72.00 W, 79, 1185 MHz, 0x0000000000000024
2026/06/07 03:10:05.104, 1, NVIDIA L4, 0 %, 1 MiB, 23034 MiB, [N/A], 72.00 W, 40, 210 MHz, 0x0000000000000001
"""


def last(text: str):
    return parse_nvidia_smi(text)[-1]


def test_the_narrow_table_of_driver_470():
    first, second = last(DRIVER_470)
    assert first.gpu is None  # the table had no room for its name
    assert (first.utilisation, first.temperature, first.power, first.power_limit) == (1.0, 83, 341, 350)
    assert (first.memory_used, first.memory_total) == (23011 * MIB, 24268 * MIB)
    assert [(one.pid, one.name, one.memory) for one in first.processes] == [
        (2210, "/usr/lib/xorg/Xorg", 61 * MIB),
        (41207, "python train.py", 22944 * MIB),
    ]
    assert (second.gpu, second.utilisation, second.processes) == ("Tesla V100-SXM2", 0.03, ())
    assert first.time.replace(tzinfo=None) == dt.datetime(2026, 1, 5, 2, 30, 11)


def test_a_divided_card_is_as_full_as_its_fullest_part():
    (card,) = last(DRIVER_550_MIG)
    assert card.gpu == "A100-SXM4-40GB"
    assert card.utilisation is None
    assert (card.memory_used, card.memory_total) == (18902 * MIB, 19968 * MIB)
    assert [one.pid for one in card.processes] == [88123]


def test_figures_that_are_not_there():
    broken, busy = last(DRIVER_590_ERR)
    assert (broken.temperature, broken.power, broken.utilisation) == (None, None, None)
    assert broken.power_limit == 300
    assert busy.gpu == "RTX 6000 Ada Gene"
    assert (busy.utilisation, busy.memory_used) == (0.97, 48211 * MIB)
    assert busy.processes == ()


def test_windows():
    (card,) = last(WINDOWS_535)
    assert (card.gpu, card.utilisation, card.power_limit) == ("RTX 3060", 0.12, 170)


def test_a_series_of_tables_ends_with_the_last_one():
    later = DRIVER_470.replace("02:30:11", "02:31:11").replace("341W", "207W")
    readings = parse_nvidia_smi(DRIVER_470 + later)
    assert [cards[0].power for cards in readings] == [341, 207]
    assert readings[-1][0].time.minute == 31


def test_the_long_form():
    first, second = last(QUERY_535)
    assert (first.gpu, first.utilisation, first.temperature) == ("H100 80GB HBM3", 1.0, 84)
    assert (first.memory_used, first.memory_total) == (79801 * MIB, 81559 * MIB)
    assert (first.power, first.power_limit, first.clock, first.clock_most) == (698.71, 700, 1410, 1980)
    assert first.throttle == ("power_cap", "hw_slowdown", "thermal")
    assert [(one.pid, one.name) for one in first.processes] == [(9001, "python"), (9044, "somebody")]
    assert (second.memory_used, second.power, second.throttle) == (None, None, ())
    assert first.time.replace(tzinfo=None) == dt.datetime(2026, 5, 1, 17, 20, 44)


def test_the_long_form_of_newer_drivers():
    newer = QUERY_535.replace("Clocks Throttle Reasons", "Clocks Event Reasons")
    newer = newer.replace(
        "        Power Draw                        : 698.71", "        Instantaneous Power Draw          : 699.00"
    )
    first, _ = last(newer)
    assert first.throttle == ("power_cap", "hw_slowdown", "thermal")
    assert first.power == 699


def test_csv_with_its_header_is_a_series():
    readings = parse_nvidia_smi(CSV_HEAD)
    assert [[card.utilisation for card in cards] for cards in readings] == [[0.99, 0.0], [0.97, 0.0]]
    card = readings[-1][0]
    assert (card.gpu, card.power, card.power_limit, card.temperature, card.clock) == ("L4", 70.10, 72, 79, 1185)
    assert card.throttle == ("power_cap", "thermal")
    assert readings[-1][1].power is None
    assert card.time.replace(tzinfo=None) == dt.datetime(2026, 6, 7, 3, 10, 5)


def test_csv_without_units():
    lines = CSV_HEAD.replace(" %", "").replace(" MiB", "").replace(" W", "").replace(" MHz", "")
    for unit in (" [%]", " [MiB]", " [W]", " [MHz]"):
        lines = lines.replace(unit, "")
    card = last(lines)[0]
    assert (card.utilisation, card.memory_used, card.power) == (0.97, 21010 * MIB, 70.10)


def test_csv_without_its_header_goes_by_units():
    card = last("2026/06/07 03:10:00.101, NVIDIA L4, 99 %, 21000 MiB, 23034 MiB, 71.90 W, 72.00 W\n")[0]
    assert (card.gpu, card.utilisation) == ("L4", 0.99)
    assert (card.memory_used, card.memory_total) == (21000 * MIB, 23034 * MIB)
    assert (card.power, card.power_limit) == (71.90, 72)


def test_csv_with_neither_says_nothing():
    assert parse_nvidia_smi("99, 21000, 23034, 71.90\n98, 21000, 23034, 71.20\n") == []


@pytest.mark.parametrize("text", ["", "hello, world\n", "iter 3: loss 2.1, time 170.00ms\n", "| a | b | c |\n"])
def test_anything_else_is_refused(tmp_path, text):
    path = tmp_path / "smi.txt"
    path.write_text(text)
    with pytest.raises(InputError):
        read_nvidia_smi(path)


def test_the_busiest_card_is_read_from_a_file(tmp_path):
    path = tmp_path / "smi.txt"
    path.write_text(DRIVER_590_ERR)
    assert read_nvidia_smi(path).number == 1


@given(st.sampled_from([DRIVER_470, DRIVER_550_MIG, DRIVER_590_ERR, QUERY_535, CSV_HEAD]), st.data())
def test_whatever_a_paste_did_to_it_nothing_breaks(text, data):
    """Cut, with pieces missing or changed: figures or none, never an exception, never a nonsense share."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    kept = text[:start] + data.draw(st.text(max_size=12)) + text[end:]
    for cards in parse_nvidia_smi(kept):
        for card in cards:
            assert card.utilisation is None or 0 <= card.utilisation <= 1


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_any_text_is_read_without_an_exception(text):
    parse_nvidia_smi(text)


def test_its_table_given_as_a_log_is_named_for_what_it_is(tmp_path):
    path = tmp_path / "gpu.txt"
    path.write_text((DEMO / "nvidia-smi.txt").read_text())
    with pytest.raises(InputError) as caught:
        stepscope.read(path)
    assert caught.value.key == "nvidia-smi-table"
    assert "--nvidia-smi" in str(caught.value)
