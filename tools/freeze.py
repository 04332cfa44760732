"""What Stepscope says of every log below some folders, kept and compared: a refactoring must change none of it.

    python tools/freeze.py /tmp/before FOLDER…                   keep
    python tools/freeze.py /tmp/before FOLDER… --compare                          run again and compare

Each file is explained by itself, in one process, at a fixed moment and in a fixed time zone.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

_NOW = "2026-01-02T03:04:05+00:00"
_MAX_SHOWN = 12
# The JSON holds every figure; the others hold the words, and `advise` and `why` what no JSON key has.
_ASKED: tuple[tuple[str, ...], ...] = (
    ("explain", "--format", "json"),
    ("explain", "--format", "terminal", "--lang", "en"),
    ("explain", "--format", "note", "--lang", "de"),
    ("explain", "--format", "markdown", "--lang", "es"),
    ("explain", "--format", "html", "--lang", "fr"),
    ("advise", "--lang", "es"),
    ("why", "STEP", "--lang", "en"),
    ("eta", "--lang", "en"),
)
_IGNORED = frozenset({".py", ".md", ".png"})


def say(log: Path) -> str:
    """Everything that is asked of one log, one answer after the other."""
    from stepscope.cli import main

    answers: list[str] = []
    step = "0"
    for command, *words in _ASKED:
        rest = [step if word == "STEP" else word for word in words]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([command, log.name, *rest, "--now", _NOW])
            except SystemExit as leaving:
                code = int(leaving.code or 0)
        if not answers and code == 0:
            slow = json.loads(out.getvalue())["slow"]
            step = str(slow[0]["step"]) if slow else step
        answers.append(f"$ {command} {' '.join(rest)}\n{out.getvalue()}{err.getvalue()}exit {code}\n")
    return "\n".join(answers)


def _one(task: tuple[Path, Path, bool]) -> tuple[Path, bool, str]:
    """Explain one log and keep the answer, or compare it with the one that was kept."""
    log, kept, is_comparison = task
    os.chdir(log.parent)
    text = say(log)
    if not is_comparison:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
        return log, True, ""
    before = kept.read_text(encoding="utf-8")
    if before == text:
        return log, True, ""
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "before", "after", lineterm="", n=0)
    return log, False, "\n".join(line[:300] for line in list(lines)[:_MAX_SHOWN])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path, help="folder for the answers")
    parser.add_argument("folders", type=Path, nargs="+", help="folders of logs")
    parser.add_argument("--compare", action="store_true", help="compare with the answers that were kept")
    args = parser.parse_args()
    os.environ |= {"TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": os.devnull}
    time.tzset()
    tasks = [
        (log.resolve(), args.kept.resolve() / folder.name / f"{log.relative_to(folder)}.txt", args.compare)
        for folder in args.folders
        for log in sorted(folder.rglob("*"))
        if log.is_file() and log.suffix not in _IGNORED
    ]
    num_changed = 0
    with multiprocessing.Pool() as pool:
        for done, (log, is_same, text) in enumerate(pool.imap(_one, tasks, chunksize=1), 1):
            if not is_same:
                num_changed += 1
                print(f"{log}\n{text}\n")
            if sys.stderr.isatty():
                print(f"\r{done} of {len(tasks)}", end="", file=sys.stderr)
    print(f"{len(tasks)} logs, {num_changed} changed" if args.compare else f"{len(tasks)} logs kept in {args.kept}")
    return int(num_changed > 0)


if __name__ == "__main__":
    sys.exit(main())
