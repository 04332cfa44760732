"""The command that installs an extra where the user is: into this Python, from where this copy came."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "stepscope"


def install_command(extra: str) -> str:
    """A command to paste that adds the extra to the Stepscope that is running."""
    source = _quote(f"{_origin()}[{extra}]")
    parts = Path(sys.prefix).parts
    if "pipx" in parts:
        return f"pipx install --force {source}"
    if {"uv", "tools"} <= set(parts):
        return f"uv tool install {source}"
    return f"{_pip()} install {source}"


def _origin() -> str:
    """The package's name where it came from an index, else the checkout it came from: `.` from inside it."""
    checkout = _checkout()
    if checkout is None:
        return _NAME
    try:
        return "." if checkout.samefile(Path.cwd()) else str(checkout)
    except OSError:
        return str(checkout)


def _checkout() -> Path | None:
    """The folder with the sources that this copy runs from, or was installed from."""
    sources = Path(__file__).parents[3]
    if _is_checkout(sources):
        return sources
    import json
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    try:
        text = metadata.distribution(_NAME).read_text("direct_url.json")
        url = urlsplit(json.loads(text)["url"]) if text else None
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        return None
    if url is None or url.scheme != "file":
        return None
    folder = Path(unquote(url.path))
    return folder if _is_checkout(folder) else None


def _is_checkout(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file() and (folder / "src" / _NAME).is_dir()


def _pip() -> str:
    """`pip` where that is the pip of this Python; its full name where a shell would find another one."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip" if sys.executable else "pip"


def _quote(text: str) -> str:
    """`text` for a shell; brackets are signs of their own in some."""
    return f'"{text}"' if os.name == "nt" else "'" + text.replace("'", "'\"'\"'") + "'"
