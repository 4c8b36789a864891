"""Records of the internal topic survive their bytes; unknown kinds are skipped, broken refused."""

from __future__ import annotations

import pytest

from tidelog.broker.coordinator.coordinator_records import (
    BARRIER,
    VALUE_TYPES,
    CoordinatorRecord,
    decode,
    encode,
)
from tidelog.core.errors import CorruptMessageError
from tidelog.v1.coordinator_records_pb2 import CoordinatorKey

A_KIND_OF_LATER = b"\xa2\x06\x02\x0a\x00"
"""Field 100, a message."""


def a_key(kind: str) -> CoordinatorKey:
    key = CoordinatorKey()
    if kind == "transaction":
        key.transaction.transactional_id = "g/1"
    else:
        getattr(key, kind).group_id = "g"
    return key


def test_every_kind_has_a_value_type() -> None:
    kinds = [field.name for field in CoordinatorKey.DESCRIPTOR.oneofs_by_name["kind"].fields]
    # A barrier changes nothing: it has a key alone, and loads pass over it.
    assert sorted([*VALUE_TYPES, "barrier"]) == sorted(kinds)
    assert decode(*encode(BARRIER)) is None


@pytest.mark.parametrize("kind", VALUE_TYPES)
def test_a_record_and_its_tombstone_survive_their_bytes(kind: str) -> None:
    for value in (VALUE_TYPES[kind](), None):
        record = CoordinatorRecord(a_key(kind), value)
        assert decode(*encode(record)) == record


def test_a_key_has_one_encoding() -> None:
    keys = {encode(CoordinatorRecord(a_key("group"), None)).key for _ in range(8)}
    assert len(keys) == 1


@pytest.mark.parametrize("key", [b"", A_KIND_OF_LATER])
def test_a_kind_of_a_later_version_is_skipped(key: bytes) -> None:
    assert decode(key, b"\xff\xff") is None


@pytest.mark.parametrize("pair", [(None, b""), (b"\xff", None)])
def test_what_is_no_record_of_the_topic_is_refused(pair: tuple[bytes | None, bytes | None]) -> None:
    with pytest.raises(CorruptMessageError, match="internal topic"):
        decode(*pair)


def test_a_value_that_is_no_message_of_its_kind_is_refused() -> None:
    key = a_key("offset_commit").SerializeToString()
    with pytest.raises(CorruptMessageError, match="no message of its kind"):
        decode(key, b"\xff")
