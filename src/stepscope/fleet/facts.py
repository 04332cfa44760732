"""Facts that logs rarely hold, stated when a report is asked for: who ran it, on how many GPUs, where, of which commit.

They are joined to the runs of a store, so that nothing is read again. A table says more than a pattern on the path, a
pattern more than Slurm's accounts, and all of them more than the log. Nothing is guessed.
"""

from __future__ import annotations

import csv
import datetime as dt
import fnmatch
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stepscope.core.boundary import open_file
from stepscope.core.errors import InputError, UsageError
from stepscope.core.redact import redact
from stepscope.fleet.header_facts import SHORT_COMMIT, hosts_of
from stepscope.fleet.tables import Row

# What may be stated of a run.
FACTS = ("devices", "hosts", "gpu", "user", "project", "commit", "job_id", "price", "wall_limit_at")
_MOST_BYTES = 1 << 30
_HOLE = re.compile(r"\\\{(\w+)\\\}")
_UNLIMITED = frozenset({"UNLIMITED", "Partition_Limit", ""})


class Facts(NamedTuple):
    """Everything that was stated, by the job's number or by the path of a log."""

    by_job: dict[str, Row]
    by_path: dict[str, Row]
    by_glob: tuple[tuple[re.Pattern[str], Row], ...]
    patterns: tuple[re.Pattern[str], ...]

    def of(self, uri: str, job_id: str | None) -> Row:
        """The facts stated of a run: a later line overrules an earlier one."""
        found: Row = {}
        for pattern in self.patterns:
            match = pattern.search(uri)
            if match:
                found |= {name: _value(name, text) for name, text in match.groupdict().items()}
        for glob, row in self.by_glob:
            if glob.fullmatch(uri):
                found |= row
        found |= self.by_path.get(uri, {})
        job = self.by_job.get(str(found.get("job_id") or job_id or ""), {})
        return {name: value for name, value in {**job, **found}.items() if value is not None}


def read_facts(sacct: Iterable[str] = (), tables: Iterable[str] = (), patterns: Iterable[str] = ()) -> Facts:
    """The facts in the output of `sacct`, in tables and in patterns on the path."""
    by_job: dict[str, Row] = {}
    for place in sacct:
        by_job |= _sacct(place)
    by_path: dict[str, Row] = {}
    by_glob: list[tuple[re.Pattern[str], Row]] = []
    for place in tables:
        for key, row in _table(place):
            by_path[key] = by_path.get(key, {}) | row
            if any(mark in key for mark in "*?["):
                by_glob.append((re.compile(fnmatch.translate(key)), row))
    return Facts(by_job, by_path, tuple(by_glob), tuple(path_pattern(text) for text in patterns))


def path_pattern(text: str) -> re.Pattern[str]:
    """A pattern on the end of a path: `{user}/{project}/*`; `*` is part of a name, `**` any folders."""
    pattern = _HOLE.sub(lambda hole: f"(?P<{hole[1]}>[^/]+)", re.escape(text))
    pattern = pattern.replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    try:
        made = re.compile(("^" if text.startswith("/") else "(?:^|/)") + pattern + "$")
    except re.error:
        raise UsageError("fleet-bad-pattern", place=f"--path-pattern {text}") from None
    if not made.groupindex or not made.groupindex.keys() <= set(FACTS):
        raise UsageError("fleet-bad-pattern", place=f"--path-pattern {text}")
    return made


def _value(name: str, text: str | None) -> object:
    """A fact as its column has it; None where the text says nothing of it."""
    text = (text or "").strip()
    if not text:
        return None
    if name in {"devices", "price"}:
        try:
            number = float(text)
        except ValueError:
            return None
        return number if 0 < number < 1e9 else None
    if name == "hosts":
        return hosts_of(text.replace(" ", ",").replace(";", ",")) or None
    if name == "wall_limit_at":
        return _moment(text)
    return text.lower()[:SHORT_COMMIT] if name == "commit" and re.fullmatch("[0-9a-fA-F]+", text) else redact(text, 80)


def _moment(text: str) -> dt.datetime | None:
    """A moment in ISO 8601; without an offset, in this machine's time zone, as Slurm prints it."""
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def _table(place: str) -> Iterator[tuple[str, Row]]:
    """A table with a column `path` (or `uri`, or a pattern with `*`) and one for each fact."""
    lines = _lines(place)
    reader = csv.DictReader(lines)
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    key = next((name for name in ("path", "uri", "pattern") if name in names), None)
    known = [name for name in names if name in FACTS]
    if key is None or not known:
        raise InputError("fleet-bad-facts", place=place, columns=", ".join(("path", *FACTS)))
    reader.fieldnames = names
    for row in reader:
        if row.get(key):
            yield (
                row[key].strip(),
                {name: value for name in known if (value := _value(name, row.get(name))) is not None},
            )


def _sacct(place: str) -> dict[str, Row]:
    """The jobs in the output of `sacct --parsable2` (or `--parsable`), its steps left out."""
    reader = csv.DictReader(_lines(place), delimiter="|", quoting=csv.QUOTE_NONE)
    names = reader.fieldnames or ()
    if "JobID" not in names and "JobIDRaw" not in names:
        raise InputError("fleet-bad-sacct", place=place)
    found: dict[str, Row] = {}
    for row in reader:
        for name in ("JobID", "JobIDRaw"):
            number = row.get(name) or ""
            if re.fullmatch(r"\d+(?:_\d+)?", number):
                found[number] = _job(row)
    return found


def _job(row: dict[str, str]) -> Row:
    """The facts of a job in Slurm's accounts."""
    held = next((text for name in ("AllocTRES", "ReqTRES") if "gres/gpu" in (text := row.get(name) or "")), "")
    counts = [int(count) for count in re.findall(r"gres/gpu(?::[^=,]+)?=(\d{1,6})", held)]
    kinds = re.findall(r"gres/gpu:([^=,]+)=", held)
    hosts = row.get("NodeList") or ""
    found: Row = {
        # The total is there besides the number of each kind.
        "devices": float(max(counts)) if any(counts) else None,
        "hosts": None if hosts == "None assigned" else hosts_of(hosts) or None,
        "gpu": kinds[0] if len(kinds) == 1 else None,
        "user": _value("user", row.get("User")),
        "project": _value("project", row.get("Account")),
        "wall_limit_at": _limit(row.get("Start") or "", row.get("Timelimit") or ""),
    }
    return {name: value for name, value in found.items() if value is not None}


def _limit(start: str, limit: str) -> dt.datetime | None:
    """When a job is ended: its start and its limit, `[days-]hours:minutes:seconds`."""
    began = _moment(start)
    found = re.fullmatch(r"(?:(\d{1,4})-)?(\d{1,4}):(\d\d):(\d\d)", limit)
    if began is None or limit in _UNLIMITED or found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return began + dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _lines(place: str) -> list[str]:
    try:
        with open_file(Path(place)) as file:
            data: bytes = file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise InputError("no-such-file", place=place, nearby="none") from None
    except OSError as problem:
        raise InputError("unreadable", place=place, reason=problem.strerror or str(problem)) from None
    return data.decode("utf-8-sig", "replace").splitlines()
