"""`tidelog groups log`: the internal topic of groups, record by record, as any client reads it.

Reads to where the topic ended at the start. A record of a kind that this version does not know is
shown as it is; so is one that cannot be decoded, with the reason.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import API_TIMEOUT_MS, json_lines_option, one_line, run
from tidelog.cli.pipes import ends_with_its_reader, write_all
from tidelog.cli.plain_messages import fields_as_text, to_plain

if TYPE_CHECKING:
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.records import Record, TopicPartition

POLL_MS = 500
MAX_RECORDS = 1_000
"""Maximum number of records that are decoded before they are written."""
UNKNOWN, UNREADABLE = "unknown", "unreadable"
"""Kinds of records of later versions, and of bytes that are no record of a coordinator."""


@dataclass(frozen=True, slots=True)
class Line:
    """A record of the internal topic; bytes that are not decoded are base64."""

    partition: int
    offset: int
    time_ms: int
    kind: str
    key: dict[str, object] | None
    """Fields of the key; None: not decoded."""
    value: dict[str, object] | None
    """Fields of the value; None: a tombstone, or not decoded."""
    tombstone: bool
    raw_key: str | None = None
    """The key that was not decoded."""
    raw_value: str | None = None
    """The value that was not decoded."""
    error: str | None = None

    def as_json(self) -> str:
        """The line as a JSON object."""
        return json.dumps(asdict(self))

    def as_text(self) -> str:
        """The line as text for people."""
        at = datetime.fromtimestamp(self.time_ms / 1000, UTC)
        when = f"{at:%Y-%m-%d %H:%M:%S}.{self.time_ms % 1000:03}"
        head = f"{self.partition}:{self.offset}  {when}  {self.kind}"
        if self.key is None:
            what = "tombstone" if self.tombstone else f"value={self.raw_value}"
            error = "" if self.error is None else f"  {self.error}"
            return f"{head}  key={self.raw_key} {what}{error}"
        what = " tombstone" if self.value is None else fields_as_text(self.value)
        return f"{head} {fields_as_text(self.key)}  →{what}"


@click.command(name="log")
@click.option("--partition", type=click.IntRange(min=0), help="Only this partition. Default: all.")
@json_lines_option
@bootstrap_option
def group_log(*, partition: int | None, as_json: bool, bootstrap: str) -> None:
    """Show the internal topic of consumer groups: members, rebalances and committed offsets.

    Each record is a key's whole state, or a tombstone; compaction leaves the newest. A group is in
    partition abs(hash) % 50, by Java's hash of its id. Bytes are hex; a record of a kind that this
    version does not know is base64.
    """
    shown = Line.as_json if as_json else Line.as_text
    with ends_with_its_reader():
        run(_read(bootstrap, partition, shown))


async def _read(bootstrap: str, partition: int | None, shown: Callable[[Line], str]) -> None:
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.records import TopicPartition

    async with Consumer(
        bootstrap, auto_offset_reset="earliest", api_timeout_ms=API_TIMEOUT_MS
    ) as consumer:
        partitions = await _partitions(consumer, partition)
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(tp) < end for tp, end in ends.items()]):
            records = await consumer.getmany(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
            lines = [
                shown(line_of(one))
                for one in records
                if one.offset < ends[TopicPartition(one.topic, one.partition)]
            ]
            write_all("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"))


async def _partitions(consumer: Consumer, partition: int | None) -> list[TopicPartition]:
    from tidelog.client.errors import UnknownTopicOrPartitionError
    from tidelog.client.records import TopicPartition
    from tidelog.core.internal_topics import OFFSETS_TOPIC

    try:
        known = await consumer.partitions_for(OFFSETS_TOPIC)
    except UnknownTopicOrPartitionError:
        raise UnknownTopicOrPartitionError(
            f"{OFFSETS_TOPIC} does not exist: the first group creates it"
        ) from None
    if partition is not None and partition not in known:
        raise UnknownTopicOrPartitionError(
            f"{OFFSETS_TOPIC} has no partition {partition}: it has 0 to {known[-1]}"
        )
    return [TopicPartition(OFFSETS_TOPIC, one) for one in known if partition in (None, one)]


def line_of(record: Record[bytes | None, bytes | None]) -> Line:
    """Decode a record of the internal topic; never fails."""
    from tidelog.broker.coordinator.coordinator_records import decode
    from tidelog.core.errors import CorruptMessageError
    from tidelog.v1.coordinator_records_pb2 import CoordinatorKey

    where = (record.partition, record.offset, record.timestamp_ms)
    kind, error = UNKNOWN, None
    is_tombstone = record.value is None
    try:
        found = decode(record.key, record.value)
        key = CoordinatorKey.FromString(record.key or b"")
        kind = key.WhichOneof("kind") or UNKNOWN
    except CorruptMessageError as failure:
        found, kind, error = None, UNREADABLE, one_line(failure)
    # The kind `barrier` has no value: it is not decoded, and says all that it says by its kind.
    if kind in (UNKNOWN, UNREADABLE) or (found is None and not is_tombstone):
        raw = (_base64(record.key), _base64(record.value))
        return Line(*where, kind, None, None, is_tombstone, *raw, error)
    value = None if found is None or found.value is None else to_plain(found.value)
    return Line(*where, kind, to_plain(getattr(key, kind)), value, is_tombstone)


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()
