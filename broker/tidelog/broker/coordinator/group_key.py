"""The partition of the internal topic that holds a group, as Kafka computes it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import InvalidGroupIdError

GROUP_ID_CHARACTERS_MAX = 249
"""As a topic's name; Kafka has no limit but that of its strings, 32,767 bytes."""
_I32_MIN = -(1 << 31)


def check_group_id(group_id: str) -> None:
    """Raise `InvalidGroupIdError` unless the id has 1 to 249 characters."""
    if not group_id:
        raise InvalidGroupIdError("the group id is empty: name the group")
    if len(group_id) > GROUP_ID_CHARACTERS_MAX:
        raise InvalidGroupIdError(
            f"the group id has {len(group_id)} characters: at most {GROUP_ID_CHARACTERS_MAX}"
        )


def partition_of(group_id: str, partitions: int) -> int:
    """Compute the group's partition out of `partitions`: `abs(hashCode) % partitions`.

    Kafka's `Utils.abs` takes the smallest integer, which has no absolute value, for 0.
    """
    hashed = java_hash(group_id)
    return 0 if hashed == _I32_MIN else abs(hashed) % partitions


def java_hash(text: str) -> int:
    """Compute Java's `String.hashCode`, of UTF-16 code units: a signed number of 32 bits."""
    hashed = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        hashed = (31 * hashed + int.from_bytes(encoded[at : at + 2], "big")) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed
