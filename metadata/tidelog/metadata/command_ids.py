"""Commands by the ids that clients drew for them: none is followed twice.

A client whose answer was lost, or came with an unknown outcome, sends the same command again under
the same id. The image holds the answer of each command that was followed, from the batch that
followed it: every later controller knows. A plan that takes several batches is held with the
results of its slices so far, and goes on where the last one ended. Commands without an id are
idempotent by what they name (incarnations, broker epochs, partition epochs). Only the newest
commands are held, see `images.commands`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from tidelog.core.errors import InvalidRequestError, KafkaError, invariant
from tidelog.metadata.commands import CommandRow
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.plans import Slice
from tidelog.v1.metadata_records_pb2 import CommandRecord, MetadataRecord

COMMAND_ID_BYTES = 16
_REPLY_FIELDS = {
    type(getattr(CommandRecord(), field.name)): field.name
    for field in CommandRecord.DESCRIPTOR.oneofs_by_name["reply"].fields
}
_Row = CommandRow[Any, Any]


def earlier_reply(row: _Row, command: Any, image: MetadataImage) -> Any:  # as the row's reply
    """Return the reply to the command when it was followed; None: it was not yet, or has no id.

    Errors: `KafkaError` INVALID_REQUEST for an id of another length or of another kind of command.
    """
    record = _find(row, command, image)
    return None if record is None or record.is_unfinished else _copy_reply(record)


def next_slice(row: _Row, command: Any, image: MetadataImage, part: Slice) -> Slice:  # as above
    """Return the next part of the command's plan, with the room of `part`.

    Errors as of `earlier_reply`.
    """
    record = _find(row, command, image)
    if record is None or row.plan_items is None:
        return part
    results = [one.name for one in _copy_reply(record).topics]
    if results != row.plan_items(command)[: len(results)]:
        raise _id_reused_error()
    return Slice(part.room, results=len(results), growing_topic_id=record.growing_topic_id)


def remember(
    row: _Row,
    command: Any,
    decision: Decision[Any],
    image: MetadataImage,  # as above
) -> Decision[Any]:
    """Add to the decision the record that remembers it, and the results of earlier slices.

    A command without an id is not remembered, nor is one that changes nothing.
    """
    command_id = _id_of(row, command)
    earlier = image.commands.get(command_id) if command_id else None
    if not command_id or not (decision.records or earlier):
        return decision
    record = CommandRecord(
        command_id=command_id,
        is_unfinished=not decision.is_last,
        growing_topic_id=decision.growing_topic_id,
    )
    of_slice = getattr(record, _REPLY_FIELDS[row.reply])
    of_slice.CopyFrom(decision.reply)
    of_slice.SetInParent()
    reply = decision.reply
    if earlier is not None:
        reply = _copy_reply(earlier)
        reply.MergeFrom(decision.reply)
    records = [*decision.records, MetadataRecord(command=record)]
    return replace(decision, records=records, reply=reply)


def _find(row: _Row, command: Any, image: MetadataImage) -> CommandRecord | None:  # as above
    command_id = _id_of(row, command)
    if not command_id:
        return None
    if len(command_id) != COMMAND_ID_BYTES:
        raise InvalidRequestError(f"a command id has {COMMAND_ID_BYTES} bytes, or none")
    record = image.commands.get(command_id)
    field = _REPLY_FIELDS[row.reply]
    if record is not None and record.WhichOneof("reply") != field:
        raise _id_reused_error()
    return record


def _id_of(row: _Row, command: Any) -> bytes:  # as above
    return bytes(command.command_id) if row.needs_id else b""


def _id_reused_error() -> KafkaError:
    return InvalidRequestError("this command id was used for another command: draw one")


def _copy_reply(record: CommandRecord) -> Any:  # one of the oneof's messages
    field = record.WhichOneof("reply")
    invariant(field is not None, "a command is remembered with its reply", record)
    return deepcopy(getattr(record, field or ""))
