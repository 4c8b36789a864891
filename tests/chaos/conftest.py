"""What tests of chaos share: virtual time for what waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.virtual_time import RunVirtually, virtual_time


@pytest.fixture
def run_virtually() -> Iterator[RunVirtually]:
    """Run a coroutine to its end; its sleeps take no time."""
    with virtual_time() as run:
        yield run
