"""Pages out of templates: everything that is put into one is escaped unless a template made it.

The app renders its own pages with the same components: `render` takes further folders to look in.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.i18n import Language

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
_NUMBER_UNIT = re.compile(r"(?<=\d) (?=(?:µs|ms|s|min|h|d|j|%|[kMG]|GiB|MiB|Gio|Mio|W|°C)(?!\w))")

_FLAG = re.compile(r"(?<!\S)--[a-z][\w-]*(?:=\S+| [A-Z]+\b)?")


@cache
def environment(*folders: Path) -> Environment:
    """The templates below the folders and our own; a name that is not there is an error, never an empty string."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    found = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )

    @pass_context
    def glued(context: Context, text: str) -> Markup:
        return glue(text, context.get("links"))

    found.filters["glue"] = glued
    return found


def glue(text: str, links: LineLinks | None = None) -> Markup:
    """A sentence with its numbers on the line of their units, and with command-line flags in one piece.

    Where `links` are known, the lines of the log that it names lead to them.
    """
    from markupsafe import Markup, escape

    found = str(escape(_NUMBER_UNIT.sub("\N{NO-BREAK SPACE}", text)))
    found = _FLAG.sub(r'<span class="whole">\g<0></span>', found)
    return Markup(links.into(found) if links is not None else found)


class LineLinks:
    """Turns “line 23” into a link, in one language, where the page has that line."""

    def __init__(self, kept: set[int], language: Language) -> None:
        before, _, after = language.text("alarm-line", line=1).partition("1")
        number = r"(\d{1,3}(?:[.,\N{NARROW NO-BREAK SPACE}\N{NO-BREAK SPACE}]\d{3})+|\d+)"
        self._pattern = re.compile(rf"\b{re.escape(before)}{number}(?!\d){re.escape(after)}", re.IGNORECASE)
        self._kept = kept

    def into(self, text: str) -> str:
        """The same text, which is markup already, with its links."""
        return self._pattern.sub(self._link, text)

    def _link(self, found: re.Match[str]) -> str:
        line = int(re.sub(r"\D", "", found[1]))
        return f'<a href="#line-{line}">{found[0]}</a>' if line in self._kept else found[0]


def render(name: str, language: Language, *, folders: tuple[Path, ...] = (), **values: Any) -> Markup:
    """A template as markup; `t` is the text of a message in it, `language` writes its numbers."""
    from markupsafe import Markup

    template, language = environment(*folders).get_template(name), language.unbroken()
    return Markup(template.render(language=language, t=language.text, **values))


def component(name: str, *args: Any, **values: Any) -> Markup:
    """One macro of `components.html`, for a page that is put together in Python."""
    made: Markup = getattr(environment().get_template("components.html").module, name)(*args, **values)
    return made
