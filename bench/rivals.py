"""What other tools would have shown at the same moment, fed step by step on a clock of their own.

tqdm, rich and alive-progress run their own code. Keras, detectron2 and Composer would bring their whole framework,
so their rule is written down here after their source.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from replay import Case

# Long runs are fed in this many equal pieces at most: no rival's estimate depends on more.
_MAX_UPDATES = 4_000


class Tick(NamedTuple):
    """One update of a progress bar: the moment, the steps done since the last, and the stop before it."""

    now: float
    num: int
    stop_s: float
    num_stops: int
    row: int | None  # of the log, where this tick is one


def ticks(case: Case) -> Iterator[Tick]:
    """The run step by step. Steps between two printed lines are alike; a stop comes before the last of them."""
    size = max(1, -(-(case.total - case.first) // _MAX_UPDATES))
    before, now = case.first, 0.0
    for row in range(len(case.step)):
        num, stop_s = int(case.step[row]) - before, float(case.stop_s[row])
        each = (float(case.seconds[row]) - now - stop_s) / num
        done = 0
        while done + size < num:
            done += size
            yield Tick(now + done * each, size, 0.0, 0, None)
        before, now = int(case.step[row]), float(case.seconds[row])
        yield Tick(now, num - done, stop_s, int(case.stop_num[row]), row)


class Rival:
    """An estimator: told of each tick, asked for the seconds left."""

    def __init__(self, case: Case) -> None:
        self.total = case.total - case.first
        self.done = 0

    def tick(self, tick: Tick) -> None:
        """Take an update."""
        self.done += tick.num

    def left(self) -> float | None:
        """Seconds left, or None where it says nothing."""
        raise AssertionError("each rival says how")


class Tqdm(Rival):
    """tqdm's own code: a smoothed rate over its refreshes."""

    smoothing = 0.3

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        from tqdm import tqdm

        bar: Any = tqdm(
            total=self.total, smoothing=self.smoothing, disable=False, file=_Nowhere(), miniters=1, mininterval=0.1
        )
        self.bar, self.now = bar, 0.0
        bar._time = lambda: self.now
        bar.start_t = bar.last_print_t = 0.0

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.now = tick.now
        self.bar.update(tick.num)

    def left(self) -> float | None:
        told = self.bar.format_dict
        rate = told["rate"] or (told["n"] / told["elapsed"] if told["elapsed"] else None)
        return (self.total - told["n"]) / rate if rate else None


class TqdmMean(Tqdm):
    """tqdm with smoothing 0."""

    smoothing = 0.0


class Rich(Rival):
    """rich.progress's own code: the mean of the last 30 seconds."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        from rich.console import Console
        from rich.progress import Progress

        self.now = 0.0
        self.bar = Progress(console=Console(file=_Nowhere()), auto_refresh=False, get_time=lambda: self.now)  # type: ignore[arg-type]
        self.task = self.bar.add_task("", total=self.total)

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.now = tick.now
        self.bar.update(self.task, advance=tick.num)

    def left(self) -> float | None:
        return self.bar.tasks[0].time_remaining


class AliveProgress(Rival):
    """alive-progress's own smoothing, asked twice a second as its display thread does at these rates."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        from alive_progress.utils import timing

        smooth: Any = timing

        self.rate = smooth.gen_simple_exponential_smoothing(0.3, lambda done, elapsed: done / elapsed)
        self.eta = smooth.gen_simple_exponential_smoothing(0.5, smooth.fn_simple_eta(self.total))
        next(self.rate)
        next(self.eta)
        self.drawn, self.shown = -1.0, None

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        if tick.now - self.drawn >= 0.5 and tick.now > 0:
            # The thread redraws while nothing happens, too; a few redraws settle it.
            for _ in range(min(8, max(1, int((tick.now - self.drawn) / 0.5)))):
                rate = self.rate.send((self.done, tick.now))
                if rate:
                    self.shown = self.eta.send((self.done, rate))
            self.drawn = tick.now

    def left(self) -> float | None:
        return self.shown or None


