"""Draw the picture of the README: the real output of `stepscope demo`, as an SVG.

python tools/shot.py > docs/demo.svg        (tools/gen.py does it, and checks that it is up to date)
"""

from __future__ import annotations

import re
import sys
from io import StringIO

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from stepscope.i18n import Language
from stepscope.reader import read_sources
from stepscope.report import terminal
from stepscope.report.build import explain
from stepscope.source.files import Source

WIDTH = 80


def picture() -> str:
    """The SVG text."""
    from stepscope.cli.demo import FOLDER
    from stepscope.configfile import read_config
    from stepscope.source.nvidia_smi import read_nvidia_smi

    run = read_sources([Source(name="train.log", path=FOLDER / "train.log", mtime=None)])
    hardware = read_nvidia_smi(FOLDER / "nvidia-smi.txt")
    report = explain(run, config=read_config(FOLDER / "config.py"), hardware=hardware)
    text = terminal.render(report, Language.load("en"), width=WIDTH, color=True)
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="stepscope demo", theme=MONOKAI, unique_id="stepscope")
    # The template loads a font from a server; any monospace font will do, and a picture should need no network.
    return re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


if __name__ == "__main__":
    sys.stdout.write(picture())
