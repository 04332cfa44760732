"""How often the live view is right about what goes on: once a second against what the training itself writes down.

    python bench/now.py [NAME…] [--times 4]

Each training of tests/frameworks runs twice, its pauses stretched so that an evaluation takes seconds: under
`stepscope run --trace`, looked at as its screen does, and by itself, looked at as `stepscope attach` does. Of the
looks during evaluations and saves, how many said so; of the others, how many called an iteration one of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stepscope.core.clock import SystemClock
from stepscope.live import process
from stepscope.live.inside import Inside
from stepscope.live.watch import Facts, View, Watch
from stepscope.source.recording import RecordingTail
from stepscope.source.tail import FileTail

_ROOT = Path(__file__).parent.parent
_TRAININGS = _ROOT / "tests" / "frameworks" / "trainings"
_PROGRAMS = {
    "pytorch": ("torch_loop",),
    "huggingface": ("huggingface",),
    "accelerate": ("accelerated",),
    "lightning": ("lit",),
    "keras": ("keras_fit",),
    "sb3": ("sb3",),
    "xgboost": ("boosted", "xgboost"),
    "lightgbm": ("boosted", "lightgbm"),
}
_STOPS = {"evaluation", "checkpoint"}


def looked(folder: Path, program: list[str], times: float, *, traces: bool) -> list[tuple[float, str]]:
    """Run a training and look at it once a second: each look's moment and what it said."""
    environment = os.environ | {
        "TRUTH": str(folder / "truth.jsonl"),
        "TIMES": str(times),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(_ROOT / "src"),
    }
    command = [sys.executable, "-u", *program]
    if traces:
        recorder = [sys.executable, "-m", "stepscope", "run", "--trace", "--dir", str(folder), "--name", "r", "--"]
        command = [*recorder, *command]
    recording = folder / "r" if traces else None
    found: list[tuple[float, str]] = []
    clock = SystemClock()
    with (folder / "out.log").open("wb") as out, contextlib.ExitStack() as stack:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=folder)
        while recording is not None and not (recording / "log.txt").exists():
            time.sleep(0.05)
        tail = RecordingTail(recording) if recording is not None else FileTail(folder / "out.log")
        inside = Inside(clock, pid=lambda: child.pid, folder=recording)
        stack.enter_context(contextlib.closing(tail))
        stack.enter_context(contextlib.closing(inside))
        watch = Watch(
            tail,
            name="now",
            facts=Facts(None, {}, 0.9),
            clock=clock,
            is_alive=lambda: child.poll() is None and process.is_alive(child.pid),
        )

        def show(view: View) -> None:
            began = time.monotonic()
            doing = inside.look(view).pulse.doing
            found.append(((began + time.monotonic()) / 2, doing))

        watch.run_to_end(show)
        child.wait()
    return found


def judged(folder: Path, looks: list[tuple[float, str]]) -> tuple[int, int, int, int, list[str]]:
    """Right ones of the looks during evaluations and saves, right ones of the others, and what the wrong ones said."""
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    stops = [(begin, end, phase) for phase, begin, end in truth if phase in _STOPS]
    right = num = calm = others = 0
    wrong = []
    for at, said in looks:
        # An inner span counts before the one around it.
        own = sorted((end - begin, phase) for begin, end, phase in stops if begin <= at < end)
        if own:
            num += 1
            right += said == own[0][1]
            wrong += [] if said == own[0][1] else [f"{own[0][1]}: {said}"]
        elif stops and stops[0][0] <= at <= stops[-1][1]:
            others += 1
            calm += said not in _STOPS
            wrong += [f"none: {said}"] if said in _STOPS else []
    return right, num, calm, others, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", default=list(_PROGRAMS), help="trainings, or the path of a program of one's own"
    )
    parser.add_argument("--times", type=float, default=4.0, help="how many times as long the pauses are")
    arguments = parser.parse_args()
    print(
        "| training | how | in evaluations and saves | between them | wrong ones |\n|---|---|---:|---:|---|", flush=True
    )
    for name in arguments.names:
        own, *rest = name.split(",")
        script, *words = _PROGRAMS.get(own, (own,))
        path = script if script.endswith(".py") else str(_TRAININGS / f"{script}.py")
        for traces in (True, False):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                looks = looked(folder, [path, *words, *rest], arguments.times, traces=traces)
                right, num, calm, others, wrong = judged(folder, looks)
            how = "run --trace" if traces else "attach"
            texts = ", ".join(f"{text} ×{wrong.count(text)}" for text in sorted(set(wrong)))
            print(f"| {own} | {how} | {right} of {num} | {calm} of {others} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
