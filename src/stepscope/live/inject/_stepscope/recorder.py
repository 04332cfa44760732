"""The recorder: times steps and phases of a training from inside, and writes them as spans.

    rec = Recorder(total_steps=1000)
    for i, batch in enumerate(rec.data(loader)):
        with rec.step(i):
            ...
        if i % 100 == 0:
            with rec.phase("evaluation"):
                ...

Nothing here raises into the training once the recorder has been made.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from _stepscope.spans import SpanFile, now_ns

RECORDING = "STEPSCOPE_RECORDING"  # the folder of the recording, set by `stepscope run`
_T = TypeVar("_T")


class Span:
    """A span that begins with `with` and ends with its block."""

    __slots__ = ("_began", "_detail", "_kind", "_recorder")

    def __init__(self, recorder: Recorder, kind: str, detail: str) -> None:
        self._recorder, self._kind, self._detail = recorder, kind, detail
        self._began = 0

    def __enter__(self) -> Span:
        self._began = now_ns()
        self._recorder.spans.begin(self._kind, self._began, self._detail)
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.spans.end(self._kind, self._began, now_ns(), self._detail)


class Recorder:
    """Writes what a training does into a recording that `explain`, `watch`, `serve` and `compare` read.

    folder
        Where to; without it, the recording of the `stepscope run` around this process, or a new folder in `runs/`.
    total_steps, total_epochs
        How many there will be, as far as that is known; `total` says it later.
    rank, world
        Which process of how many this is; without them, as RANK and WORLD_SIZE or the scheduler say.
    source
        What records, for the report.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        total_steps: int | None = None,
        total_epochs: int | None = None,
        rank: int | None = None,
        world: int | None = None,
        source: str = "recorder",
    ) -> None:
        given = os.fspath(folder) if folder is not None else os.environ.get(RECORDING)
        self.folder = given or _new_folder()
        self._owns_folder = folder is not None or not os.environ.get(RECORDING)
        if self._owns_folder:
            _make_recording(self.folder)
        self.spans = SpanFile(self.folder, source=source, rank=rank, world=world)
        self._next = 0
        self._open: dict[str, list[tuple[int, str]]] = {}
        if total_steps is not None or total_epochs is not None:
            self.total(steps=total_steps, epochs=total_epochs)
        atexit.register(self.close)

    def total(self, *, steps: int | None = None, epochs: int | None = None) -> None:
        """Say how many steps or epochs there will be."""
        known = {"steps": steps, "epochs": epochs}
        self.spans.note("total", " ".join(f"{name}={int(num)}" for name, num in known.items() if num))

    def step(self, number: int | None = None) -> Span:
        """A training step; without a number, the one after the last."""
        own = self._next if number is None else number
        self._next = own + 1
        return Span(self, "step", str(own))

    def phase(self, kind: str, detail: str = "") -> Span:
        """Anything else: "evaluation", "checkpoint", "data", "logging", "compile", or a name of your own."""
        return Span(self, _name(kind), _name(detail))

    def begin(self, kind: str, detail: str | int = "") -> None:
        """A phase or a step begins; `end` ends it."""
        began, text = now_ns(), _name(str(detail))
        self._open.setdefault(kind, []).append((began, text))
        self.spans.begin(_name(kind), began, text)

    def end(self, kind: str, detail: str | int | None = None) -> None:
        """The last phase of this kind that began ends; nothing where none did."""
        spans = self._open.get(kind)
        if spans:
            began, text = spans.pop()
            self.spans.end(_name(kind), began, now_ns(), text if detail is None else _name(str(detail)))

    def data(self, batches: Iterable[_T]) -> Iterator[_T]:
        """The batches, with the wait for each recorded."""
        source = iter(batches)
        while True:
            began = now_ns()
            try:
                batch = next(source)
            except StopIteration:
                return
            self.spans.end("data", began, now_ns())
            yield batch

    def log(self, step: int | None = None, **values: float) -> None:
        """Values of a step, such as `loss=2.3` or `val_loss=2.5`."""
        text = [] if step is None else [f"step={int(step)}"]
        for name, value in values.items():
            try:
                text.append(f"{_name(name)}={float(value):.7g}")
            except (TypeError, ValueError):
                continue
        self.spans.note("values", " ".join(text))

    def close(self) -> None:
        """Write what is left; a recorder that nobody closes does that at the end of the process."""
        atexit.unregister(self.close)
        if self.spans.is_child:
            return
        self.spans.flush()
        if self._owns_folder and self.spans.rank == 0:
            _write_exit(self.folder)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _name(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _new_folder() -> str:
    """A folder in `runs/`; ranks that one launcher started agree on it."""
    jobs = [os.environ.get(name, "none") for name in ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID")]
    job = next((own for own in jobs if own != "none"), "")
    script = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    stem = "".join(char if char.isalnum() or char in "._-" else "-" for char in script) or "run"
    name = f"{job or time.strftime('%Y%m%d-%H%M%S')}-{stem}"
    folder, number = os.path.join("runs", name), 2
    while not job and os.path.exists(folder):
        folder, number = os.path.join("runs", f"{name}-{number}"), number + 1
    return folder


def _make_recording(folder: str) -> None:
    """The files that make a folder a recording: a log, which stays empty, and what was started."""
    os.makedirs(folder, exist_ok=True)
    for name in ("log.txt", "stamps.tsv"):
        with open(os.path.join(folder, name), "ab"):
            pass
    meta: dict[str, Any] = {"command": list(sys.argv), "started": time.time(), "folder": os.getcwd()}
    try:
        with open(os.path.join(folder, "meta.json"), "x", encoding="utf-8") as file:
            json.dump(meta, file, indent=2)
            file.write("\n")
    except FileExistsError:
        return


def _write_exit(folder: str) -> None:
    """The training is over; with which exit code, its own process cannot know."""
    text = json.dumps({"code": None, "signal": None, "wall": time.time(), "lost_bytes": 0})
    try:
        with open(os.path.join(folder, "exit.json"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError:
        return
