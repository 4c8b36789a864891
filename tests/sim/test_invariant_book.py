"""The book of committed batches, images, replies: a rule speaks when it is broken, only then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidelog.chaos.invariants.images import ImageChecks
from tidelog.core.chance import SeededRandom
from tidelog.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from tidelog.net.listeners import one_listener
from tidelog.records.batch import BatchHeader, parse_header
from tidelog.records.records import Record, encode_batch
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.invariants_book import Book, Identity, Page, identity
from tidelog.simulation.cluster.invariants_replies import ReplyChecks
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse, PartitionFetchResult

TOPIC = "t"


class Reports:
    def __init__(self) -> None:
        self.found: list[str] = []

    def __call__(self, invariant: str, _what: str) -> None:
        self.found.append(invariant)


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def book(reports: Reports) -> Book:
    return Book(reports)


@pytest.fixture
def page() -> Page:
    return Page("t-0")


def a_batch(offset: int, **fields: int) -> BatchHeader:
    """Two records of an idempotent producer, in sequence."""
    header = BatchHeader(
        base_offset=offset,
        batch_length=100,
        partition_leader_epoch=3,
        magic=2,
        crc=1000 + offset,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=7,
        producer_epoch=0,
        base_sequence=offset,
        records_count=2,
    )
    return header._replace(**fields)


def add(book: Book, page: Page, *batches: BatchHeader) -> None:
    for batch in batches:
        book.add(page, batch, topic=TOPIC, partition=0)


def test_batches_that_follow_each_other_are_fine(book: Book, page: Page, reports: Reports) -> None:
    add(book, page, a_batch(0), a_batch(2), a_batch(4, producer_id=-1, base_sequence=-1))
    add(book, page, a_batch(6, base_sequence=4), a_batch(8, producer_epoch=1, base_sequence=0))

    assert reports.found == []
    assert book.compare(page, a_batch(2))
    assert book.compare(page, a_batch(10))


@pytest.mark.parametrize(
    ("batch", "invariant"),
    [
        (a_batch(5, base_sequence=4), "I8"),
        (a_batch(4, partition_leader_epoch=2), "I9"),
        (a_batch(4, base_sequence=2), "I20"),
        (a_batch(4, base_sequence=6), "I20"),
        (a_batch(4, producer_epoch=1), "I20"),
        (a_batch(4, producer_epoch=-1), "I21"),
    ],
)
def test_a_batch_out_of_order_is_reported(
    book: Book, page: Page, reports: Reports, batch: BatchHeader, invariant: str
) -> None:
    add(book, page, a_batch(0), a_batch(2), batch)

    assert reports.found == [invariant]


@pytest.mark.parametrize(
    "other",
    [a_batch(2, crc=1), a_batch(2, partition_leader_epoch=4), a_batch(3), a_batch(1)],
)
def test_another_batch_in_a_committed_place_is_not_as_booked(
    book: Book, page: Page, other: BatchHeader
) -> None:
    add(book, page, a_batch(0), a_batch(2))

    assert not book.compare(page, other)


def test_a_refused_batch_must_not_be_committed_unless_another_attempt_was_not_refused(
    book: Book, page: Page, reports: Reports
) -> None:
    first, second, third = (identity(a_batch(offset)) for offset in (0, 2, 4))
    for batch in (first, second, third):
        book.note_attempt(TOPIC, 0, batch)
    book.note_attempt(TOPIC, 0, first)
    book.note_refusal(TOPIC, 0, first, page)
    add(book, page, a_batch(0))
    assert reports.found == []

    book.note_refusal(TOPIC, 0, second, page)
    add(book, page, a_batch(2))
    assert reports.found == ["I28"]

    add(book, page, a_batch(4))
    book.note_refusal(TOPIC, 0, third, page)
    assert reports.found == ["I28", "I28"]


def test_what_stays_the_same_of_a_batch() -> None:
    assert identity(a_batch(8)) == Identity(7, 0, 8, 2, 1008)
    assert identity(a_batch(8)._replace(base_offset=0, partition_leader_epoch=9)) == Identity(
        7, 0, 8, 2, 1008
    )


# Images


def an_image(offset: int = 10, **fields: object) -> MetadataImage:
    state = PartitionImage(
        partition=0, replicas=(1, 2, 3), isr=(1, 2), leader_id=1, leader_epoch=5, partition_epoch=8
    )
    state = replace(state, **fields)  # type: ignore[arg-type]
    topic = TopicImage(name=TOPIC, topic_id=b"id", partitions=(state,), configs={})
    return MetadataImage(
        offset=offset,
        controller_epoch=4,
        brokers={one: BrokerImage(one, b"", one, (), "", is_fenced=one == 3) for one in (1, 2, 3)},
        topics={TOPIC: topic},
        topics_by_id={b"id": TOPIC},
    )


@pytest.fixture
def images(reports: Reports) -> ImageChecks:
    checks = ImageChecks(reports)
    assert checks.look((1, 1, "controller"), an_image(), is_committed=True)
    assert reports.found == []
    return checks


def test_a_lawful_change_is_fine(images: ImageChecks, reports: Reports) -> None:
    after = an_image(11, leader_id=2, leader_epoch=6, partition_epoch=9, isr=(2,), elr=(1,))

    assert images.look((1, 1, "controller"), after, is_committed=True)
    assert not images.look((2, 1, "controller"), after, is_committed=True)
    assert not images.look((2, 1, "broker"), an_image(), is_committed=False)
    assert reports.found == []


@pytest.mark.parametrize(
    ("fields", "invariant"),
    [
        ({"leader_id": 3, "leader_epoch": 6}, "I14"),
        ({"isr": (1, 3)}, "I14"),
        ({"isr": (1, 2, 4)}, "I14"),
        ({"elr": (4,)}, "I14"),
        ({"elr": (2,)}, "I14"),
        ({"leader_epoch": 4}, "I15"),
        ({"leader_id": 2}, "I15"),
        ({"partition_epoch": 8, "isr": (1,)}, "I15"),
    ],
)
def test_an_unlawful_change_is_reported(
    images: ImageChecks, reports: Reports, fields: dict[str, object], invariant: str
) -> None:
    after = an_image(11, **{"partition_epoch": 9, **fields})

    images.look((1, 1, "controller"), after, is_committed=True)

    assert invariant in reports.found


def test_epochs_and_offsets_never_fall(images: ImageChecks, reports: Reports) -> None:
    images.look((1, 1, "controller"), an_image(9), is_committed=True)
    assert reports.found == ["I15"]

    images.look((1, 1, "controller"), replace(an_image(11), controller_epoch=3), is_committed=True)
    assert reports.found == ["I15", "I15"]

    fallen = {**an_image().brokers, 2: BrokerImage(2, b"", 1, (), "", is_fenced=False)}
    images.look((1, 1, "controller"), replace(an_image(12), brokers=fallen), is_committed=True)
    assert reports.found.count("I15") == 3


def test_images_of_one_offset_are_the_same(images: ImageChecks, reports: Reports) -> None:
    images.look((2, 1, "broker"), an_image(isr=(1,)), is_committed=False)

    assert reports.found == ["I16"]


# Replies


def served(*batches: bytes, high_watermark: int = 2) -> tuple[FetchRequest, FetchResponse]:
    request = FetchRequest(partitions=[FetchPartition(topic=TOPIC)])
    result = PartitionFetchResult(records=b"".join(batches), high_watermark=high_watermark)
    return request, FetchResponse(partitions=[result])


A_MACHINE = Machine(
    1, SimClock(lambda: 0.0), SimDisk(SeededRandom(1), 0.0), SeededRandom(1), one_listener("h:1")
)
GOOD = encode_batch([Record(0, 1, None, b"v")], base_offset=1)


@pytest.mark.parametrize(
    ("batches", "high_watermark", "found"),
    [
        ([GOOD], 2, []),
        ([GOOD], 1, ["I13"]),
        ([GOOD, GOOD], 2, ["I8"]),
        ([GOOD[:-1] + b"!"], 2, ["I27"]),
        ([GOOD[:-1]], 2, ["I27"]),
    ],
)
def test_what_is_served_is_whole_and_committed(
    book: Book, reports: Reports, batches: list[bytes], high_watermark: int, found: list[str]
) -> None:
    request, response = served(*batches, high_watermark=high_watermark)

    ReplyChecks(book=book, report=reports).on_fetched(A_MACHINE, {}, request, response)

    assert reports.found == found
    assert parse_header(GOOD).base_offset == 1
