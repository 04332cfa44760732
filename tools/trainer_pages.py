"""The generated parts of `docs/trainers`: the clock of each format, and sample lines of each kind that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stepscope.lines.format import Format

_KINDS = {"step": "iteration", "evaluation": "evaluation", "checkpoint": "checkpoint", "data": "wait for data"}
_BLOCK = re.compile(r"(<!-- format:(?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MOST_CHARS = 110


def trainer_pages(folder: Path, formats: Mapping[str, Format], words: Mapping[str, str]) -> dict[Path, str]:
    """Every page of the folder with its generated parts; `words` has the clock of each format in words."""
    pages = {}
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        pages[path] = _BLOCK.sub(lambda found: found[1] + _block(formats[found["name"]], words) + found[3], text)
    index = folder / "README.md"
    rows = (
        "\n| trainer | its log's clock |\n|---|---|\n"
        + "".join(_row(path, text, words) for path, text in pages.items() if path != index)
        + "\n"
    )
    listed = re.compile(r"(<!-- trainers -->\n).*?(<!-- end -->)", re.DOTALL)
    pages[index] = listed.sub(lambda found: found[1] + rows + found[2], pages[index])
    return pages


def _block(fmt: Format, words: Mapping[str, str]) -> str:
    lines = [f"**[{fmt.title}](../formats/{fmt.name}.md)**: {words[fmt.name]}. {fmt.clock.note}", ""]
    lines += ["| line | example |", "|---|---|"]
    seen = set()
    for sample in fmt.samples:
        if sample.kind in _KINDS and sample.kind not in seen:
            seen.add(sample.kind)
            lines.append(f"| {_KINDS[sample.kind]} | `{_short(sample.text)}` |")
    return "\n".join(lines) + "\n" if seen else lines[0] + "\n"


def _short(text: str) -> str:
    text = " ".join(text.split())
    text = text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + "…"
    return text.replace("|", "\\|").replace("`", "'")


def _row(path: Path, text: str, words: Mapping[str, str]) -> str:
    title = text.partition("\n")[0].removeprefix("# ")
    found = _BLOCK.search(text)
    assert found is not None, path
    return f"| [{title}]({path.name}) | {words[found['name']]} |\n"
