"""Objects in buckets (`s3://`, `gs://`, `az://`) through obstore: listed page by page, fetched to a file.

Credentials are those of the machine that asks, so a worker needs its own: the environment, a role, or for S3 the
profiles and logins that boto3 knows, where it is installed.
"""

from __future__ import annotations

import datetime as dt
import functools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stepscope.core.errors import InputError, UsageError
from stepscope.source.listing import Listed

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SCHEMES = ("s3://", "gs://", "az://")
_PAGE = 1000
_FETCH_BYTES = 4 << 20
# A metadata service that does not exist must not hold a scan up.
_CONNECT_S, _RETRIES, _RETRY_S = 5, 3, 30
_MOST_REASON = 300
_NO_CREDENTIALS = re.compile(
    r"(?i)169\.254\.|token request|must be specified|Missing(?:Credentials|Account)|credentials? provider"
)
_NO_BUCKET = re.compile(r"(?i)NoSuchBucket|ContainerNotFound|specified (?:bucket|container) does not exist")
_REFUSED = re.compile(r"(?i)AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|\b40[13] |AuthenticationFailed")


class Address(NamedTuple):
    """Where an object is, or those below a prefix."""

    bucket: str  # with its scheme
    key: str

    def __str__(self) -> str:
        """As the user writes it."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket


def is_bucket(place: str) -> bool:
    """Whether a place is in a bucket."""
    return place.startswith(_SCHEMES)


def address(place: str) -> Address:
    """The parts of a place in a bucket."""
    scheme, _, rest = place.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise UsageError("bucket-without-name", place=place)
    return Address(f"{scheme}://{bucket}", key.rstrip("/"))


def objects(place: str) -> Iterator[Listed]:
    """The objects below a prefix, or the one that it names, in the order of their keys; empty ones left out."""
    import obstore

    at = address(place)
    with _said_clearly(place):
        store, has_any = _store(at.bucket), False
        for page in obstore.list(store, prefix=at.key or None, chunk_size=_PAGE):
            has_any = True
            yield from (_listed(at.bucket, found) for found in page if found["size"])
        if not has_any and at.key:
            yield _listed(at.bucket, obstore.head(store, at.key))


def fetch(file: Listed, target: Path) -> None:
    """Copy an object into a file, a piece at a time and no more of it than was listed."""
    import obstore

    at = address(file.uri)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _said_clearly(file.uri), target.open("wb") as out:
        left = file.size
        for piece in obstore.get(_store(at.bucket), at.key).stream(min_chunk_size=_FETCH_BYTES):
            out.write(memoryview(piece)[:left])
            left -= len(piece)
            if left <= 0:
                break
    os.utime(target, (file.mtime, file.mtime))


def fetch_range(file: Listed, start: int, most: int) -> bytes:
    """Some bytes of an object, from `start` on."""
    import obstore

    at = address(file.uri)
    length = min(most, file.size - start)
    if length <= 0:
        return b""
    with _said_clearly(file.uri):
        return bytes(obstore.get_range(_store(at.bucket), at.key, start=start, length=length))


def _listed(bucket: str, found: Any) -> Listed:
    mtime = found["last_modified"].timestamp()
    version = found["e_tag"] or found["version"] or f"{found['size']}-{mtime}"
    return Listed(f"{bucket}/{found['path']}", found["size"], mtime, version)


@functools.lru_cache(maxsize=64)
def _store(bucket: str) -> ObjectStore:
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ImportError:
        raise UsageError("needs-extra", place=bucket, extra="fleet") from None
    scheme, _, name = bucket.partition("://")
    options: Any = {
        "client_options": {"connect_timeout": f"{_CONNECT_S}s", "allow_http": _is_plain_http()},
        "retry_config": {"max_retries": _RETRIES, "retry_timeout": dt.timedelta(seconds=_RETRY_S)},
    }
    if scheme == "gs":
        return GCSStore(name, **options)
    if scheme == "az":
        return AzureStore(name, **options)
    return S3Store(name, credential_provider=_boto3_credentials(), **options)


def _is_plain_http() -> bool:
    """Whether the user's own endpoint has no TLS: a MinIO next door."""
    names = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT")
    return any(os.environ.get(name, "").startswith("http://") for name in names)


def _boto3_credentials() -> Any:
    """Profiles and logins, which obstore does not read itself; None where there are none."""
    has_profiles = "AWS_PROFILE" in os.environ or (Path.home() / ".aws").is_dir()
    if "AWS_ACCESS_KEY_ID" in os.environ or not has_profiles:
        return None
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return Boto3CredentialProvider()
    except Exception:  # not installed, or it knows no credentials: a role may
        return None


@contextmanager
def _said_clearly(place: str) -> Iterator[None]:
    """What goes wrong with a bucket, as one of four things that a person can do something about."""
    try:
        import obstore.exceptions as problems
    except ImportError:
        raise UsageError("needs-extra", place=place, extra="fleet") from None
    try:
        yield
    except (problems.BaseError, FileNotFoundError) as problem:
        reason = str(problem).partition("\n\nDebug source")[0]
        bucket = address(place).bucket
        if _NO_BUCKET.search(reason):
            raise InputError("no-bucket", place=bucket) from None
        if isinstance(problem, FileNotFoundError | problems.NotFoundError):
            raise InputError("no-such-object", place=place) from None
        if _NO_CREDENTIALS.search(reason):
            raise InputError("bucket-no-credentials", place=bucket) from None
        if isinstance(problem, problems.PermissionDeniedError | problems.UnauthenticatedError) or _REFUSED.search(
            reason
        ):
            raise InputError("bucket-refused", place=place) from None
        raise InputError("bucket-unreachable", place=place, reason=reason[:_MOST_REASON]) from None
