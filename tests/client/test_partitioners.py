"""Partitioners: Kafka's hash, and sticking to a partition."""

from __future__ import annotations

import pytest

from tidelog.client.producing.partitioners import KeyPartitioner, StickyPartitioner, murmur2

# Known values of Kafka's own tests.
GOLDEN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


class CountingRandom:
    """Answers 0, 1, 2, …, within the range asked for."""

    def __init__(self) -> None:
        self.calls = 0

    def random(self) -> float:
        return 0.5

    def randrange(self, start: int, stop: int) -> int:
        self.calls += 1
        return start + self.calls % (stop - start)

    def randbytes(self, length: int) -> bytes:
        return bytes(length)


@pytest.mark.parametrize(("data", "expected"), GOLDEN.items())
def test_murmur2_is_kafkas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


def test_partition_of_a_key_is_the_positive_hash_modulo_the_partitions() -> None:
    keys = KeyPartitioner()
    assert keys.partition(b"foobar", 7) == (-790332482 & 0x7FFFFFFF) % 7
    assert keys.partition(b"foobar", 7) == keys.partition(b"foobar", 7)
    assert keys.partition(b"abc", 3) == 479470107 % 3


def test_records_without_a_key_stick_until_a_batch_of_bytes_went_there() -> None:
    sticky = StickyPartitioner(CountingRandom(), switch_bytes=100)
    available = (0, 1, 2)
    first = sticky.partition(available)
    sticky.count_used(99)
    assert sticky.partition(available) == first
    sticky.count_used(1)
    assert sticky.partition(available) != first


def test_a_partition_that_lost_its_leader_is_left_at_once() -> None:
    sticky = StickyPartitioner(CountingRandom(), switch_bytes=1000)
    first = sticky.partition((0, 1, 2))
    others = tuple(p for p in (0, 1, 2) if p != first)
    assert sticky.partition(others) in others


def test_a_single_partition_is_used_again_and_again() -> None:
    sticky = StickyPartitioner(CountingRandom(), switch_bytes=10)
    for _ in range(3):
        assert sticky.partition((4,)) == 4
        sticky.count_used(10)
