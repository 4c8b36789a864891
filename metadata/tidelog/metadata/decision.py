"""What every handler of a command returns: the records to commit and what to answer after that."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.core.errors import TidelogError
from tidelog.v1.common_pb2 import Error
from tidelog.v1.metadata_records_pb2 import MetadataRecord

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Decision(Generic[ReplyT_co]):
    """`reply` may be told only once `records`, if any, have committed and applied.

    A plan too large for one batch is decided slice by slice, see `plans`; until `is_last`, `reply`
    holds the results of this slice alone and is not told.
    """

    records: list[MetadataRecord]
    reply: ReplyT_co
    is_last: bool = True
    growing_topic_id: bytes = b""
    """Topic of the last result, where this slice holds only some of its partitions."""
    partitions: int = 0
    """Partitions that the records create or remove: these make a batch slow to apply."""


def wire_error(error: TidelogError) -> Error:
    """The wire form of a refusal."""
    return Error(code=error.code, message=error.message)
