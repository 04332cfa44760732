"""The README as the package index shows it: its links and pictures lead to the repository, at the tag of this version.

Everything else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

REPOSITORY = "github.com/stepscope/stepscope"
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]\n]*)\]\((?!https?://|#)(?P<target>[^)\s]+)\)")


def absolute(text: str, version: str) -> str:
    """The text with every relative link made absolute."""

    def lead(found: re.Match[str]) -> str:
        raw = f"https://raw.{REPOSITORY.replace('github.com', 'githubusercontent.com')}/v{version}"
        where = raw if found["picture"] else f"https://{REPOSITORY}/blob/v{version}"
        return f"{found['picture']}[{found['text']}]({where}/{found['target']})"

    return _LINK.sub(lead, text)


if __name__ == "__main__":
    here = Path(__file__).parent
    source = (here / "src" / "stepscope" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)[1]
    readme = (here / "README.md").read_text(encoding="utf-8")
    setup(long_description=absolute(readme, version), long_description_content_type="text/markdown")
