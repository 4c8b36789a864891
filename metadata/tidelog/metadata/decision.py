"""What every handler of a command returns: the records to commit and what to answer after that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.log.errors import TidelogError
from tidelog.v1.common_pb2 import Error
from tidelog.v1.metadata_records_pb2 import MetadataRecord

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Decision(Generic[ReplyT_co]):
    """`reply` may be told only once `records`, if any, have committed and applied."""

    records: list[MetadataRecord]
    reply: ReplyT_co


def wire_error(error: TidelogError) -> Error:
    """The wire form of a refusal."""
    return Error(code=error.code, message=error.message)
