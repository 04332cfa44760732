"""Damaged files next to a log, or instead of one: what can be read is, and the rest is told in a sentence."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from stepscope.core.errors import InputError
from stepscope.formats import mlflow_db
from stepscope.i18n import Language
from stepscope.reading.reader import read
from stepscope.report.svg import render as svg
from stepscope.source.gpu_series import busiest_gpu
from stepscope.source.nvidia_smi import parse_nvidia_smi
from stepscope.source.span_file import read_lanes
from stepscope.source.trace_file import read_suspends, read_trace
from tests.unit.logs import report_of

LOG = "".join(f"iter {step}: loss 3.3114, time {130 + step % 7}.02ms, mfu 37.10%\n" for step in range(3000)).encode()


def packed() -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(LOG)


def test_a_zstandard_file_is_read_up_to_where_it_breaks(tmp_path):
    whole, path = packed(), tmp_path / "a.log.zst"
    path.write_bytes(whole[:4] + b"\xff" * 60)
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert caught.value.key == "broken-archive"
    path.write_bytes(whole + whole[:4] + b"\xff" * 60)
    assert len(read(str(path))) == 3000


def database(path, rows: int) -> bytes:
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan)")
        values = ((3 - step / 1000, 1731600000000 + 500 * step, step) for step in range(rows))
        store.executemany("INSERT INTO metrics VALUES ('loss', ?, ?, 'run', ?, 0)", values)
        store.commit()
    return path.read_bytes()


def test_a_view_that_computes_for_ever_is_not_asked(tmp_path, cli):
    path = tmp_path / "mlruns.db"
    with closing(sqlite3.connect(path)) as store:
        store.execute(
            "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT 'loss' AS key, 1.0 AS value, i AS timestamp, 'run' AS run_uuid, i AS step, 0 AS is_nan FROM n"
        )
        store.commit()
    code, _, err = cli(str(path))
    assert (code, "no-metrics-table" in err) == (1, True)


def test_a_query_ends_when_its_budget_does(tmp_path, monkeypatch):
    blob = database(tmp_path / "a.db", 3000)
    assert sum(1 for _ in mlflow_db.to_lines(blob)) == 3000
    monkeypatch.setattr(mlflow_db, "_OPERATIONS", 100)
    monkeypatch.setattr(mlflow_db, "_MOST_TICKS", 5)
    with pytest.raises(InputError) as caught:
        list(mlflow_db.to_lines(blob))
    assert caught.value.key == "broken-database"


def test_ctrl_c_ends_a_query(tmp_path, monkeypatch):
    blob = database(tmp_path / "a.db", 3000)
    monkeypatch.setattr(mlflow_db, "_OPERATIONS", 100)

    class Interrupted:
        def __gt__(self, other):
            raise KeyboardInterrupt

        def __lt__(self, other):
            raise KeyboardInterrupt

    monkeypatch.setattr(mlflow_db, "_MOST_TICKS", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        list(mlflow_db.to_lines(blob))


def test_a_torn_database_is_told(tmp_path, cli):
    blob = bytearray(database(tmp_path / "a.db", 3000))
    torn = tmp_path / "torn.db"
    for damaged in (blob[: len(blob) // 2], blob[:4096] + bytes(0xFF ^ byte for byte in blob[4096:])):
        torn.write_bytes(damaged)
        code, _, err = cli(str(torn))
        assert (code, "[broken-database]" in err) == (1, True)


def test_a_torn_recording_is_read_as_far_as_it_tells(tmp_path):
    lines = LOG.splitlines(keepends=True)[:50]
    (tmp_path / "log.txt").write_bytes(b"".join(lines))
    records, offset = [], 0
    for number, line in enumerate(lines):
        offset += len(line)
        records.append(b"%d\t%d.5\t%d" % (offset, 1731600000 + number, number))
    torn = [b"9" * 5000 + b"\t1.0\t1", b"99999999999999999999\t1.0\t1", b"123456789012\t1\t1", b"7", b"\t\t"]
    (tmp_path / "stamps.tsv").write_bytes(b"\n".join([*torn, *records[:20], *torn, *records[20:]]) + b"\n")
    assert read(str(tmp_path)).steps.step.tolist() == list(range(50))
    (tmp_path / "stamps.tsv").write_bytes(b"\n".join(torn) + b"\n")
    assert read(str(tmp_path)).steps.step.tolist() == list(range(50))


def test_records_from_inside_that_no_clock_can_show_are_left_out(tmp_path):
    good = b"gc\t1731600000.0\t0.5\t"
    bad = [
        b"gc\t1e300\t1.0\t",
        b"gc\t9.9e9\t1.0\t",
        b"gc\t1.0\t1e300\t",
        b"gc\tnan\t1\t",
        b"optimizer\t1.0\t1.0\t" + b"9" * 5000,
    ]
    (tmp_path / "trace.tsv").write_bytes(b"\n".join([good, *bad]))
    (tmp_path / "suspends.tsv").write_bytes(b"9.9e9\t1.0\n1e300\t1e299\n")
    trace = read_trace(tmp_path)
    assert trace is not None
    assert len(trace.spans["gc"]) == 1
    assert read_suspends(tmp_path) == {}


def test_spans_that_no_clock_can_show_are_left_out(tmp_path):
    good = b"H\t1000\tclock\t0\t1731600000000000000\trank=0\nE\t3000\tgc\t0\t1000\t\n"
    bad = (
        b"E\t5\tgc\t0\t6\t\nE\t"
        + b"9" * 40
        + b"\tgc\t0\t1\t\nE\t-5\tgc\t0\t1\t\nE\t4000\tstep\t0\tnan\t\nE\t4000\tgc\t0\t10"
    )
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "00000-h-1.tsv").write_bytes(good + bad)
    (lane,) = read_lanes(tmp_path)
    assert {kind: len(spans) for kind, spans in lane.spans.items()} == {"gc": 1}


def test_figures_that_no_gpu_has_are_left_out():
    head = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
    head += "temperature.gpu\n"
    lines = head + f"2026/11/18 10:00:00.000, 0, {'9' * 40} %, 1 MiB, {10**18} MiB, {'9' * 40} W, 1e9\n" + "x" * 200_000
    gpu = busiest_gpu(lines.encode())
    assert gpu is not None
    assert gpu.memory_used == (1 << 20,)
    assert all(column[0] != column[0] for column in (gpu.utilisation, gpu.memory_total, gpu.power))
    text = (
        f"index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]\n0, X, 50 %, {10**17} MiB, {10**17} W\n"
    )
    ((shown,),) = parse_nvidia_smi(text)
    assert (shown.utilisation, shown.memory_used, shown.power) == (0.5, None, None)


@pytest.mark.parametrize("gap", [3 * 10**9, 10**12])
def test_rows_that_count_something_else_than_steps_are_far_apart(gap):
    rows = [f"{index * gap},{1731600000 + 60 * index},{3 - index / 100}" for index in range(40)]
    report = report_of(["step,wall_time,loss", *rows])
    assert (report.run.steps.span >= 0).all()
    assert all(total.seconds >= 0 for total in report.ledger.phases)


def test_steps_that_took_no_time_can_be_drawn():
    report = report_of([f"iter {step}: loss 3.3, time 0.00ms, mfu -100.00%" for step in range(60)])
    assert svg(report, Language.load("en")).startswith("<svg")


def test_a_total_that_would_take_centuries_gets_no_date():
    lines = [
        "max_iters = 999999999999999",
        *(f"iter {step}: loss 3.3, time 170.00ms, mfu 30.00%" for step in range(60)),
    ]
    report = report_of(lines, max_steps=999_999_999_999)
    answer = report.to_dict()["forecast"]
    assert "implausible" in answer["reason"]
    assert answer.get("finish_at") is None


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited")
@pytest.mark.parametrize("filling", [b"\0", b"x"])
def test_a_bomb_is_read_in_little_memory(tmp_path, filling):
    """256 MB in 8 kB: it takes as long as unpacking takes, and ends with a sentence."""
    bomb = tmp_path / "bomb.log.zst"
    bomb.write_bytes(zstd_of(filling * (1 << 20), 256))
    assert bomb.stat().st_size < 20_000
    command = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (300 << 20, 300 << 20));"
        "from stepscope.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", command, str(bomb)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error[")
    assert "Traceback" not in done.stderr


def test_an_archive_that_wants_gigabytes_to_be_unpacked_is_refused(tmp_path):
    path = tmp_path / "wide.log.zst"
    path.write_bytes(zstd_of(LOG, 200, window_log=31))
    with pytest.raises(InputError, match="cannot be unpacked"):
        read(str(path))


def zstd_of(piece, num, *, window_log=0):
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options = {zstd.CompressionParameter.window_log: window_log} if window_log else {}
    compressor = zstd.ZstdCompressor(options=options)
    return b"".join([*(compressor.compress(piece) for _ in range(num)), compressor.flush()])


def test_a_database_whose_own_error_is_no_text(tmp_path):
    """SQLite quotes the torn bytes of a name in its message."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table metrics (key, value, timestamp, run_uuid, step, is_nan)")
        data = base.serialize()
    path = tmp_path / "mlflow.db"
    path.write_bytes(data.replace(b"(key, ", b"\x83key, "))
    with pytest.raises(InputError, match="database"):
        read(str(path))
