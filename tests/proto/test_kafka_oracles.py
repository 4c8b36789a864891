"""Kafka's messages in our codec, kafka-python's and kio's: the same bytes, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.proto.kafka_oracles import kio_values, oracles_of
from tests.proto.kafka_values import VERSIONS, decoded, encoded, ours, values

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.mark.parametrize(("name", "version"), VERSIONS)
@settings(max_examples=4, phases=UNSHRUNK)
@given(data=st.data())
def test_bytes_are_those_of_the_oracles(name: str, version: int, data: Any) -> None:
    value = data.draw(values(name, version, kio_values(name, version)))
    message = ours(name, version, value)
    bytes_of_ours = encoded(message, version)
    assert decoded(name, bytes_of_ours, version) == message
    for oracle in oracles_of(name, version):
        assert oracle.encode(oracle.message(value)) == bytes_of_ours, type(oracle).__name__
        assert oracle.reads(bytes_of_ours, value), type(oracle).__name__
