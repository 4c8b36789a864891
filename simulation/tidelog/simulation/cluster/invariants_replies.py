"""Invariants of leaders' answers to producers and consumers, at the moment of the answer.

I7 and I13 (a consumer gets committed records alone, as they are for good), I11 (the end that newer
leaders report is no lower, KIP-207), I12 (an acks=all success is committed), I20 (at the reported
offset, once), I27 (what is served passes its CRC), I28 (counts definite refusals for the book).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.chaos.invariants.batches import BatchOrder
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.node_inside import Held, log_of
from tidelog.core.errors import OUTCOME_UNKNOWN_CODES, CorruptMessageError
from tidelog.records.batch import BatchHeader, check_crc, parse_header
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.invariants_book import Book, Identity, identity
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    READ_COMMITTED,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionFetchResult,
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)


class ReplyChecks:
    """Every Produce and Fetch, at the broker that answers it."""

    def __init__(self, *, book: Book, report: Report) -> None:
        self._book = book
        self._report = report
        self._reported: dict[tuple[bytes, int, int], tuple[int, int]] = {}
        """The newest leader epoch that reported a partition's end, and the end."""

    def on_produce(self, request: ProduceRequest) -> None:
        """It has come to a broker, which has done nothing with it yet."""
        for data in request.partitions:
            for header in headers(data.records):
                self._book.note_attempt(data.topic, data.partition, identity(header))

    def on_produced(
        self, name: str, held: Held, request: ProduceRequest, response: ProduceResponse
    ) -> None:
        """A broker answers it."""
        acks = request.acks if request.HasField("acks") else ACKS_ALL
        for data, result in zip(request.partitions, response.partitions, strict=True):
            hosted = held.get((data.topic, data.partition))
            if result.error.code == common_pb2.NONE:
                if acks == ACKS_ALL and hosted is not None:
                    self._check_acknowledged(name, hosted, data, result)
            elif result.error.code not in OUTCOME_UNKNOWN_CODES:
                page = None if hosted is None else self._book.page(hosted)
                for header in headers(data.records):
                    batch = identity(header)
                    self._book.note_refusal(data.topic, data.partition, batch, page)

    def on_fetched(
        self, machine: Machine, held: Held, request: FetchRequest, response: FetchResponse
    ) -> None:
        """A broker answers it."""
        is_consumer = not request.HasField("replica_id")
        asked = {(one.topic, one.partition): one for one in request.partitions}
        for result in response.partitions:
            if not result.records:
                continue
            key = result.topic, result.partition
            hosted = held.get(key)
            # On a stream it may have been named by an earlier request.
            named_id = asked[key].topic_id if key in asked else b""
            if hosted is not None and named_id not in (b"", hosted.topic_id):
                hosted = None
            where = f"{machine.name} served {result.topic}-{result.partition}"
            self._check_served(where, hosted, result, is_consumer=is_consumer)
            if request.isolation_level == READ_COMMITTED and hosted is not None:
                self._check_decided(where, hosted, result)

    def on_listed(
        self, name: str, held: Held, request: ListOffsetsRequest, response: ListOffsetsResponse
    ) -> None:
        """A broker answers it. An older leader, which knows of no newer one, may report less."""
        for asked, result in zip(request.partitions, response.partitions, strict=True):
            hosted = held.get((asked.topic, asked.partition))
            is_reported = asked.spec == ListOffsetsRequest.LATEST and result.offset >= 0
            if hosted is None or not is_reported or self._book.page(hosted) is None:
                continue
            key = hosted.topic_id, hosted.partition, request.isolation_level
            epoch, offset = self._reported.get(key, (-1, 0))
            if result.leader_epoch < epoch:
                continue
            if result.offset < offset:
                what = f"{name} reports that {hosted.name} ends at {result.offset}, it was {offset}"
                self._report("I11", what)
            self._reported[key] = result.leader_epoch, result.offset

    def _check_decided(self, where: str, hosted: Partition, result: PartitionFetchResult) -> None:
        """I13: a committed reader is shown nothing of a transaction that lacks its marker."""
        page = self._book.page(hosted)
        first = None if page is None else page.transactions.first_open_offset
        end = max((header.next_offset for header in headers(result.records)), default=0)
        if first is not None and end > first:
            what = f"{where} up to {end} to a committed reader, undecided from {first} on"
            self._report("I13", what)

    def _check_acknowledged(
        self,
        name: str,
        hosted: Partition,
        data: PartitionProduceData,
        result: PartitionProduceResult,
    ) -> None:
        sent = list(headers(data.records))
        end = result.base_offset + sum(header.last_offset_delta + 1 for header in sent)
        log, page = log_of(hosted), self._book.page(hosted)
        what = f"{name} acknowledged {hosted.name}/{result.base_offset} to {end}"
        if log is None or log.damage is not None or page is None or log.log_end_offset < end:
            return  # It leads no more, or another incarnation of the topic does.
        if log.high_watermark < end:
            self._report("I12", f"{what}, the high watermark is {log.high_watermark}")
        offset = result.base_offset
        for header in sent:
            stored = page.batches.get(offset)
            if page.end >= end and (stored is None or _place(stored) != _place(header)):
                self._report("I20", f"{what}: {header} is not there but {stored}")
            offset += header.last_offset_delta + 1

    def _check_served(
        self,
        where: str,
        hosted: Partition | None,
        result: PartitionFetchResult,
        *,
        is_consumer: bool,
    ) -> None:
        page = None if hosted is None or not is_consumer else self._book.page(hosted)
        order = BatchOrder()
        try:
            for header, batch in batches(result.records):
                check_crc(header, batch)
                for broken in order.follow(where, header):
                    self._report(*broken)
                if page is not None and page.batches.get(header.base_offset) != header:
                    known = page.batches.get(header.base_offset)
                    invariant = "I13" if known is None else "I7"
                    self._report(invariant, f"{where}: {header}, committed is {known}")
        except CorruptMessageError as error:
            self._report("I27", f"{where}: {error}")
        if is_consumer and order.end > result.high_watermark:
            self._report(
                "I13", f"{where} up to {order.end}, high watermark {result.high_watermark}"
            )


def batches(records: bytes) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Whole batches; raises `CorruptMessageError`."""
    view, at = memoryview(records), 0
    while at < len(view):
        header = parse_header(view, at)
        yield header, view[at : at + header.size_in_bytes]
        at += header.size_in_bytes


def headers(records: bytes) -> Iterator[BatchHeader]:
    """Headers of the batches a producer sent, up to the first that is none."""
    try:
        for header, _ in batches(records):
            yield header
    except CorruptMessageError:
        return


def _place(header: BatchHeader) -> Identity:
    """Without the CRC: a broker may have recompressed it, or given it its time."""
    return identity(header)._replace(crc=0)
