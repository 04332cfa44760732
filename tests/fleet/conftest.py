"""What the tests of the fleet share."""

from tests.fleet.servers import s3

__all__ = ["s3"]
