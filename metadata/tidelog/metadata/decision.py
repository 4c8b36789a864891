"""The result of a decision: the records to commit, and the reply once they have committed."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tidelog.core.errors import TidelogError
from tidelog.metadata.image import MetadataImage
from tidelog.v1.common_pb2 import Error
from tidelog.v1.metadata_records_pb2 import MetadataRecord

ReplyT_co = TypeVar("ReplyT_co", covariant=True)
_FRAME_BYTES = 5

Shows = Callable[[MetadataImage], bool]
"""Condition: an image shows a change."""


class Reply(Protocol):
    """The fields that every reply to a command has."""

    controller_epoch: int
    """Raft term of the controller that decided; 0: none did."""

    @property
    def error(self) -> Error:
        """The error of the request as a whole."""


class ReplyWithOffset(Protocol):
    """The reply to a change that is visible at a metadata offset."""

    metadata_offset: int


class NoRoomError(Exception):
    """A decision needs more bytes than a batch has left; nothing came of it."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a decision of {size_bytes} bytes")
        self.size_bytes = size_bytes


@dataclass(slots=True)
class Checked:
    """The reply to a command of the controller itself."""

    error: Error = field(default_factory=Error)
    controller_epoch: int = 0


@dataclass(frozen=True, slots=True)
class Decision(Generic[ReplyT_co]):
    """`reply` may be sent only once `records`, if any, have committed and applied.

    A plan too large for one batch is decided slice by slice, see `plans`; until `is_last`, `reply`
    holds the results of this slice alone and is not sent.
    """

    records: list[MetadataRecord]
    reply: ReplyT_co
    is_last: bool = True
    growing_topic_id: bytes = b""
    """Topic of the last result, where this slice holds only some of its partitions."""
    partitions: int = 0
    """Partitions that the records create, remove or change: these make a batch slow to apply."""
    rest: object = None
    """The place from which the next slice of a command without an id goes on, here."""


def size_of(records: Iterable[MetadataRecord]) -> int:
    """Size of the records in a batch, each with its tag and length; a few bytes too large."""
    return sum(_FRAME_BYTES + record.ByteSize() for record in records)


def wire_error(error: TidelogError) -> Error:
    """The wire form of a refusal."""
    return Error(code=error.code, message=error.message)


def set_metadata_offset(reply: ReplyWithOffset, offset: int) -> None:
    """Complete the reply: an image at this offset shows the change."""
    reply.metadata_offset = offset


def shows_offset(_request: object, reply: ReplyWithOffset, _before: MetadataImage) -> Shows:
    """The condition under which an image shows a change that is answered with its offset."""
    return lambda image: image.offset >= reply.metadata_offset
