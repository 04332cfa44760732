"""Which of a folder's files may be one run, by their names alone: a candidate is the least that is read together.

What a candidate really holds, one run or several, is decided where it is read (`reading/files.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from stepscope import __version__
from stepscope.source.listing import Listed, Listing
from stepscope.source.recording import LOG, STAMPS
from stepscope.source.trainer_records import STEPS

Kind = Literal["folder", "group", "mlflow", "recorded"]

# A folder with more files than this is a collection: only names that say so join its files.
_MOST_TOGETHER = 64
_COMPRESSED = re.compile(r"\.(?:gz|xz|zst|bz2)$")
_ROTATED = re.compile(r"\.\d{1,4}$")
_COUNTED = re.compile(
    r"(?i)(?<![a-z])(rank|local_rank|worker|proc|process|attempt|part|restart|resume|retry|segment)([-_.]?)\d{1,5}"
)
_UNTIDY = re.compile(r"//|/\.?(?:/|$)")
_NUMBER_FOLDER = re.compile(r"(?<=/)\d{1,5}(?=/)")
# Of everything that the worker versions make of a file: rows of another version are not the same answer.
_VERSION = f"{__version__}/3"


class Candidate(NamedTuple):
    """Files that may be one run.

    key
        Names the candidate, whatever its files hold.
    digest
        Changes when any of its files does, or what we make of them.
    """

    folder: str
    files: tuple[Listed, ...]
    kind: Kind
    key: int
    digest: int

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)


def candidates(listing: Listing) -> Iterator[Candidate]:
    """The candidates of one folder."""
    if listing.is_mlflow:
        yield _candidate(listing.folder, listing.files, "mlflow")
        return
    names = {file.uri.rpartition("/")[2] for file in listing.files}
    if {LOG, STAMPS} <= names:
        kept = tuple(file for file in listing.files if file.uri.rpartition("/")[2] in {LOG, STAMPS})
        yield _candidate(listing.folder, kept, "recorded")
        return
    exact = [file for file in listing.files if file.uri.endswith((f"/{STEPS}", ".wandb"))]
    if exact:
        # Its other files say the same with less.
        for file in exact:
            yield _candidate(listing.folder, (file,), "group")
        return
    if len(listing.files) <= _MOST_TOGETHER:
        yield _candidate(listing.folder, listing.files, "folder" if len(listing.files) > 1 else "group")
        return
    groups: dict[str, list[Listed]] = {}
    for file in listing.files:
        groups.setdefault(_pattern(file.uri[len(listing.folder) :]), []).append(file)
    for files in groups.values():
        yield _candidate(listing.folder, tuple(files), "group")


def _candidate(folder: str, files: tuple[Listed, ...], kind: Kind) -> Candidate:
    # The folder's own list of files may change; a group is known by what its names have in common.
    name = folder if kind != "group" else folder + "\0" + _pattern(files[0].uri[len(folder) :])
    parts = [_VERSION, kind, *(part for file in files for part in (file.uri, file.version))]
    return Candidate(folder, files, kind, number_of(name), number_of("\0".join(parts)))


def _pattern(name: str) -> str:
    """A name without what tells ranks and parts of one run apart; unique where nothing does."""
    name = str(PurePosixPath(name)) if _UNTIDY.search(name) else name
    name = _ROTATED.sub("", _COMPRESSED.sub("", name))
    return _NUMBER_FOLDER.sub("#", _COUNTED.sub(r"\1\2#", name))


def number_of(text: str) -> int:
    """A number of 63 bits made from a text."""
    found = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> 1
