"""What a log's first lines say of its job: Slurm's environment, where it is printed, and the commit of the code.

Only what is written there. A number of tasks is no number of GPUs, so none is made of it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from stepscope.core.redact import redact
from stepscope.fleet.tables import Row

HEADER_BYTES = 1 << 16
_SLURM = re.compile(r"""\b(SLURMD?_\w+)\b["']?[ \t]*[=:][ \t]*["']?([^\s"';]+)""")
_COMMIT = re.compile(
    r"""(?im)\b(?:git[ _-]?(?:commit|sha1?|hash|rev(?:ision)?)|commit(?:[ _-](?:hash|id|sha))?)"""
    r"""(?:[ _-](?:hash|id|sha))?["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{7,40})\b"""
)
# A name of at most 255 characters, as systems allow; the numbers of a list are as many as fit into one.
_LIST = re.compile(r"([^,\[\]]{1,255}+)(?:\[([\d,-]{1,4000}+)\]([^,\[\]]{0,255}+))?(?:,|$)")
_DEFAULT_NAME = re.compile(r"(?:^|/)slurm-(\d{1,12})(?:_\d{1,9})?\.(?:out|log|err)$")
_MOST_HOSTS = 20_000
# Enough of a hash to be the only one of its repository; whole ones look like keys and would be masked.
SHORT_COMMIT = 12
_EARLIEST_S, _LATEST_S = 1e9, 9.2e9


def header_facts(head: bytes, uri: str) -> Row:
    """The facts that a log's first bytes state; those that they do not are left out."""
    text = head[:HEADER_BYTES].decode("utf-8", "replace")
    found = slurm_facts(dict(_SLURM.findall(text))) if "SLURM" in text else {}
    commit = _COMMIT.search(text)
    if commit:
        found["commit"] = commit[1].lower()[:SHORT_COMMIT]
    # Slurm's own name for the output of a job, where nothing else was asked for.
    name = _DEFAULT_NAME.search(uri)
    if name:
        found.setdefault("job_id", name[1])
    return found


def slurm_facts(environment: Mapping[str, str]) -> Row:
    """The facts in the variables that Slurm sets for a job."""
    names = {"job_id": "SLURM_JOB_ID", "user": "SLURM_JOB_USER", "project": "SLURM_JOB_ACCOUNT"}
    found: Row = {fact: redact(environment[name], 80) for fact, name in names.items() if environment.get(name)}
    hosts = hosts_of(environment.get("SLURM_JOB_NODELIST", "") or environment.get("SLURMD_NODENAME", ""))
    if hosts:
        found["hosts"] = hosts
    devices = _devices(environment)
    if devices:
        found["devices"] = devices
    end = environment.get("SLURM_JOB_END_TIME", "")
    if re.fullmatch(r"\d{10}", end) and _EARLIEST_S < float(end) < _LATEST_S:
        found["wall_limit_at"] = dt.datetime.fromtimestamp(float(end), dt.UTC)
    return found


def hosts_of(text: str) -> list[str]:
    """The hosts of a Slurm node list, such as `gpu[01-03,07],login1`; none where it is no such list."""
    found: list[str] = []
    for before, ranges, after in _LIST.findall(text):
        for part in ranges.split(",") if ranges else [""]:
            first, _, last = part.partition("-")
            numbers = range(int(first), int(last or first) + 1) if first.isdigit() else [None]
            if len(numbers) + len(found) > _MOST_HOSTS:
                return []
            found += [f"{before}{'' if one is None else str(one).zfill(len(first))}{after}" for one in numbers]
    return [redact(host, 80) for host in dict.fromkeys(found)]


def _devices(environment: Mapping[str, str]) -> float | None:
    """The GPUs of the whole job: their number, or those of each node times the nodes."""
    total = _count(environment.get("SLURM_GPUS"))
    if total is not None:
        return total
    each, nodes = _count(environment.get("SLURM_GPUS_ON_NODE")), _count(environment.get("SLURM_NNODES"))
    return each * nodes if each and nodes else None


def _count(text: str | None) -> float | None:
    """A number, also with what it counts before it: `8`, `a100:8`."""
    found = re.fullmatch(r"(?:[\w.-]+:)?(\d{1,6})", text or "")
    return float(found[1]) if found and int(found[1]) else None
