"""What tests of chaos share: virtual time for what waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.virtual_time import Told, virtual_time


@pytest.fixture
def told() -> Iterator[Told]:
    """Run a coroutine to its end; its sleeps take no time."""
    with virtual_time() as run:
        yield run
