"""Write the generated parts of the documentation from the code that they describe.

python tools/gen.py            writes them
python tools/gen.py --check    fails when one is out of date (a test and CI run this)
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import accuracy_chart
import cldr
import constants
from api_page import api_page
from shot import annotated_picture, live_picture, picture
from stepscope import advice, alarms, audit, causes
from stepscope.catalogue.detect import TELLING, catalogue, work_out_order
from stepscope.cli import COMMANDS
from stepscope.cli import main as stepscope
from stepscope.lines.format import Format
from stepscope.lines.sieve import needs_of
from stepscope.plan.gpus import GPUS
from stepscope.report.documents import kinds, schema
from trainer_pages import trainer_pages

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = "<!-- made by tools/gen.py: change the code it describes, then run it -->\n\n"


def format_page(fmt: Format) -> str:
    lines = [f"# {fmt.title}", "", f"<{fmt.url}>", "", inspect.cleandoc(_module_doc(fmt)), ""]
    lines += ["## What its time figure means", "", fmt.clock.note, ""]
    lines.append(f"In short: {clock_in_words(fmt)}.")
    lines += ["", "## Lines it recognises", "", "| kind | sample | values |", "|---|---|---|"]
    for sample in fmt.samples:
        kind = sample.kind or "*not claimed*"
        values = ", ".join(f"{name} = {value}" for name, value in sample.values.items())
        lines.append(f"| {kind} | `{sample.text.replace('|', chr(92) + '|')}` | {values} |")
    return "\n".join(lines) + "\n"


def _module_doc(fmt: Format) -> str:
    import importlib

    return importlib.import_module(f"stepscope.formats.{fmt.name}").__doc__ or ""


def rules_page() -> str:
    lines = ["# Causes, advice, alarms and checks", "", "`stepscope doc CODE` prints one of these.", ""]
    catalogues = {"Causes": causes, "Advice": advice, "Alarms": alarms, "Checks of the reading": audit}
    for title, rules in ((title, package.rules()) for title, package in catalogues.items()):
        lines += [f"## {title}", ""]
        for module in rules.values():
            head, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n")
            lines += [f"### {head}", ""]
            for block in rest.strip().split("\n\n"):
                name, _, body = block.partition("\n")
                lines += [f"**{name}** " + " ".join(line.strip() for line in body.splitlines()), ""]
    return "\n".join(lines).rstrip() + "\n"


def help_page() -> str:
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    lines = ["# The command line", ""]
    for command in ((), *((name,) for name in COMMANDS)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            stepscope([*command, "--help"])
        lines += [f"## stepscope {' '.join(command)}".rstrip(), "", "```", out.getvalue().strip(), "```", ""]
    return "\n".join(lines)


def json_page() -> str:
    """`docs/json.md`: every key of every document, from the schemas."""
    lines = [
        "# The JSON documents",
        "",
        "What `--format json` prints, key by key. `stepscope schema NAME` prints the JSON Schema (draft 2020-12) that "
        "these tables are made from. Times are seconds, sizes bytes; null is unknown, never 0. Keys are added, never "
        "renamed, so a program should pass over keys that it does not know.",
        "",
    ]
    for kind in kinds():
        own = schema(kind)
        lines += [f"## {own['title']}", "", f"`{own['$id']}`: {own['description']}", ""]
        lines += ["| key | type | meaning |", "|---|---|---|", *_key_rows(own, own, ""), ""]
    return "\n".join(lines).rstrip() + "\n"


def _key_rows(part: dict[str, Any], whole: dict[str, Any], prefix: str) -> Iterator[str]:
    """A row for each key of an object and of what lies in it."""
    for name, value in part.get("properties", {}).items():
        options = [_followed(option, whole) for option in value.get("anyOf", [value])]
        about = value.get("description") or options[0].get("description", "")
        kinds_of = " or ".join(dict.fromkeys(_type_in_words(option, whole) for option in options))
        yield f"| `{prefix}{name}` | {kinds_of} | {about.replace('|', chr(92) + '|')} |"
        for option in options:
            is_list = "items" in option
            inner = _followed(option["items"], whole) if is_list else option
            below = f"{prefix}{name}{'[]' if is_list else ''}."
            yield from _key_rows(inner, whole, below)
            if isinstance(inner.get("additionalProperties"), dict):
                yield from _key_rows(_followed(inner["additionalProperties"], whole), whole, f"{below}*.")


def _followed(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = whole["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return found


def _type_in_words(part: dict[str, Any], whole: dict[str, Any]) -> str:
    if "enum" in part:
        return ", ".join("null" if value is None else f"`{value}`" for value in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    found = part.get("type", "")
    words = " or ".join(found) if isinstance(found, list) else str(found)
    if "items" in part:
        inner = _followed(part["items"], whole)
        words += f" of {'values' if 'enum' in inner else _type_in_words(inner, whole)}"
    return words


def cards_page() -> str:
    lines = [
        "# GPUs",
        "",
        "What `stepscope plan`, `--gpu` and the MFU of a report count with. TFLOPS are those of 16-bit inputs with "
        "32-bit accumulation, dense: what training uses, and on GeForce GPUs half of what is advertised. The rate is "
        "units × operations per clock and unit × boost clock; a test holds each figure against that. *Compared* rates "
        "agree with a published one as well, the others rest on units and clock alone. *Reached* is the share that "
        "large matrix products get in public measurements. *Source* names for units, clock, memory and power.",
        "",
        "| GPU | TFLOPS | units × operations × MHz | GB/s | GB | W | bf16 | reached | compared | source |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for card in GPUS:
        lines.append(
            f"| {card.name} | {card.tflops:g} | {card.units} × {card.ops} × {card.mhz} | {card.gbps:g} | {card.gb:g} | "
            f"{card.watts:g} | {'yes' if card.has_bf16 else 'emulated'} | {card.reaches:.0%} | "
            f"{'yes' if card.is_compared else 'no'} | {card.source} |"
        )
    return "\n".join(lines) + "\n"


COVERS = {
    "step": "one step",
    "window": "the mean of the steps since the last line",
    "cumulative": "a running clock",
    "stamp": "the timestamps of its lines",
}


def clock_in_words(fmt: Format) -> str:
    """What the figure covers, and whether an evaluation and a save are inside it."""
    if not fmt.is_timed:
        return "none: steps only"
    stops = [phase for phase in ("evaluation", "checkpoint") if fmt.clock.runs_during(phase)]
    inside = " and ".join(stops) + " inside" if stops else "evaluation and checkpoint outside"
    return COVERS[fmt.clock.covers] if fmt.clock.is_wall else f"{COVERS[fmt.clock.covers]}; {inside}"


def formats_page() -> str:
    """`docs/formats/README.md`: every format, with a link to its page."""
    lines = [
        "# Formats",
        "",
        f"The {len(catalogue())} log formats of the catalogue, and what the time figure of each covers. "
        "`stepscope formats` lists them, `stepscope formats show NAME` prints a page, and `stepscope formats try LOG` "
        "says which of them reads a log. [Any other log](../unknown-logs.md) is read by its structure.",
        "",
        "| format | where it comes from | its time figure |",
        "|---|---|---|",
    ]
    for fmt in sorted(catalogue(), key=lambda fmt: fmt.title.lower()):
        lines.append(f"| [{fmt.title}]({fmt.name}.md) | <{fmt.url}> | {clock_in_words(fmt)} |")
    return "\n".join(lines) + "\n"


# The formats that the README names; the others are on the page of formats.
WELL_KNOWN = (
    "nanogpt",
    "hf_trainer",
    "lightning_bar",
    "keras",
    "megatron",
    "deepspeed",
    "torchtitan",
    "ultralytics",
    "tfevents",
    "wandb_history",
)


def readme(text: str) -> str:
    """The README with its well-known formats, and the number of the others, brought up to date."""
    by_name = {fmt.name: fmt for fmt in catalogue()}
    links = ", ".join(f"[{by_name[name].title}](docs/formats/{name}.md)" for name in WELL_KNOWN)
    others = f"[{len(by_name) - len(WELL_KNOWN)} more](docs/formats/README.md)"
    begin, end = "<!-- formats:begin -->", "<!-- formats:end -->"
    return re.sub(f"{begin}.*{end}", f"{begin}\nReads {links}, and {others}.\n{end}", text, flags=re.DOTALL)


def order_module() -> str:
    """`catalogue/order.py`: which format to ask first, and the words that give each away."""
    lines = [
        '"""Made by tools/gen.py from the samples of the formats: see `detect.py`."""',
        "",
        "ORDER: list[tuple[str, list[str]]] = [",
    ]
    for name, words in work_out_order():
        listed = ", ".join(json.dumps(word) for word in words)
        one = f'    ("{name}", [{listed}]),'
        if len(one) <= 120:
            lines.append(one)
        else:
            lines += [
                "    (",
                f'        "{name}",',
                "        [",
                *(f"            {json.dumps(word)}," for word in words),
                "        ],",
                "    ),",
            ]
    return "\n".join([*lines, "]"]) + "\n"


def line_words_module() -> str:
    """`catalogue/line_words.py`: of each line of each format, sets of words of which every match contains one each.

    And which of the lines say something about the trainer.
    """
    lines = [
        '"""Made by tools/gen.py from the patterns of the formats: see `detect.py`."""',
        "",
        "# ruff: noqa: E501",
        "# fmt: off",
        "LINE_WORDS: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {",
    ]
    for fmt in sorted(catalogue(), key=lambda fmt: fmt.name):
        if fmt.document is None:
            words = tuple(needs_of(line.pattern) for line in fmt.lines)
            lines.append(f"    {fmt.name!r}: {words!r},")
    lines += ["}", "", "TELLING_LINES: dict[str, tuple[int, ...]] = {"]
    for fmt in sorted(catalogue(), key=lambda fmt: fmt.name):
        if fmt.document is None:
            telling = tuple(index for index, line in enumerate(fmt.lines) if line.kind in TELLING)
            lines.append(f"    {fmt.name!r}: {telling!r},")
    return "\n".join([*lines, "}"]) + "\n"


def wanted() -> dict[Path, str]:
    os.environ["TZ"] = "UTC"
    time.tzset()
    pages = {DOCS / "formats" / f"{fmt.name}.md": MADE + format_page(fmt) for fmt in catalogue()}
    pages[ROOT / "src" / "stepscope" / "catalogue" / "order.py"] = order_module()
    pages[ROOT / "src" / "stepscope" / "catalogue" / "line_words.py"] = line_words_module()
    table = ROOT / "src" / "stepscope" / "i18n" / "cldr.py"
    mark = "# made by tools/gen.py\n"
    pages[table] = table.read_text(encoding="utf-8").partition(mark)[0] + mark + cldr.module()
    pages[DOCS / "formats" / "README.md"] = MADE + formats_page()
    pages[DOCS / "constants.md"] = MADE + constants.page()
    pages[DOCS / "rules.md"] = MADE + rules_page()
    pages[DOCS / "cards.md"] = MADE + cards_page()
    pages[DOCS / "cli.md"] = MADE + help_page()
    pages[DOCS / "json.md"] = MADE + json_page()
    pages[DOCS / "python.md"] = MADE + api_page()
    words = {fmt.name: clock_in_words(fmt) for fmt in catalogue()}
    pages |= trainer_pages(DOCS / "trainers", {fmt.name: fmt for fmt in catalogue()}, words)
    pages[DOCS / "demo.svg"] = picture()
    pages[DOCS / "report.svg"] = annotated_picture()
    pages[DOCS / "accuracy.svg"] = accuracy_chart.chart((DOCS / "accuracy.md").read_text(encoding="utf-8"))
    pages[DOCS / "live.svg"] = live_picture()
    pages[ROOT / "README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"))
    return pages


def main() -> int:
    stale = []
    for path, text in wanted().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT))
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print("out of date: " + ", ".join(map(str, stale)) + "\n  try: make docs", file=sys.stderr)
        return 1
    print(f"{'checked' if '--check' in sys.argv else 'written'}: {len(stale) or 'all up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
