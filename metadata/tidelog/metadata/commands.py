"""Commands by the ids that clients drew for them: none is followed twice.

A client whose answer was lost, or came with an unknown outcome, sends the same command again under
the same id. What was followed is held in the image with its answer, in the batch that followed it:
whoever is the controller by then knows. Commands without an id are idempotent by what they say
(incarnations, broker epochs, partition epochs). Only the newest commands are held, see `delta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from google.protobuf.message import Message

from tidelog.log.errors import KafkaError
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.v1.metadata_records_pb2 import CommandRecord, MetadataRecord

COMMAND_ID_BYTES = 16
_FIELDS: Mapping[type, str] = {
    CreateTopicsRequest: "create_topics",
    DeleteTopicsRequest: "delete_topics",
    AlterConfigsRequest: "alter_configs",
    CreatePartitionsRequest: "create_partitions",
}
IdentifiedCommand = (
    CreateTopicsRequest | DeleteTopicsRequest | AlterConfigsRequest | CreatePartitionsRequest
)
IdentifiedReply = (
    CreateTopicsResponse | DeleteTopicsResponse | AlterConfigsResponse | CreatePartitionsResponse
)


def earlier_reply(command: object, image: MetadataImage) -> IdentifiedReply | None:
    """What the command was answered when it was followed; None: it was not, or has no id.

    Errors: `KafkaError` INVALID_REQUEST for an id of another length or of another kind of command.
    """
    command_id = _id_of(command)
    if not command_id:
        return None
    if len(command_id) != COMMAND_ID_BYTES:
        raise KafkaError(
            common_pb2.INVALID_REQUEST, f"a command id has {COMMAND_ID_BYTES} bytes, or none"
        )
    record = image.commands.get(command_id)
    if record is None:
        return None
    field = _FIELDS[type(command)]
    if record.WhichOneof("reply") != field:
        raise KafkaError(
            common_pb2.INVALID_REQUEST, "this command id was used for another command: draw one"
        )
    reply: IdentifiedReply = getattr(deepcopy(record), field)
    return reply


def completion(command: object, decision: Decision[Any]) -> list[MetadataRecord]:
    """What remembers the command as followed; empty when nothing happens or it has no id."""
    command_id = _id_of(command)
    if not command_id or not decision.records:
        return []
    record = CommandRecord(command_id=command_id)
    reply: Message = getattr(record, _FIELDS[type(command)])
    reply.CopyFrom(decision.reply)
    return [MetadataRecord(command=record)]


def _id_of(command: object) -> bytes:
    if isinstance(command, IdentifiedCommand):
        return command.command_id
    return b""
