"""A leader's log in a list, for `fake_cluster`: checks batches, epochs and offsets."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.log.epochs import EpochCache
from tidelog.log.producers import ProducerStates
from tidelog.records.batch import assign_offsets, iter_batches, parse_header, validate_batches
from tidelog.records.records import Record, iter_records
from tidelog.v1 import data_pb2


@dataclass
class FakePartition:
    leader_id: int | None
    epoch: int = 0
    start_offset: int = 0
    batches: list[bytes] = field(default_factory=list)
    max_message_bytes: int = 1 << 20
    producers: ProducerStates = field(default_factory=ProducerStates)

    @property
    def end_offset(self) -> int:
        return parse_header(self.batches[-1]).next_offset if self.batches else self.start_offset

    def append(self, records: bytes) -> int:
        """Append whole batches as a leader does; returns the first offset."""
        batches = validate_batches(records, max_message_bytes=self.max_message_bytes)
        first = self.end_offset
        if batches[0][0].producer_id >= 0:
            assert len(batches) == 1, "an idempotent producer's batches are answered one by one"
            duplicate = self.producers.check(batches[0][0])
            if duplicate is not None:
                return duplicate.base_offset
            header = batches[0][0]._replace(base_offset=first)
            self.producers.update(header, now_ms=0)
        for batch in iter_batches(records):
            _, pieces = assign_offsets(
                [batch], base_offset=self.end_offset, leader_epoch=self.epoch
            )
            self.batches.append(b"".join(pieces))
        return first

    def truncate_to(self, offset: int) -> None:
        """Lose records, as an unclean election does; whole batches only."""
        self.batches = [one for one in self.batches if parse_header(one).next_offset <= offset]

    def divergence(self, asked: data_pb2.FetchPartition) -> tuple[int, int] | None:
        """The largest epoch up to the caller's and its end, where the logs part (KIP-320)."""
        if not asked.HasField("last_fetched_epoch"):
            return None
        epochs = EpochCache()
        for header in map(parse_header, self.batches):
            if header.partition_leader_epoch >= 0:
                epochs.assign(header.partition_leader_epoch, header.base_offset)
        epochs.assign(self.epoch, self.end_offset)
        epoch, end = epochs.end_offset_for(asked.last_fetched_epoch, log_end_offset=self.end_offset)
        is_same = epoch == asked.last_fetched_epoch and end >= asked.fetch_offset
        return None if is_same else (epoch, end)

    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in iter_records(batch)]

    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records()]

    def offset_of(self, asked: data_pb2.ListOffsetsRequest.Partition) -> int:
        """What ListOffsets answers."""
        match asked.spec:
            case data_pb2.ListOffsetsRequest.LATEST:
                return self.end_offset
            case data_pb2.ListOffsetsRequest.EARLIEST:
                return self.start_offset
            case data_pb2.ListOffsetsRequest.MAX_TIMESTAMP:
                newest = max(self.records(), key=lambda record: record.timestamp, default=None)
                return -1 if newest is None else newest.offset
        later = (r.offset for r in self.records() if r.timestamp >= asked.timestamp_ms)
        return next(later, -1)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`; at least one."""
        out = b""
        for batch in self.batches:
            if parse_header(batch).next_offset > offset:
                if out and len(out) + len(batch) > max_bytes:
                    break
                out += batch
        return out


@dataclass
class FakeTopic:
    topic_id: bytes
    partitions: list[FakePartition]
