"""Inputs for the soak, each from a number: logs of every format, tables, stores, recordings and companions, mangled."""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from stepscope.catalogue.detect import catalogue
from tests.conftest import DEMO
from tests.fuzz import structures, torn
from tests.fuzz.structures import mangle_cells, mangle_tree, odd, to_json
from tests.loops.printed_loops import print_loop
from tests.unit.test_tables import wandb_file
from tests.unit.test_tfevents import small_file
from tests.unit.test_user_formats import GOOD, LOG

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# A folder's files by name: the first is what is asked about; several logs are asked about together.
Files = dict[str, bytes]
_ODD = ("", "\x1b[K", "\r", "nan", "-inf", "9" * 40, "-", "\u202e", "\x00", "1e308", "4294967296", "é", '"', "{", "%")
_JUMPS_S = (-2.0, -60.0, -3600.0, 3600.0, -86_400.0, -1e9, 1e9)
# Small logs find as much as large ones, and more of them can be read.
_MEAN_LINES, _MOST_LINES = 14, 200
_DIGITS = re.compile(r"\d+")


def make(seed: int, logs: Sequence[Path] = ()) -> tuple[str, Files]:
    """The kind and the files of one input."""
    dice = random.Random(seed)
    kinds = [*_KINDS, "real"] if logs else list(_KINDS)
    kind = dice.choices(kinds, [_OFTEN.get(kind, 1) for kind in kinds])[0]
    return kind, _real(dice, logs) if kind == "real" else _KINDS[kind](dice)


def _num_lines(dice: random.Random) -> int:
    return min(_MOST_LINES, 1 + int(dice.expovariate(1 / _MEAN_LINES)))


@cache
def _samples() -> dict[str, list[str]]:
    return {fmt.name: [sample.text for sample in fmt.samples] for fmt in catalogue()}


def _mangle_line(dice: random.Random, line: str) -> str:
    if dice.random() < 0.3:
        line = _DIGITS.sub(lambda found: str(dice.choice((0, 1, 7, 10**9, int(found[0][:15]) + 1))), line)
    if dice.random() < 0.1 and line:
        cut = dice.randrange(len(line))
        line = line[:cut] + dice.choice(_ODD) + line[cut + dice.randint(0, 3) :]
    return line


def _mangle(dice: random.Random, data: bytes) -> bytes:
    """Bytes changed, lost, doubled and moved."""
    found = bytearray(data)
    for _ in range(dice.choice((0, 0, 1, 3, 20))):
        if not found:
            break
        at = dice.randrange(len(found))
        match dice.randrange(4):
            case 0:
                found[at] = dice.randrange(256)
            case 1:
                del found[at : at + dice.choice((1, 2, 40, 400))]
            case 2:
                found[at:at] = found[at : at + dice.choice((1, 8, 200))]
            case _:
                found[at:at] = dice.choice(_ODD).encode("utf-8", "surrogatepass")
    return bytes(found)


def _mixed(dice: random.Random) -> Files:
    """The samples of a format, counting on, with lines of another one in between."""
    names = list(_samples())
    own = _samples()[dice.choice(names)]
    other = _samples()[dice.choice(names)] if dice.random() < 0.3 else own
    step, lines = dice.choice((0, 1, 1000)), []
    for _ in range(_num_lines(dice)):
        line = dice.choice(other if dice.random() < 0.1 else own)
        if dice.random() < 0.7:
            step += dice.choice((0, 1, 1, 1, 10, -30, 1 << 33))
            line = _DIGITS.sub(str(max(0, step)), line, count=1)
        lines.append(_mangle_line(dice, line))
    return {"x.log": dice.choice(("\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")}


def _stamped(dice: random.Random) -> Files:
    """Steps by a clock that is set, with restarts and evaluations."""
    now, step, lines = dice.uniform(1e9, 1.8e9), 0, []
    for _ in range(_num_lines(dice)):
        now += dice.choice((1.0, 1.0, 0.0, 30.0))
        if dice.random() < 0.07:
            now += dice.choice(_JUMPS_S)
        if dice.random() < 0.1:
            step = max(0, step - dice.randint(0, 40))
        if dice.random() < 0.1:
            lines.append(f"{now:.3f} step {step}: train loss 3.0, val loss 3.1")
        lines.append(_mangle_line(dice, f"{now:.3f} iter {step}: loss 3.0, time {dice.expovariate(1e-3):.2f}ms"))
        step += dice.choice((1, 1, 10))
    return {"x.log": "\n".join(lines).encode("utf-8", "surrogatepass")}


def _cell(dice: random.Random) -> object:
    return dice.choice((dice.random(), dice.randrange(10**6), "", "nan", None, "x", 1e300, -1, "2024-11-14 16:00:00"))


def _table(dice: random.Random) -> Files:
    names = dice.sample(("step", "loss", "time", "elapsed", "timestamp", "dt", "val_loss", "epoch", "total_steps"), 5)
    rows = [[i if name in {"step", "epoch"} else _cell(dice) for name in names] for i in range(dice.randint(0, 40))]
    if dice.random() < 0.5:
        text = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    else:
        text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in [names, *rows])
    return {"x.csv": _mangle(dice, text.encode())}


