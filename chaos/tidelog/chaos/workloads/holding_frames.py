"""Frames that strangers send to a listener of Kafka's protocol to make a node hold something. Pure.

Each kind says honest bytes, and then sends too slowly, reads nothing, waits, or stays: see decision
0077 for the rooms that they fill.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple

from tidelog.chaos.workloads.kafka_frames import METADATA, REQUEST_BYTES_MAX, frame, head
from tidelog.kafka.apis import API_VERSIONS
from tidelog.kafka.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic

HALF_OPEN, SAID_HELLO, SLOW, UNREAD, PARKED = "half_open", "said_hello", "slow", "unread", "parked"
KINDS = (HALF_OPEN, SAID_HELLO, SLOW, UNREAD, PARKED)
STEP_BYTES, STEP_S = 7_000, 1.0
"""Rate of a slow frame: above the least of a stopped one, and 40 minutes for all of it."""
UNREAD_REQUESTS, NAMES, NAME_CHARACTERS = 4, 500, 240
"""Requests of a step of unread answers, 120 KB each: of topics that nobody has made."""
PROTOCOLS, PROTOCOL_BYTES = 32, 4 << 10
"""Size of a join: 128 KiB, of which a group's record has one part in 32."""
_METADATA_VERSION, _JOIN_VERSION = 8, 3


class Said(NamedTuple):
    """The bytes of one connection."""

    first: bytes
    step: bytes = b""
    """More of the same, each `STEP_S`; empty: nothing follows."""
    does_read: bool = True


def said_by(kind: str, number: int) -> Said:
    """Return what the stranger of this number and kind says."""
    if kind == HALF_OPEN:
        return Said((1_000).to_bytes(4, "big") + head(METADATA, _METADATA_VERSION, number))
    if kind == SAID_HELLO:
        return Said(frame(head(API_VERSIONS, 0, number)))
    if kind == SLOW:
        begun = head(METADATA, _METADATA_VERSION, number) + bytes(STEP_BYTES)
        return Said(REQUEST_BYTES_MAX.to_bytes(4, "big") + begun, bytes(STEP_BYTES))
    if kind == UNREAD:
        asked = _metadata(number) * UNREAD_REQUESTS
        return Said(asked, asked, does_read=False)
    return Said(_join(number))


def _metadata(number: int) -> bytes:
    names = (f"{one}".rjust(NAME_CHARACTERS, "n") for one in range(NAMES))
    topics = [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    body = b"".join(map(bytes, request.encode(_METADATA_VERSION)))
    return frame(head(METADATA, _METADATA_VERSION, number) + body)


def _join(number: int) -> bytes:
    """Join a group of its own, of a client that needs no id before; it waits for nobody else."""
    request = JoinGroupRequest(
        group_id=f"stranger-{number}",
        session_timeout_ms=1_800_000,
        rebalance_timeout_ms=(1 << 31) - 1,
        protocol_type="consumer",
        protocols=[
            JoinGroupRequestProtocol(name=f"p{one}", metadata=bytes(PROTOCOL_BYTES))
            for one in range(PROTOCOLS)
        ],
    )
    body = b"".join(map(bytes, request.encode(_JOIN_VERSION)))
    return frame(head(JoinGroupRequest.API_KEY, _JOIN_VERSION, number) + body)
