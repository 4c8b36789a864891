"""Commands that were followed, by id, with their replies: image, replay and snapshot."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.core.errors import invariant
from tidelog.metadata.images.copied import Copied
from tidelog.v1 import metadata_records_pb2 as records

# Part of what replay does: controllers with other numbers here would make other images.
COMMANDS_MAX = 1_000
COMMANDS_BYTES_MAX = 1 << 20


class CommandsDelta:
    """The commands while the records of one batch apply, oldest first."""

    def __init__(self, commands: Mapping[bytes, records.CommandRecord], size_bytes: int) -> None:
        self._commands = Copied(commands)
        self.size_bytes = size_bytes

    @property
    def commands(self) -> Mapping[bytes, records.CommandRecord]:
        """The commands by id after the records so far."""
        return self._commands.now

    def complete(self, record: records.CommandRecord) -> None:
        """Remember a command, or the next slice of a plan; the oldest commands make room."""
        commands = self._commands.changed
        earlier = commands.pop(record.command_id, None)
        if earlier is not None:
            invariant(earlier.is_unfinished, "a command is followed once", record)
            kinds = earlier.WhichOneof("reply"), record.WhichOneof("reply")
            invariant(kinds[0] == kinds[1], "the slices of a plan are of one kind", kinds)
            self.size_bytes -= earlier.ByteSize()
            record = _continue(earlier, record)
        commands[record.command_id] = record
        self.size_bytes += record.ByteSize()
        while len(commands) > COMMANDS_MAX or self.size_bytes > COMMANDS_BYTES_MAX:
            oldest = next(iter(commands))
            self.size_bytes -= commands.pop(oldest).ByteSize()


def records_of(
    commands: Mapping[bytes, records.CommandRecord],
) -> Iterator[records.MetadataRecord]:
    """The records that make the commands again, oldest first."""
    for command in commands.values():
        yield records.MetadataRecord(command=command)


def _continue(
    earlier: records.CommandRecord, record: records.CommandRecord
) -> records.CommandRecord:
    """A plan as it is remembered once its next slice has happened."""
    both = records.CommandRecord()
    both.CopyFrom(earlier)
    both.MergeFrom(record)
    both.is_unfinished, both.growing_topic_id = record.is_unfinished, record.growing_topic_id
    return both
