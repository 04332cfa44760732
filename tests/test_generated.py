"""Generated documentation cannot drift from the code."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.conftest import ROOT


def test_generated_files_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "gen.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # a line of a log may look like a link
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
