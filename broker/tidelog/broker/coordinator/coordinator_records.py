"""Records of the coordinators' internal topics, as messages and as bytes. Pure.

A record's key is a `CoordinatorKey`; its value is the message of the key's kind, or none: a
tombstone. `coordinator_records.proto` says what each kind holds.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from tidelog.core.errors import CorruptMessageError
from tidelog.v1.coordinator_records_pb2 import (
    BarrierKey,
    ClassicGroupValue,
    CoordinatorKey,
    GroupMemberValue,
    GroupValue,
    OffsetCommitValue,
    TransactionValue,
)

CoordinatorValue: TypeAlias = (
    OffsetCommitValue | GroupValue | GroupMemberValue | ClassicGroupValue | TransactionValue
)
VALUE_TYPES: dict[str, type[CoordinatorValue]] = {
    "offset_commit": OffsetCommitValue,
    "group": GroupValue,
    "member": GroupMemberValue,
    "classic_group": ClassicGroupValue,
    "transaction": TransactionValue,
}
"""Message of the value, by the kind of the key."""


class CoordinatorRecord(NamedTuple):
    """A change of one key's state; `value` None: a tombstone, the state is gone."""

    key: CoordinatorKey
    value: CoordinatorValue | None


BARRIER = CoordinatorRecord(CoordinatorKey(barrier=BarrierKey()), None)
"""Changes nothing: its commit proves that its writer led the partition after it was appended."""


def proof_of_leadership(*, has_session: bool) -> list[CoordinatorRecord]:
    """Make what has to be committed before an answer that needs no record of its own.

    While the controllers hear a broker, none of its partitions is another's. When they have not for
    a session, only the in-sync replicas can tell that it still leads: each answer has a barrier of
    its own, since a fetch that confirms an older one may come late (decision 0056).
    """
    return [] if has_session else [BARRIER]


class EncodedRecord(NamedTuple):
    """The same in bytes."""

    key: bytes
    value: bytes | None


def encode(record: CoordinatorRecord) -> EncodedRecord:
    """Encode a record; equal keys have equal bytes, which compaction rests on."""
    key = record.key.SerializeToString(deterministic=True)
    return EncodedRecord(key, None if record.value is None else record.value.SerializeToString())


def decode(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """Decode a record; None when its kind is unknown to this version: skip it.

    Raises `CorruptMessageError` when the bytes are no message of the kind.
    """
    if key is None:
        raise CorruptMessageError("a record of the internal topic has no key")
    try:
        decoded = CoordinatorKey.FromString(key)
        value_type = VALUE_TYPES.get(decoded.WhichOneof("kind") or "")
        if value_type is None:
            return None
        return CoordinatorRecord(decoded, None if value is None else value_type.FromString(value))
    except DecodeError as error:
        raise CorruptMessageError(
            f"a record of the internal topic is no message of its kind: {error}"
        ) from error