def _store(dice: random.Random) -> Files:
    return dice.choice((_events, _wandb, _state, _database))(dice)


def _events(dice: random.Random) -> Files:
    data = structures.event_file(dice) if dice.random() < 0.5 else _mangle(dice, small_file(dice.randint(1, 12)))
    return {"events.out.tfevents.1": data}


def _wandb(dice: random.Random) -> Files:
    return {"run-x.wandb": _mangle(dice, wandb_file(dice.randint(1, 8)))}


def _state(dice: random.Random) -> Files:
    history = [{"step": i, "loss": _cell(dice), "epoch": i / 10} for i in range(dice.randint(0, 20))]
    state = {"global_step": dice.choice((9, -1, 1 << 60)), "max_steps": _cell(dice), "log_history": history}
    if dice.random() < 0.5:
        return {"trainer_state.json": to_json(mangle_tree(dice, state))}
    return {"trainer_state.json": _mangle(dice, json.dumps(state).encode())}


def _database(dice: random.Random) -> Files:
    if dice.random() < 0.5:
        return {"mlflow.db": structures.database(dice)}
    base = sqlite3.connect(":memory:")
    base.execute("create table metrics (key, value, timestamp, run_uuid, step, is_nan)")
    for i in range(dice.randint(0, 30)):
        row = ("loss", _cell(dice), 1_760_000_000_000 + i * 1000, "r", i, 0)
        base.execute("insert into metrics values (?, ?, ?, ?, ?, ?)", row)
    base.commit()
    data = base.serialize()
    base.close()
    return {"mlflow.db": _mangle(dice, data)}


def _recording(dice: random.Random) -> Files:
    """A folder of `stepscope run`, with everything that may lie in it."""
    wall, steady, log, stamps = 1.76e9, 500.0, b"", b""
    for step in range(_num_lines(dice)):
        passed = dice.choice((0.1, 1.0, 40.0))
        wall, steady = wall + passed + (dice.choice(_JUMPS_S) if dice.random() < 0.05 else 0.0), steady + passed
        log += f"iter {step}: loss 3.0, time {passed * 1e3:.2f}ms\n".encode()
        stamps += b"%d\t%.6f\t%.6f\n" % (len(log), wall, steady)
    kinds = ("evaluation", "checkpoint", "data", "gc", "compile", "optimizer")
    trace = "".join(
        f"{dice.choice(kinds)}\t{1.76e9 + dice.uniform(-9, 90):.6f}\t{dice.expovariate(1):.6f}\t{dice.randint(0, 9)}\n"
        for _ in range(dice.randint(0, 20))
    )
    files = {"log.txt": log, "stamps.tsv": _mangle(dice, stamps), "trace.tsv": _mangle(dice, trace.encode())}
    if dice.random() < 0.5:
        files["suspends.tsv"] = _mangle(dice, b"1760000020.0\t7.5\n")
    if dice.random() < 0.5:
        files["gpu.csv"] = _mangle(dice, mangle_cells(dice, _GPU_CSV).encode())
    if dice.random() < 0.3:
        files["exit.json"] = _mangle(
            dice, to_json(mangle_tree(dice, {"code": dice.choice((0, 1, 137)), "signal": None}))
        )
    if dice.random() < 0.3:
        meta = {"command": ["python", "train.py"], "host": "a", "started": 1.76e9, "cwd": "/x"}
        files["meta.json"] = to_json(mangle_tree(dice, meta))
    if dice.random() < 0.3:
        files["spans/00000-one-7.tsv"] = _mangle(dice, _inner_spans(dice))
    return files


_GPU_CSV = "time,gpu,util\n1760000000,0,97\n1760000005,0,12\n1760000010,1,50\n"


