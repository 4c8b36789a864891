"""The producer's `partitioner` option: each name, a callable, and what fails before it harms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.client.loop_peers import LoopPeers
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client import Producer, errors
from tidelog.client.producing.partitioners import Partitioner, PartitionLeader, murmur2
from tidelog.net.transport import Transport


class CountingRandom:
    """Answers 0, 1, 2, …, within the range asked for."""

    def __init__(self) -> None:
        self.calls = -1

    def random(self) -> float:
        return 0.5

    def randrange(self, start: int, stop: int) -> int:
        self.calls += 1
        return start + self.calls % (stop - start)

    def randbytes(self, length: int) -> bytes:
        return bytes(length)


def producer(cluster: Transport, **options: Any) -> Producer:  # options of Producer
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def three_partitions() -> RealCluster:
    cluster = await started()
    await cluster.create("t", partitions=3)
    return cluster


async def both_ways(keys: Sequence[bytes | None], **options: Any) -> list[list[bytes | None]]:
    """Records 0, 1, … with these keys, sent one by one and at once: they must lie alike."""
    stored = []
    for is_bulk in (False, True):
        cluster = await three_partitions()
        values = [b"%d" % n for n in range(len(keys))]
        async with producer(cluster, random=CountingRandom(), **options) as p:
            if is_bulk:
                assert (await p.send_many("t", values, keys=keys)).acknowledged == len(keys)
            else:
                for key, value in zip(keys, values, strict=True):
                    await p.send("t", key=key, value=value)
        stored.append(cluster.values("t"))
    assert stored[0] == stored[1]
    return stored[0]


async def test_round_robin_goes_around_whatever_the_key() -> None:
    stored = await both_ways([b"k", None] * 4, partitioner="round_robin")
    assert sorted(map(len, stored)) == [2, 3, 3]
    for values in stored:
        places = [int(value or b"") for value in values]
        assert places == list(range(places[0], 8, 3))


async def test_round_robin_goes_on_where_the_last_call_ended() -> None:
    cluster = await three_partitions()
    async with producer(cluster, partitioner="round_robin") as p:
        for _ in range(3):
            await p.send_many("t", [b"v"] * 2)
    assert [len(values) for values in cluster.values("t")] == [2, 2, 2]


async def test_murmur2_puts_a_record_without_a_key_where_the_empty_key_lies() -> None:
    stored = await both_ways([b"a", None, b"", None], partitioner="murmur2")
    empty = (murmur2(b"") & 0x7FFFFFFF) % 3
    assert [v for v in stored[empty] if v != b"0"] == [b"1", b"2", b"3"]
    assert b"0" in stored[(murmur2(b"a") & 0x7FFFFFFF) % 3]


async def test_sticky_keeps_a_batchs_worth_together_whatever_the_key() -> None:
    stored = await both_ways([b"a", b"b", None, b"c"], partitioner="sticky")
    assert sorted(map(len, stored)) == [0, 0, 4]


async def test_random_asks_the_injected_one_for_every_record() -> None:
    stored = await both_ways([b"k"] * 5, partitioner="random")
    # The retries' jitter draws too, before the first record is sent.
    assert sorted(map(len, stored)) == [1, 2, 2]


async def test_names_leave_a_partition_without_a_leader_alone() -> None:
    for name in ("sticky", "round_robin", "random"):
        cluster = await three_partitions()
        await cluster.move("t", 1, leader_id=None)
        async with producer(cluster, partitioner=name) as p:
            await p.send_many("t", [b"v"] * 9)
            for _ in range(4):
                await p.send("t", value=b"v")
        assert cluster.values("t")[1] == []


def leader_on(broker_id: int | None) -> PartitionLeader:
    assert broker_id is not None
    host, _, port = ADDRESSES[broker_id].rpartition(":")
    return PartitionLeader(broker_id, host, int(port), f"rack-{broker_id}")


async def test_callable_follows_a_leader_that_an_answer_names() -> None:
    cluster = await three_partitions()
    seen: list[PartitionLeader] = []

    def first(*leaders: Any) -> int:
        seen.append(leaders[-1][0])
        return 0

    async with producer(cluster, partitioner=first) as p:
        await p.send("t", value=b"a")
        before = cluster.topics["t"].partitions[0].leader_id
        other = next(node for node in ADDRESSES if node != before)
        await cluster.move("t", 0, leader_id=other)
        await p.send("t", value=b"b")
        await p.send("t", value=b"c")
    assert seen == [leader_on(before), leader_on(before), leader_on(other)]


async def test_callable_is_given_what_is_sent_and_decides() -> None:
    asked: list[object] = []

    def last_available(
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partitions: Sequence[int],
        available: Sequence[int],
        leaders: Mapping[int, PartitionLeader],
        /,
    ) -> int:
        asked.append((topic, key, value, tuple(partitions), tuple(available), dict(leaders)))
        return available[-1]

    cluster = await three_partitions()
    await cluster.move("t", 2, leader_id=None)
    states = cluster.topics["t"].partitions
    led = {number: leader_on(states[number].leader_id) for number in (0, 1)}
    async with producer(cluster, partitioner=last_available, batch_size=150) as p:
        await p.send("t", key=b"k", value=b"a")
        await p.send_many("t", [b"%d" % n for n in range(9)])
        assert asked[0] == ("t", b"k", b"a", (0, 1, 2), (0, 1), led)
        assert len(asked) == 10
        await p.send("t", value=b"z", partition=0)
        await p.send_many("t", [b"z"], partition=0)
    assert len(asked) == 10, "an explicit partition wins"
    expected = [b"a", *(b"%d" % n for n in range(9))]
    assert cluster.values("t") == [[b"z", b"z"], expected, []]


def _raises(_topic: str, _key: object, value: object, *_rest: object) -> int:
    if value == b"bad":
        raise LookupError("no table")
    return 0


def _nowhere(_topic: str, _key: object, value: object, *_rest: object) -> int:
    return 3 if value == b"bad" else 0


def _no_number(_topic: str, _key: object, value: object, *_rest: object) -> Any:  # what is wrong
    return [0] if value == b"bad" else 0


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (_raises, "raised for a record of topic 't': LookupError"),
        (_nowhere, "chose 3, but topic 't' has partitions 0 to 2"),
        (_no_number, r"chose \[0\]"),
    ],
)
async def test_failing_callable_is_a_typed_error_and_nothing_is_taken(
    own: Partitioner, message: str
) -> None:
    cluster = await three_partitions()
    async with producer(cluster, partitioner=own, batch_size=150) as p:
        with pytest.raises(errors.PartitionerError, match=message) as caught:
            await p.submit("t", value=b"bad")
        with pytest.raises(errors.PartitionerError, match=message):
            await p.send_many("t", [b"good"] * 20 + [b"bad"])
        await p.flush()
        assert cluster.values("t") == [[], [], []]
        assert (await p.send("t", value=b"good")).offset == 0
    assert caught.value.topic == "t"


def test_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="use one of default, murmur2"):
        producer(LoopPeers({}), partitioner="crc32")
