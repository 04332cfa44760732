"""The files of a candidate where a reader can open them: as they lie, or copied from a bucket while they are read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from stepscope.core.errors import InputError
from stepscope.fleet import buckets
from stepscope.source.candidates import Candidate
from stepscope.source.listing import Listed
from stepscope.source.trainer_records import STEPS

# What a folder of one run holds beside its log (spans, an exit code, a ledger) is fetched up to these limits.
_MOST_BESIDE, _MOST_BESIDE_BYTES = 4096, 4 << 30


@contextmanager
def at_hand(candidate: Candidate) -> Iterator[tuple[Candidate, dict[str, Listed]]]:
    """The candidate with paths that can be opened here, and by these paths what was listed.

    Of a bucket, one candidate at a time is on this machine's disk.
    """
    if not buckets.is_bucket(candidate.folder):
        yield candidate, {file.uri: file for file in candidate.files}
        return
    with tempfile.TemporaryDirectory(prefix="stepscope-") as root:
        here: dict[str, Listed] = {}
        for file in candidate.files:
            path = _path(Path(root), candidate.folder, file.uri)
            buckets.fetch(file, path)
            here[str(path)] = file
        if candidate.kind == "recorded" or any(file.uri.endswith(f"/{STEPS}") for file in candidate.files):
            _fetch_beside(candidate, Path(root))
        files = tuple(file._replace(uri=path) for path, file in here.items())
        yield candidate._replace(folder=root, files=files), here


def _fetch_beside(candidate: Candidate, root: Path) -> None:
    """What else the folder holds, as far as it is one run's."""
    num_bytes = 0
    known = {file.uri for file in candidate.files}
    for file in islice(buckets.objects(candidate.folder), _MOST_BESIDE):
        num_bytes += file.size
        if num_bytes <= _MOST_BESIDE_BYTES and file.uri not in known:
            buckets.fetch(file, _path(root, candidate.folder, file.uri))


def _path(root: Path, folder: str, uri: str) -> Path:
    """Where a file goes: below the root, whatever its key says."""
    parts = uri[len(folder) + 1 :].split("/")
    if any(part in {"", ".", ".."} or "\0" in part or "\\" in part for part in parts):
        raise InputError("no-such-object", place=uri)
    return root.joinpath(*parts)