def _inner_spans(dice: random.Random) -> bytes:
    """What a training that is traced from inside writes: moments on the monotonic clock, in nanoseconds."""
    now, kinds = 500 * 10**9, ("data", "step", "evaluation", "checkpoint", "gc", "compile", "wait", "x")
    lines = [f"H\t0\tclock\t0\t{1_759_999_500 * 10**9}\tformat=stepscope.spans/1 rank=0 world=2 host=one pid=7"]
    for step in range(dice.randint(0, 30)):
        took = dice.choice((10**8, 10**9, 0, -(10**9), 1 << 62))
        now += dice.choice((took, took, 10**7, -(10**9)))
        detail = dice.choice((str(step), "", "steps=200", "-1", "9" * 30))
        lines.append(
            f"{dice.choice('EEEEBN')}\t{now}\t{dice.choice(kinds)}\t{dice.choice((0, 0, 1))}\t{took}\t{detail}"
        )
    return "".join(f"{line}\n" for line in lines).encode()


def _document(dice: random.Random) -> Files:
    """A trace, a summary or a table of another program, whose values and names are not what they should be."""
    data = dice.choice(structures.DOCUMENTS)(dice)
    return {dice.choice(("x.json", "x.jsonl", "x.csv", "x.log")): _mangle(dice, data) if dice.random() < 0.2 else data}


def _taught(dice: random.Random) -> Files:
    """A log of a trainer that a user's own format file is for, and that file, changed."""
    pattern = dice.choice(_PATTERNS)
    text = GOOD if dice.random() < 0.5 else GOOD.replace(r"judged: (?P<val_loss>[\d.]+)", pattern)
    log = "\n".join(_mangle_line(dice, line) for line in LOG.splitlines()[: 1 + _num_lines(dice)])
    changed = _mangle(dice, text.encode()) if dice.random() < 0.7 else mangle_cells(dice, text).encode()
    return {"x.log": log.encode("utf-8", "surrogatepass"), "taught.toml": changed}


_PATTERNS = (
    r"(?:a|a)*(?P<step>\d+)(?:a?){20}a{20}b",
    r"[\w ]*\w* *[\w ]* *(?P<loss>\S+)",
    r"(?P<step>\d+)(?P<step>\d+)",
    r"(?P<nobody>x)",
    r"turn (?P<step>\d+).*(?P<dur_s>\d+)$",
    r"(?=(?P<step>\d+))\1",
    "(",
    "",
)


def _archive(dice: random.Random) -> Files:
    """A log in an archive that was damaged on its way."""
    data = next(iter(dice.choice((_mixed, _stamped))(dice).values()))
    pack, ending = dice.choice(((gzip.compress, "gz"), (lzma.compress, "xz"), (zstd.compress, "zst")))
    return {f"x.log.{ending}": _mangle(dice, pack(data))}


