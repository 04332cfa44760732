"""Draw the pictures of the README as SVG: the real output of `stepscope demo`, and the screen of a real run.

python tools/shot.py demo > docs/demo.svg        (tools/gen.py does it, and checks that it is up to date)
python tools/shot.py live > docs/live.svg

The run is `docs/recording`: what `stepscope run -- stepscope train` had recorded when the picture was taken.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
import time
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.live.watch import Facts, Watch
from stepscope.reading.reader import read_sources
from stepscope.report import live, terminal
from stepscope.source.files import Source
from stepscope.source.recording import RecordingTail
from stepscope.source.tail import News

WIDTH = 80
_RECORDING = Path(__file__).parent.parent / "docs" / "recording"
_HEIGHT = 31  # of the terminal in the picture of the live screen
_SINCE_S = 0.3


def picture() -> str:
    """The SVG text of the report."""
    return _svg(_demo_text(), "stepscope demo")


def _demo_text() -> Text:
    from stepscope.cli.demo import FOLDER
    from stepscope.core.configfile import read_config
    from stepscope.source.nvidia_smi import read_nvidia_smi

    run = read_sources([Source(name="train.log", path=FOLDER / "train.log", mtime=None)])
    hardware = read_nvidia_smi(FOLDER / "nvidia-smi.txt")
    report = explain(run, config=read_config(FOLDER / "config.py"), hardware=hardware)
    text = terminal.render(report, Language.load("en"), width=WIDTH, color=True)
    return Text.from_ansi(text)


# The lines of the demo that the docs explain, by how they begin: see docs/reading-the-report.md.
_NOTED = ("Running", "57 min left", "Biggest cost", "Where the time", "every", "1. eval_interval", "A normal iteration")
_MARKS = "①②③④⑤⑥⑦"


def annotated_picture() -> str:
    """The report with a number beside each line that the docs explain."""
    text = _demo_text()
    lines, marks = [], dict(zip(_NOTED, _MARKS, strict=True))
    for line in text.split("\n"):
        begins = next((words for words in marks if line.plain.strip().startswith(words)), None)
        line.truncate(WIDTH, pad=True)
        lines.append(line + Text(f"  {marks.pop(begins)}" if begins else "   ", style="bold yellow"))
    assert not marks, f"not in the demo any more: {list(marks)}"
    return _svg(Text("\n").join(lines), "stepscope demo", width=WIDTH + 4)


def live_picture() -> str:
    """The SVG text of the live screen, a moment after the last line of the recording came."""
    os.environ["TZ"] = "UTC"  # the same picture wherever it is drawn
    time.tzset()
    clock = _Still(dt.datetime.fromtimestamp(_last_stamp() + _SINCE_S, dt.UTC))
    facts = Facts(config=None, flags={}, confidence=0.9)
    watch = Watch(_Recorded(), name="runs/small-gpt", facts=facts, clock=clock)
    view = watch.step()
    while view is None or view.report is None or not watch.is_caught_up:
        view = watch.step()
    lines = live.draw(view, Language.load("en"), width=WIDTH, height=_HEIGHT)
    return _svg(Text("\n").join(lines), "stepscope run -- stepscope train --max_iters=400 --log_interval=1")


class _Still:
    """A clock that stands still."""

    def __init__(self, moment: dt.datetime) -> None:
        self._moment, self._seconds = moment, 0.0

    def now(self) -> dt.datetime:
        return self._moment

    def monotonic(self) -> float:
        self._seconds += 1e-9
        return self._seconds

    def sleep(self, seconds: float) -> None:
        """Nobody waits here."""


class _Recorded:
    """The recording, last written when its last line came, whatever the copy's own date."""

    def __init__(self) -> None:
        self._tail = RecordingTail(_RECORDING)

    @property
    def mtime(self) -> float:
        return _last_stamp()

    def look(self) -> News:
        return self._tail.look()

    def rewind(self) -> bool:
        return False


def _last_stamp() -> float:
    return float((_RECORDING / "stamps.tsv").read_text().splitlines()[-1].split("\t")[1])


def _svg(text: Text, title: str, *, width: int = WIDTH) -> str:
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(text)
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="stepscope")
    # The template loads a font from a server; any monospace font will do, and a picture should need no network.
    return re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


if __name__ == "__main__":
    sys.stdout.write(live_picture() if sys.argv[1:] == ["live"] else picture())
