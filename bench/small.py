"""Inputs of a megabyte that are all of one shape: what `hostile.py --small` measures."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

SIZE = 1_000_000

Text = Callable[[int], str]


def _mixed(number: int, most: int) -> int:
    """A number that looks like chance."""
    return (number * 2654435761 >> 7) % most


def _iter(number: int, ms: float, *, loss: str = "3.3114") -> str:
    return f"iter {number}: loss {loss}, time {ms}ms\n"


def _clock(second: int) -> str:
    return f"2026-03-{1 + second // 86400:02} {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02},000 "


def _bar(number: int, total: int, label: str = "") -> str:
    percent = 100 * number // total
    return f"{label}{percent:3}%|###   | {number}/{total} [{number // 60:02}:{number % 60:02}<10:00,  1.00it/s]\n"


_TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: x\n'
_ENDS = ("Killed\n", "Terminated\n", "Segmentation fault\n", "KeyboardInterrupt\n", "NCCL watchdog timed out\n")
_NANOGPT: dict[str, Text] = {
    "plain": lambda at: _iter(at, 100 + at % 9),
    "restarts": lambda at: f"Initializing a new model from scratch\n{_iter(0, 130.02)}{_iter(1, 130 + at % 11)}",
    "resumptions": lambda at: f"Resuming training from out\n{_iter(2 * at, 130.02)}{_iter(2 * at + 1, 130 + at % 11)}",
    "bare restarts": lambda at: f"iter {at % 2}: time {at % 997}ms\n",
    "steps back": lambda at: f"iter {10**6 - at}: time {at % 997}ms\n",
    "one step": lambda at: f"iter 5: time {at % 997}ms\n",
    "any steps": lambda at: f"iter {_mixed(at, 10**6)}: time {at % 997}ms\n",
    "copies": lambda at: _iter(at % 100, 100 + at % 100 * 1.01),
    "two writers": lambda at: _iter(at, 130 + at % 7) + _iter(at + 5000, 150 + at % 11),
    "three writers": lambda at: "".join(_iter(at + 5000 * own, 130 + 9 * own + at % 7) for own in range(3)),
    "many writers": lambda at: _iter(at // 3000 + at % 3000 * 7, 130 + at % 7),
    "tagged ranks": lambda at: f"[rank{at % 4000}] {_iter(at // 4000, 130 + at % 7)}",
    "bare ranks": lambda at: f"{at % 16}: {_iter(at // 16, 130 + at % 7)}",
    "evaluations": lambda at: f"step {at}: train loss 3.0, val loss {at % 97}.5\niter {at}: time {at % 97}ms\n",
    "saves": lambda at: f"saving checkpoint\niter {at}: time {at % 97}ms\n",
    "stamped stops": lambda at: (
        f"{_clock(at)}step {at}: train loss 3.0, val loss 2.5\n"
        f"{_clock(at)}saving checkpoint\n{_clock(at)}{_iter(at, 99)}"
    ),
    "set clocks": lambda at: _clock(_mixed(at, 86400)) + _iter(at, 100),
    "set clocks, restarts": lambda at: _clock(_mixed(at, 86400)) + _iter(at % 2, 100),
    "no numbers": lambda at: f"step {at}: train loss nan, val loss nan\n{_iter(at, 100 + at % 9, loss='nan')}",
    "out of memory": lambda at: _iter(at, 100) + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2.00 GiB\n",
    "tracebacks": lambda at: _iter(at, 100) + _TRACEBACK,
    "ends": lambda at: _iter(at, 100) + _ENDS[at % len(_ENDS)],
    "settings": lambda at: _iter(at, 100) if at < 30 else f"key_{at} = {at}\n",
    "settings, restarts": lambda at: (
        f"tokens per iteration will be: 32,768\nbatch_size = {at}\nmax_iters = {at + 5}\n{_iter(0, 100)}{_iter(1, 101)}"
    ),
    "slow steps": lambda at: f"iter {at}: time {(100, 100, 1000, 3000)[_mixed(at, 4)]}ms\n",
    "levels": lambda at: f"iter {at}: time {100 + at // 50 * 37 % 900}ms\n",
    "periods": lambda at: f"iter {at}: time {100 + sum(own for own in (7, 13, 29, 97, 503) if at % own == 0)}ms\n",
    "holes": lambda at: f"iter {at * 10_000_000 + _mixed(at, 9_999_999)}: time 10ms\n",
    "colours": lambda at: f"\x1b[1m\x1b[32miter {at}: \x1b[0mloss 3.1, \x1b[31mtime {100 + at % 9}ms\x1b[0m\n",
    "strange words": lambda at: f"{'qwertyuiop'[_mixed(at, 9) :]} {at:x}\niter {at}: time 9ms\n",
    "blank lines": lambda at: _iter(at, 100) + "\n" * 50,
    "long names": lambda at: f"saving checkpoint to {'-' * 300}{at}\niter {at}: time {2000 if at % 3 else 100}ms\n",
}
_OTHERS: dict[str, Text] = {
    "dicts": lambda at: f"{{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': {at / 1000:.2f}}}\n",
    "dicts, restarts": lambda at: (
        f"***** Running training *****\n  Num examples = 100\n{_bar(1, 100)}"
        f"{{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.1}}\n{{'train_runtime': {at}.2, 'epoch': 1.0}}\n"
    ),
    "bars": lambda at: _bar(at, 30_000),
    "bars of many totals": lambda at: _bar(at % 100, 100 + at // 100),
    "bars of many names": lambda at: _bar(at // 3000, 100, f"job{at % 3000}: "),
    "bars by turns": lambda at: _bar(at, 9_999_999, "train: ") + _bar(at % 5, 5, "val: "),
    "Keras": lambda at: f"Epoch {at + 1}/99999\n10/10 [=====] - 1s 100ms/step - loss: 0.5 - val_loss: 0.{at}\n",
    "Megatron": lambda at: (
        f" iteration {at}/ 500000 | elapsed time per iteration (ms): {100 + at % 9}.2 | lm loss: 6.2E+00 |\n"
    ),
    "Megatron, restarts": lambda at: (
        f" iteration {at % 2}/ 5000 | elapsed time per iteration (ms): {100 + at % 9}.2 | lm loss: 6.2E+00 |\n"
    ),
    "running clock": lambda at: f"step:{at}/100000 train_loss:9.80 train_time:{1500 * at}ms step_avg:150.00ms\n",
    "running clock, restarts": lambda at: f"step:{at % 2}/100 train_time:{1500 * (at % 2)}ms step_avg:150.00ms\n",
    "nobody's steps": lambda at: f"Batch no {at} took {100 + at % 9} milliseconds\n",
    "nobody's steps, restarts": lambda at: f"Batch no {at % 2} took {100 + at % 9} milliseconds\n",
    "numbers": lambda at: f"{at} {at % 7} {at % 9}\n",
    "wide numbers": lambda at: " ".join(str(at * own % 977) for own in range(300)) + "\n",
    "names and values": lambda at: f"step={at} " + " ".join(f"k{own}={at * own % 97}" for own in range(60)) + "\n",
    "fresh names": lambda at: f"step={at} k{at}={at % 7} time_{at}={at % 9}\n",
    "letters": lambda at: "abcdefgh"[_mixed(at, 8)] + "\n",
    "moments": lambda at: _clock(at) + "x\n",
    "other scripts": lambda at: f"迭代 {at}: 损失 3.1, 时间 {100 + at % 9}毫秒\n",
}
_DEEP = '{"b":' * 200 + "1" + "}" * 200
_TABLES: dict[str, tuple[str, Text]] = {
    "table.csv": ("step,time,loss\n", lambda at: f"{at},{at * 2},{at % 7}\n"),
    "restarts.csv": ("step,time,loss\n", lambda at: f"{at % 2},{at % 2},{at % 7}\n"),
    "ragged.csv": ("step,time,loss\n", lambda at: ",".join([str(at)] * (at % 9)) + "\n"),
    "wide.csv": (f"step,time,{','.join(f'c{own}' for own in range(5000))}\n", lambda at: f"{at},{at}{',1' * 5000}\n"),
    "rows.jsonl": ("", lambda at: f'{{"step": {at}, "time": {at * 2}, "loss": 1.5}}\n'),
    "restarts.jsonl": ("", lambda at: f'{{"step": {at % 2}, "time": {at % 2 * 3}, "loss": 1.5}}\n'),
    "names.jsonl": ("", lambda at: f'{{"step": {at}, "time": {at * 2}, "k{at}": 1.5}}\n'),
    "deep.jsonl": ("", lambda at: f'{{"step": {at}, "time": 1.5, "a": {_DEEP}}}\n'),
}
_HEAD = "".join(_iter(step, 100) for step in range(300))
_WHOLE: dict[str, str] = {
    "long line": f"{_HEAD}{'x' * 900_000}\n{_iter(300, 100)}",
    "long line of numbers": f"{_HEAD}{'1, 2 = ' * 120_000}\n{_iter(300, 100)}",
    "long line of bars": _HEAD + "\r".join(f"{at}/9999" for at in range(90_000)) + "\n",
    "colours alone": f"{_HEAD}{chr(27) + '[1m'}" * 55,
    "zero bytes": f"{_HEAD}{chr(0) * 900_000}{_iter(300, 100)}",
    "deep.json": "[" * 450_000 + "]" * 450_000,
}


def names() -> list[str]:
    """The shapes."""
    return [*_NANOGPT, *_OTHERS, *_TABLES, *_WHOLE]


def make(name: str, folder: Path, size: int) -> Path:
    """A file of `size` bytes or a little less, of one shape."""
    path = folder / (name if "." in name else "a.log")
    if name in _WHOLE:
        path.write_text(_WHOLE[name], encoding="utf-8", newline="")
        return path
    text, line = _TABLES[name] if name in _TABLES else ("", (_NANOGPT | _OTHERS)[name])
    parts, left = [text], size - len(text)
    for at in count():
        part = line(at)
        left -= len(part.encode())
        if left < 0:
            break
        parts.append(part)
    path.write_text("".join(parts), encoding="utf-8", newline="")
    return path