def _parts(dice: random.Random) -> Files:
    """A folder of several logs: ranks, parts of a run, or runs of their own."""
    names = dice.choice((["rank0.log", "rank1.log"], ["a.log", "b.log", "c.log"], ["log.txt", "log.txt.1"]))
    first = _stamped(dice)["x.log"]
    others = (_mangle(dice, first), first[len(first) // 2 :], _stamped(dice)["x.log"], _mixed(dice)["x.log"])
    return {name: dice.choice(others) if i else first for i, name in enumerate(names)}


def _companions(dice: random.Random) -> Files:
    """The demo's log with a settings file and a table of nvidia-smi that nobody checked."""
    files = {"train.log": (DEMO / "train.log").read_bytes()}
    settings = {
        "max_iters": 5000,
        "eval_interval": dice.choice((0, -1, 250, 1e300, 10**400, "x", None)),
        "nested": {"lr": 1e-3},
    }
    if dice.random() < 0.5:
        settings = {str(odd(dice)) if dice.random() < 0.1 else key: value for key, value in settings.items()}
        settings = mangle_tree(dice, settings)
    written = {
        "config.py": (DEMO / "config.py").read_bytes(),
        "config.json": json.dumps(settings).encode(),
        "config.yaml": b"".join(
            str(name).encode("utf-8", "replace") + b": " + to_json(own) + b"\n" for name, own in settings.items()
        ),
        "config.toml": b'max_iters = 5000\neval_interval = 250\n[nested]\nlr = 1e-3\nname = "x"\n',
    }
    name = dice.choice(list(written))
    files[name] = _mangle(dice, written[name])
    hardware = dice.choice((_smi_table(), _SMI_CSV))
    if dice.random() < 0.5:
        hardware = mangle_cells(dice, hardware.decode(), most=12).encode()
    files["nvidia-smi.txt"] = _mangle(dice, hardware)
    return files


@cache
def _smi_table() -> bytes:
    return (DEMO / "nvidia-smi.txt").read_bytes()


_SMI_CSV = b"""timestamp, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]
2026/03/01 10:00:00.000, NVIDIA A100-SXM4-40GB, 97 %, 31000 MiB, 40960 MiB, 300.00 W
2026/03/01 10:00:01.000, NVIDIA A100-SXM4-40GB, 3 %, 31000 MiB, 40960 MiB, 80.00 W
"""


def _message(dice: random.Random) -> Files:
    """A request to the MCP server, with the log that it may name."""
    odd = (0, -1, 10**400, 1.5, True, None, [], {}, "", "x" * 5000, "\ud800", "\0", "../x", "~", "-", "--help", "x.log")
    given: dict[str, object] = {"path": "x.log"}
    for name in dice.sample(("path", "other", "max_steps", "config", "step", "change", "odd"), dice.randint(0, 4)):
        given[name] = dice.choice((*odd, 100, "eval_interval=100", "x.log"))
    tool = dice.choice(("explain", "eta", "why", "advise", "compare", dice.choice(odd)))
    request = {"jsonrpc": "2.0", "id": dice.choice((1, "a", None)), "method": "tools/call"}
    request["params"] = {"name": tool, "arguments": dice.choice((given, given, given, dice.choice(odd)))}
    if dice.random() < 0.1:
        request[dice.choice(("jsonrpc", "id", "method", "params"))] = dice.choice(odd)
    line = json.dumps(request).encode()
    return {"message.json": _mangle(dice, line) if dice.random() < 0.3 else line} | _stamped(dice)


def _text(dice: random.Random) -> str:
    """A log of some kind, as text."""
    if dice.random() < 0.5:
        return next(iter(dice.choice((_mixed, _stamped))(dice).values())).decode("utf-8", "replace")
    lines = print_loop(dice.randrange(10**6))[0].splitlines()
    return "\n".join(_mangle_line(dice, line) for line in lines[: 3 * _num_lines(dice)])


def _printed(dice: random.Random) -> Files:
    """A loop that prints what it likes, some of its lines bent."""
    return {"x.log": _mangle(dice, _text(dice).encode("utf-8", "surrogatepass"))}


def _numbered(dice: random.Random) -> Files:
    """A log or a table with numbers that nothing holds."""
    return {dice.choice(("x.log", "x.csv")): torn.numbered(dice, _text(dice)).encode("utf-8", "surrogatepass")}


def _pumped(dice: random.Random) -> Files:
    """A log with lines that were made for patterns that look back."""
    return {"x.log": torn.pumped(dice, _text(dice)).encode("utf-8", "surrogatepass")}


def _encoded(dice: random.Random) -> Files:
    """A log in an encoding, or in two."""
    return {"x.log": torn.encoded(dice, _text(dice))}


def _deep(dice: random.Random) -> Files:
    """JSON that is nested without end, also as settings."""
    files = {dice.choice(("x.json", "x.jsonl", "trainer_state.json", "x.log")): torn.deep(dice)}
    return files if dice.random() < 0.7 else _stamped(dice) | {"config.json": torn.deep(dice)}


def _torn(dice: random.Random) -> Files:
    """A store, a recording or an archive of which one file lost its middle."""
    files = dice.choice((_store, _recording, _recording, _archive, _document))(dice)
    name = dice.choice(list(files))
    return files | {name: torn.damage(dice, files[name])}


def _glued(dice: random.Random) -> Files:
    """Files of several kinds, one after the other in one."""
    kinds = (_mixed, _stamped, _table, _store, _document, _archive, _printed, _deep)
    parts = [next(iter(dice.choice(kinds)(dice).items())) for _ in range(dice.randint(2, 4))]
    data = dice.choice((b"\n", b"", b"\r", b"\0")).join(data for _, data in parts)
    return {dice.choice((*(name for name, _ in parts), "x.log")): data}


def _real(dice: random.Random, logs: Sequence[Path]) -> Files:
    """A stretch of a real log, mangled."""
    path = dice.choice(logs)
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(dice.randrange(max(1, size - 4000)) if dice.random() < 0.5 else 0)
        data = file.read(dice.choice((500, 500, 2000, 2000, 4000, 4000, 20_000)))
    return {path.name: _mangle(dice, data)}


_KINDS: dict[str, Callable[[random.Random], Files]] = {
    "mixed": _mixed,
    "stamped": _stamped,
    "table": _table,
    "store": _store,
    "document": _document,
    "taught": _taught,
    "recording": _recording,
    "archive": _archive,
    "parts": _parts,
    "companions": _companions,
    "message": _message,
    "printed": _printed,
    "numbered": _numbered,
    "pumped": _pumped,
    "encoded": _encoded,
    "deep": _deep,
    "torn": _torn,
    "glued": _glued,
}
# How many times as often as the others.
_OFTEN = {"mixed": 4, "stamped": 2, "table": 2, "store": 2, "recording": 2, "document": 2, "torn": 2, "real": 4}
