"""Commands by the ids that clients drew for them: none is followed twice.

A client whose answer was lost, or came with an unknown outcome, sends the same command again under
the same id. What was followed is held in the image with its answer, in the batch that followed it:
whoever is the controller by then knows. Of a plan that takes several batches each holds the results
of its slice, so that it goes on where it ended. Commands without an id are idempotent by what they
say (incarnations, broker epochs, partition epochs). Only the newest commands are held, see `delta`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from tidelog.core.errors import InvalidRequestError, KafkaError, invariant
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.plans import Slice
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
PlanCommand = CreateTopicsRequest | DeleteTopicsRequest | CreatePartitionsRequest
"""A command that may need several batches, see `plans`."""
PlanReply = CreateTopicsResponse | DeleteTopicsResponse | CreatePartitionsResponse
IdentifiedCommand = PlanCommand | AlterConfigsRequest
IdentifiedReply = PlanReply | AlterConfigsResponse


def earlier_reply(command: object, image: MetadataImage) -> IdentifiedReply | None:
    """What the command was answered when it was followed; None: it was not yet, or has no id.

    Errors: `KafkaError` INVALID_REQUEST for an id of another length or of another kind of command.
    """
    record = _held(command, image)
    return None if record is None or record.is_unfinished else _reply_in(record)


def next_slice(command: PlanCommand, image: MetadataImage, *, room: int) -> Slice:
    """The part of the command's plan that is next. Errors as of `earlier_reply`."""
    record = _held(command, image)
    if record is None:
        return Slice(room)
    results = [one.name for one in _plan_reply_in(record).topics]
    if results != _names(command)[: len(results)]:
        raise _of_another()
    return Slice(room, results=len(results), growing_topic_id=record.growing_topic_id)


def followed(command: object, decision: Decision[Any], image: MetadataImage) -> Decision[Any]:
    """The decision with what remembers it, and with the results that earlier slices gave.

    Nothing is remembered of a command without an id, nor of one by which nothing happens.
    """
    command_id = _id_of(command)
    earlier = image.commands.get(command_id) if command_id else None
    if not command_id or not (decision.records or earlier):
        return decision
    record = CommandRecord(
        command_id=command_id,
        is_unfinished=not decision.is_last,
        growing_topic_id=decision.growing_topic_id,
    )
    of_slice: Message = getattr(record, _FIELDS[type(command)])
    of_slice.CopyFrom(decision.reply)
    of_slice.SetInParent()
    reply = decision.reply
    if earlier is not None:
        reply = _reply_in(earlier)
        reply.MergeFrom(decision.reply)
    records = [*decision.records, MetadataRecord(command=record)]
    return replace(decision, records=records, reply=reply)


def _held(command: object, image: MetadataImage) -> CommandRecord | None:
    command_id = _id_of(command)
    if not command_id:
        return None
    if len(command_id) != COMMAND_ID_BYTES:
        raise InvalidRequestError(f"a command id has {COMMAND_ID_BYTES} bytes, or none")
    record = image.commands.get(command_id)
    if record is not None and record.WhichOneof("reply") != _FIELDS[type(command)]:
        raise _of_another()
    return record


def _of_another() -> KafkaError:
    return InvalidRequestError("this command id was used for another command: draw one")


def _names(command: PlanCommand) -> list[str]:
    if isinstance(command, DeleteTopicsRequest):
        return list(command.names)
    return [one.name for one in command.topics]


def _plan_reply_in(record: CommandRecord) -> PlanReply:
    reply = _reply_in(record)
    invariant(not isinstance(reply, AlterConfigsResponse), "a plan's reply", record)
    return reply  # type: ignore[return-value]  # checked on the line above


def _reply_in(record: CommandRecord) -> IdentifiedReply:
    field = record.WhichOneof("reply")
    invariant(field is not None, "a command is remembered with its reply", record)
    reply: IdentifiedReply = deepcopy(getattr(record, field or ""))
    return reply


def _id_of(command: object) -> bytes:
    if isinstance(command, IdentifiedCommand):
        return command.command_id
    return b""
