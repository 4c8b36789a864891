"""What a worker process keeps from one task to the next."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tidelog.client.arrow.columns import decode_range
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.errors import (
    CorruptMessageError,
    OffsetOutOfRangeError,
    TidelogError,
    UnreachableError,
)
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch, encode_filler
from tidelog.spark import batch_reader
from tidelog.spark.batch_reader import ReadError, read_range
from tidelog.spark.worker_clients import ReadingClient, WorkerClients


class Fake:
    """Closed or not."""

    def __init__(self) -> None:
        self.is_usable = True

    def close(self) -> None:
        self.is_usable = False


def test_a_client_is_kept_for_the_next_task() -> None:
    clients: WorkerClients[Fake] = WorkerClients()
    first = clients.get("a", Fake)
    assert clients.get("a", Fake) is first
    assert clients.get("b", Fake) is not first
    assert clients.get("a", Fake) is first
    assert first.is_usable


def test_a_client_that_is_of_no_use_is_replaced() -> None:
    clients: WorkerClients[Fake] = WorkerClients()
    first = clients.get("a", Fake)
    first.close()
    assert clients.get("a", Fake) is not first


def test_a_dropped_client_is_closed() -> None:
    clients: WorkerClients[Fake] = WorkerClients()
    first = clients.get("a", Fake)
    clients.drop("a")
    clients.drop("a")
    assert not first.is_usable
    assert clients.get("a", Fake) is not first


def test_the_client_unused_longest_is_closed_for_a_new_one() -> None:
    clients: WorkerClients[Fake] = WorkerClients(clients_max=2)
    kept = {key: clients.get(key, Fake) for key in "ab"}
    clients.get("a", Fake)
    clients.get("c", Fake)
    assert kept["a"].is_usable
    assert not kept["b"].is_usable


def test_a_client_works_until_it_is_closed() -> None:
    client = ReadingClient("127.0.0.1:1", RangeReaderConfig())
    assert client.is_usable
    client.close()
    client.close()
    assert not client.is_usable


def test_a_client_is_of_no_use_in_a_fork_of_its_process() -> None:
    client = ReadingClient("127.0.0.1:1", RangeReaderConfig())
    answers = multiprocessing.get_context("fork").SimpleQueue()
    fork = multiprocessing.get_context("fork").Process(target=lambda: answers.put(client.is_usable))
    fork.start()
    fork.join()
    assert answers.get() is False
    assert client.is_usable
    client.close()


WANTED = OffsetRange("orders", b"o", 3, 0, 30)


def read_all() -> None:
    pieces = read_range(
        WANTED,
        bootstrap="node1:9192",
        config=RangeReaderConfig(),
        fail_on_data_loss=True,
        columns=["offset"],
    )
    assert list(pieces) == []


class FakeReading(Fake):
    """The client of a reading task: its fetches end with an error, if any."""

    def __init__(self, error: TidelogError | None) -> None:
        super().__init__()
        self.reader = self.loop = self
        self._error = error

    def chunks(self, wanted: OffsetRange, *, fail_on_data_loss: bool) -> Iterator[bytes]:
        if self._error is not None:
            raise self._error
        yield from ()

    def iterate(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        return chunks


@pytest.mark.parametrize(
    ("error", "raised", "is_kept"),
    [
        (None, None, True),
        (OffsetOutOfRangeError("gone", log_start_offset=5, log_end_offset=9), ReadError, True),
        (CorruptMessageError("damaged"), ReadError, False),
        (UnreachableError("no broker answers"), UnreachableError, False),
    ],
)
def test_a_reading_client_is_kept_until_a_task_of_its_fails(
    error: TidelogError | None,
    raised: type[Exception] | None,
    is_kept: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[FakeReading]()
    errors = iter([error, None])

    def connect(_bootstrap: str, _config: RangeReaderConfig) -> FakeReading:
        made.append(FakeReading(next(errors)))
        return made[-1]

    monkeypatch.setattr(batch_reader, "ReadingClient", connect)
    monkeypatch.setattr(batch_reader, "READING", WorkerClients[FakeReading]())

    for awaited in (raised, raised if is_kept else None):
        with nullcontext() if awaited is None else pytest.raises(awaited):
            read_all()

    assert len(made) == (1 if is_kept else 2)
    assert made[0].is_usable is is_kept


def batches() -> bytearray:
    """Three of ten records."""
    records = [Record(0, 0, None, b"value")] * 10
    return bytearray(b"".join(encode_batch(records, base_offset=at) for at in (0, 10, 20)))


def offsets(data: bytes) -> list[list[int]]:
    """Of each piece that is decoded."""
    return [piece["offset"].to_pylist() for piece in decode_range(data, WANTED, columns=["offset"])]


def test_what_does_not_fit_into_one_piece_is_decoded_batch_by_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [Record(0, 0, None, b"v" * 100)] * 10
    data = b"".join(
        encode_batch(records, compression=Codec.GZIP, base_offset=at) for at in (0, 10, 20)
    )
    monkeypatch.setattr("tidelog.client.arrow.record_fields.BODY_BYTES_MAX", 2000)
    assert offsets(data) == [list(range(10)), list(range(10, 20)), list(range(20, 30))]


def test_what_is_not_corrupt_is_decoded() -> None:
    assert offsets(bytes(batches())) == [list(range(30))]


def test_a_range_whose_last_offsets_were_compacted_away_ends_without_them() -> None:
    filler = encode_filler(base_offset=20, last_offset=44, leader_epoch=0, max_timestamp=-1)
    data = bytes(batches()[: len(batches()) // 3]) + filler
    assert offsets(data) == [list(range(10))]
    assert offsets(filler) == [[]]


@pytest.mark.parametrize(("nth", "offset"), [(0, 0), (1, 10), (2, 20)])
def test_a_corrupt_batch_is_told_by_topic_partition_and_offset(nth: int, offset: int) -> None:
    data = batches()
    data[len(data) // 3 * nth + 70] ^= 1
    place = f"at offset {offset}"
    message = f"orders-3 is corrupt in the batch {place}, .* {offset + 9}: record batch {place} has"
    with pytest.raises(CorruptMessageError, match=message):
        offsets(bytes(data))
