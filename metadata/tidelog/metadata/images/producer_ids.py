"""Producer ids: where the next block begins (KIP-730), its replay and its snapshot."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.core.errors import invariant
from tidelog.v1 import metadata_records_pb2 as records


class ProducerIdsDelta:
    """`next_producer_id` while the records of one batch apply."""

    def __init__(self, next_producer_id: int) -> None:
        self.next_producer_id = next_producer_id

    def allocate(self, record: records.ProducerIdsRecord) -> None:
        """Give a block to a broker: the next one begins behind it."""
        before, after = self.next_producer_id, record.next_producer_id
        invariant(after > before, "no producer id is given out twice", before, record)
        self.next_producer_id = after


def records_of(next_producer_id: int) -> Iterator[records.MetadataRecord]:
    """The record that makes the next id again, unless no block was given out."""
    if next_producer_id:
        given = records.ProducerIdsRecord(next_producer_id=next_producer_id)
        yield records.MetadataRecord(producer_ids=given)
