"""Each message, in each version, is read back as it was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.proto.kafka_values import VERSIONS, decoded, encoded, ours, values

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.mark.parametrize(("name", "version"), VERSIONS)
@settings(max_examples=2, phases=UNSHRUNK)
@given(data=st.data())
def test_message_is_read_as_it_was_written(name: str, version: int, data: Any) -> None:
    message = ours(name, version, data.draw(values(name, version)))
    assert decoded(name, encoded(message, version), version) == message
