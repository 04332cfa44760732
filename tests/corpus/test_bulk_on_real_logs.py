"""Every real log gives the same Run in bulk and line by line, whatever the chunks."""

from __future__ import annotations

import pytest

from stepscope.source.files import resolve
from tests.corpus.test_catalogue_on_real_logs import FILES, name_of
from tests.fuzz.test_bulk import read


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_bulk_and_line_by_line_give_the_same_run(path):
    data = b"".join(resolve(str(path))[0].chunks())
    assert read(data, 512, 1 << 20) == read(data, 1 << 40, 1 << 20)
