"""The ends of logs that no file of this machine holds: an object that is uploaded again, an MLflow run's folder."""

from __future__ import annotations

from pathlib import Path

from stepscope.fleet import buckets
from stepscope.fleet.buckets import is_bucket
from stepscope.source.files import Source
from stepscope.source.listing import Listed
from stepscope.source.mlflow import last_written, run_document
from stepscope.source.recording import RecordingTail
from stepscope.source.tail import FileTail, News

_CHUNK_BYTES = 1 << 20


class ObjectTail:
    """An object that grows by being written again: read on from where it ended, as the listings say that it has grown.

    Nothing is asked of the bucket between two listings.
    """

    def __init__(self, listed: Listed) -> None:
        self._listed, self._at = listed, 0

    def announce(self, listed: Listed) -> None:
        """What a newer listing says of it."""
        self._listed = listed

    @property
    def mtime(self) -> float:
        """When the object was last written."""
        return self._listed.mtime

    def look(self) -> News:
        """The bytes since the last look, at most a megabyte of them."""
        is_new = self._listed.size < self._at
        if is_new:
            self._at = 0
        data = buckets.fetch_range(self._listed, self._at, _CHUNK_BYTES)
        self._at += len(data)
        return News(data, is_new_file=is_new)

    def rewind(self) -> bool:
        """Start again at the first byte."""
        self._at = 0
        return True

    def close(self) -> None:
        """Nothing is open."""


class FolderTail:
    """An MLflow run, whose folder is one document: all of it, each time that a value was logged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: float | None = None

    @property
    def mtime(self) -> float:
        """When a value was last logged."""
        return last_written(self._folder) or 0.0

    def look(self) -> News:
        """The document, if it has changed."""
        mtime = self.mtime
        if mtime == self._seen:
            return News()
        self._seen = mtime
        # A live reader takes whole lines only.
        return News(run_document(self._folder) + b"\n")

    def rewind(self) -> bool:
        """Give the document once more."""
        self._seen = None
        return True

    def close(self) -> None:
        """Nothing is open."""


AnyTail = FileTail | RecordingTail | FolderTail | ObjectTail


def tail_of(source: Source, listed: Listed) -> AnyTail:
    """How to follow a source where it lies."""
    if is_bucket(listed.uri):
        return ObjectTail(listed)
    path = source.path or Path(listed.uri)
    if source.is_mlflow:
        return FolderTail(path)
    return RecordingTail(path.parent) if source.is_recorded else FileTail(path)
