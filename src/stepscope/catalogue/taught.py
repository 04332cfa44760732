"""Where a user's own formats lie, and which have been named; `user_formats.py` reads such a file.

Most users have none, so what is needed to read one is imported only where there is one.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from stepscope.lines.format import Format

_named: dict[str, Format] = {}  # formats given by a flag, in this process


def config_folder() -> Path:
    """The folder of the user's formats: `%APPDATA%` on Windows, else XDG's folder of settings."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "stepscope" / "formats"


def teach(path: str) -> Format:
    """Read a format file and ask it before all others from now on."""
    from stepscope.catalogue.user_formats import read_format

    fmt = read_format(Path(path))
    _named[path] = fmt
    return fmt


def taught_formats() -> tuple[Format, ...]:
    """What the user taught: named files first, then those of the folder in the order of their names."""
    return (*_named.values(), *_in_folder(config_folder()))


def _in_folder(folder: Path) -> tuple[Format, ...]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.is_file())
    except OSError:
        return ()  # no such folder, or not ours to read: nobody taught anything
    return tuple(_remembered(path, path.stat().st_mtime_ns) for path in paths)


@cache
def _remembered(path: Path, _changed: int) -> Format:
    from stepscope.catalogue.user_formats import read_format

    return read_format(path)
