"""Hold the installed packages against the known vulnerabilities, with pip-audit; `make audit`.

    python tools/audit.py

Exit codes: 0 none known, 1 some are, 2 nobody could be asked. pip-audit itself returns 0 where the registry knows none
of the packages, as mirrors do: here that is "not checked".
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_OWN = "stepscope"
_COMMAND = ("-m", "pip_audit", "--local", "--format", "json", "--progress-spinner", "off")


def verdict(document: dict[str, Any]) -> tuple[int, str]:
    """The exit code, and what to print, for what pip-audit found."""
    packages = [found for found in document.get("dependencies", []) if found["name"] != _OWN]
    asked = [found for found in packages if "skip_reason" not in found]
    bad = [
        f"{found['name']} {found['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version'}"
        for found in asked
        for flaw in found["vulns"]
    ]
    if bad:
        return 1, "\n".join(bad)
    if len(asked) < len(packages) or not packages:
        return (
            2,
            f"not checked: {len(packages) - len(asked)} of {len(packages)} packages, the registry knows no advisories",
        )
    return 0, f"{len(asked)} packages, no known vulnerability"


def main() -> int:
    """Ask, and print the verdict."""
    done = subprocess.run([sys.executable, *_COMMAND], capture_output=True, text=True, check=False)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"not checked: {reason}")
        return 2
    code, text = verdict(document)
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
