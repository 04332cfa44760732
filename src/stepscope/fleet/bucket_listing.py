"""The objects of a bucket by folder, as `listing` has the files of a disk.

A bucket is listed flat, a thousand keys a request, which takes hundreds of times fewer requests than asking folder by
folder. Keys come in the order of their bytes, so all of a folder comes together: only the folders that the present key
is in are held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from stepscope.core.errors import InputError
from stepscope.fleet.buckets import address, objects
from stepscope.source.files import is_no_log
from stepscope.source.listing import Listed, Listing, is_passed, of_same_run, owner_of

# Folders that are one run as a whole, by the names that MLflow and W&B give them: what is below waits for the rest.
_WHOLE = re.compile(r"[0-9a-f]{32}|(?:offline-)?run-\d{8}_\d{6}-\w+")


class _Folder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.is_whole = _WHOLE.fullmatch(path.rpartition("/")[2]) is not None
        self.has_meta = False
        self.files: list[Listed] = []
        self.held: list[Listing] = []

    def listings(self) -> Iterator[Listing]:
        """What the folder comes to, now that all of it is known."""
        figures = sorted(file for listing in self.held for file in listing.files if self._is_figure(file.uri))
        if self.has_meta and figures:
            yield Listing(self.path, tuple(figures), is_mlflow=True)
            return
        if self.files:
            yield Listing(self.path, tuple(sorted(self.files)))
        own = of_same_run(self.files)
        yield from (one for one in self.held if one.folder[len(self.path) + 1 :].partition("/")[0] not in own)

    def _is_figure(self, uri: str) -> bool:
        return uri[len(self.path) :].startswith(("/metrics/", "/params/"))


def bucket_listings(
    place: str, note: Callable[[str], None], list_objects: Callable[[str], Iterator[Listed]] = objects
) -> Iterator[Listing]:
    """The folders below a place in a bucket, each with its files."""
    del note  # a bucket lets one list all of it or nothing
    root = str(address(place))
    open_folders: list[_Folder] = []
    last = ""
    for file in list_objects(place):
        if file.uri == root:
            yield Listing(root.rpartition("/")[0], (file,))
            return
        if file.uri < last:
            raise InputError("bucket-unsorted", place=place)
        last = file.uri
        *folders, name = file.uri[len(root) + 1 :].split("/")
        if any(is_passed(folder) for folder in folders):
            continue
        owner = "/".join([root, *owner_of(folders)])
        while open_folders and not f"{owner}/".startswith(f"{open_folders[-1].path}/"):
            yield from _closed(open_folders)
        _open(open_folders, root, owner)
        open_folders[-1].has_meta |= name == "meta.yaml"
        if not is_no_log(name):
            open_folders[-1].files.append(file)
    while open_folders:
        yield from _closed(open_folders)


def _open(open_folders: list[_Folder], root: str, owner: str) -> None:
    """Open a folder, and those above it that may be a run as a whole."""
    at = open_folders[-1].path if open_folders else root
    if not open_folders:
        open_folders.append(_Folder(root))
    for name in owner[len(at) + 1 :].split("/") if owner != at else ():
        at = f"{at}/{name}"
        open_folders.append(_Folder(at))


def _closed(open_folders: list[_Folder]) -> Iterator[Listing]:
    """Close the innermost folder: its listings, unless a folder above decides about them."""
    folder = open_folders.pop()
    above = next((one for one in reversed(open_folders) if one.is_whole), None)
    if above is None:
        yield from folder.listings()
    else:
        above.held += folder.listings()
