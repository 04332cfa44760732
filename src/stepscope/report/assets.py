"""The page's scripts and styles as one text each, and the policy that lets just these run.

The scripts are ES modules on disk: an editor and a type checker read them as they are. In the page they become one
script, each module a function of its own, because a file opened from disk may import nothing. No tool is needed for
that: only `import { a, b } from "./name.js"` and `export function`, `export const` and `export class` are understood.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from stepscope.report import palette

FOLDER = Path(__file__).parent / "page"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) \*?(\w+))", re.MULTILINE)


@cache
def scripts() -> str:
    """The page's own script, the chart library first."""
    return (FOLDER / "uplot.min.js").read_text(encoding="utf-8") + "\n" + bundle(FOLDER / "page.js")


@cache
def styles() -> str:
    """The page's own style: colours, space and type, then what uses them."""
    files = ("uplot.min.css", "tokens.css", "page.css", "run.css")
    return palette.css() + "".join((FOLDER / name).read_text(encoding="utf-8") for name in files)


def bundle(entry: Path) -> str:
    """A module and all that it imports as one script."""
    names: dict[Path, str] = {}
    pieces: list[str] = []

    def add(path: Path) -> str:
        if path in names:
            if not names[path]:
                raise ValueError(f"modules import each other: {path.name}")
            return names[path]
        names[path] = ""
        text = path.read_text(encoding="utf-8")

        def imported(found: re.Match[str]) -> str:
            source = add((path.parent / found[2]).resolve())
            return f"const {{{found[1].replace(' as ', ': ')}}} = {source};\n"

        text = _IMPORT.sub(imported, text)
        exported = ", ".join(found[1] for found in _EXPORT.finditer(text))
        text = _EXPORT.sub("", text)
        if re.search(r"^(?:import|export)\b", text, re.MULTILINE):
            raise ValueError(f"an import or export that is not understood: {path.name}")
        name = f"module{len(pieces)}_{re.sub(r'[^a-z]', '', path.stem)}"
        pieces.append(f'const {name} = (() => {{\n"use strict";\n{text}return {{ {exported} }};\n}})();\n')
        names[path] = name
        return name

    add(entry.resolve())
    return "".join(pieces)


def policy(script: str, style: str, *, further: str = "") -> str:
    """The Content-Security-Policy of a page: its own script and style by their hashes, and nothing from anywhere."""
    rules = ["default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}", "img-src data:"]
    return "; ".join([*rules, "base-uri 'none'"]) + further


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