class Keras(Rival):
    """Keras's Progbar: the mean since the first step, which it leaves out."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.first: float | None = None
        self.first_done = 0
        self.now = 0.0

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.now = tick.now
        if self.first is None:
            self.first, self.first_done = tick.now, self.done

    def left(self) -> float | None:
        if self.first is None or self.done <= self.first_done:
            return self.now / self.done * (self.total - self.done) if self.done else None
        return (self.now - self.first) / (self.done - self.first_done) * (self.total - self.done)


class Detectron2(Rival):
    """detectron2's EventWriter: the median of the last 1000 step times; evaluation is not in its timer."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.last, self.recent = 0.0, deque[float](maxlen=1000)

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.recent.extend([(tick.now - self.last - tick.stop_s) / tick.num] * min(tick.num, 1000))
        self.last = tick.now

    def left(self) -> float | None:
        return statistics.median(self.recent) * (self.total - self.done) if self.recent else None


class Composer(Rival):
    """Composer's RuntimeEstimator: the mean step since the first batch, plus the mean evaluation at its frequency."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.begin: tuple[float, int] | None = None
        self.now = 0.0
        self.stops: list[float] = []
        self.every = 0.0

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.now = tick.now
        if self.begin is None:
            self.begin = (tick.now, self.done)
        elif tick.num_stops:
            self.stops.append(tick.stop_s)
            self.every = (self.done - self.begin[1]) / len(self.stops)

    def left(self) -> float | None:
        if self.begin is None or self.done <= self.begin[1]:
            return None
        rate = (self.now - self.begin[0] - sum(self.stops)) / (self.done - self.begin[1])
        left = rate * (self.total - self.done)
        if self.stops:
            # The first is left out as soon as there is another: it is often slower.
            counted = self.stops[1:] or self.stops
            calls = (self.total - self.begin[1]) / self.every - len(self.stops)
            left += sum(counted) / len(counted) * calls
        return left


class Elapsed(Rival):
    """Elapsed time over steps done, times the steps left: Hugging Face's notebook bar, LLaMA-Factory, many more."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.now = 0.0

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        self.now = tick.now

    def left(self) -> float | None:
        return self.now / self.done * (self.total - self.done) if self.done else None


class LastLine(Rival):
    """The time on the last printed line, times the steps left."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.printed = case.run.steps.dur_ns / 1e9
        self.last: float | None = None

    def tick(self, tick: Tick) -> None:
        super().tick(tick)
        if tick.row is not None and self.printed[tick.row] > 0:
            self.last = float(self.printed[tick.row])

    def left(self) -> float | None:
        return self.last * (self.total - self.done) if self.last is not None else None


RIVALS: dict[str, Callable[[Case], Rival]] = {
    "tqdm 0.3": Tqdm,
    "tqdm 0": TqdmMean,
    "rich": Rich,
    "alive-progress": AliveProgress,
    "Keras": Keras,
    "detectron2": Detectron2,
    "Composer": Composer,
    "elapsed/done": Elapsed,
    "last line": LastLine,
}


def replay(case: Case, rows: list[int]) -> dict[str, dict[int, float | None]]:
    """What each rival shows right after each of the rows."""
    running = {name: make(case) for name, make in RIVALS.items()}
    shown: dict[str, dict[int, float | None]] = {name: {} for name in RIVALS}
    wanted = set(rows)
    for tick in ticks(case):
        for name, rival in running.items():
            rival.tick(tick)
            if tick.row in wanted:
                assert tick.row is not None
                shown[name][tick.row] = rival.left()
        if tick.row is not None and tick.row >= max(rows):
            break
    return shown


class _Nowhere:
    """A file that forgets."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def spread(values: list[float]) -> float:
    """Largest to smallest."""
    finite = [value for value in values if np.isfinite(value) and value > 0]
    return max(finite) / min(finite) if finite else float("nan")
