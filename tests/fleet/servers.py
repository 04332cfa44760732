"""Servers on loopback that the tests of the fleet ask for real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

KEYS_PER_PAGE = 7


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """moto's S3 with pages of a few keys, found through the environment as any S3 is; gives a boto3 client."""
    pytest.importorskip("obstore")
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", str(KEYS_PER_PAGE))
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        try:
            client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
            client.create_bucket(Bucket="logs")
            yield client
        finally:
            server.stop()


def put(client: Any, key: str, text: str | bytes) -> None:
    """Write an object of the bucket `logs`."""
    client.put_object(Bucket="logs", Key=key, Body=text if isinstance(text, bytes) else text.encode())
