"""What a client believes of the cluster: never an older leader epoch, hints only if news."""

from __future__ import annotations

from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import ClusterMetadata, Leader
from tidelog.client.records import TopicPartition
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint, LeaderHint
from tidelog.v1.data_pb2 import MetadataResponse

TP = TopicPartition("t", 0)


def answer(
    *, leader_id: int | None, epoch: int, topic_id: bytes = b"1", brokers: int = 2
) -> MetadataResponse:
    response = MetadataResponse(
        brokers=[Endpoint(node_id=n, address=f"node{n}:1") for n in range(1, brokers + 1)]
    )
    topic = response.topics.add(name="t", topic_id=topic_id)
    topic.partitions.add(partition=0, leader_id=leader_id, leader_epoch=epoch)
    return response


def known(*answers: MetadataResponse) -> ClusterMetadata:
    metadata = ClusterMetadata()
    for each in answers:
        metadata.update(each, now_ms=0)
    return metadata


def test_newer_epoch_replaces_the_leader() -> None:
    metadata = known(answer(leader_id=1, epoch=1), answer(leader_id=2, epoch=2))
    assert metadata.leader(TP) == Leader(2, 2, "node2:1")


def test_lagging_broker_does_not_bring_back_an_older_leader() -> None:
    metadata = known(answer(leader_id=2, epoch=2), answer(leader_id=1, epoch=1))
    assert metadata.leader(TP) == Leader(2, 2, "node2:1")


def test_topic_made_anew_starts_over() -> None:
    metadata = known(answer(leader_id=2, epoch=9), answer(leader_id=1, epoch=0, topic_id=b"2"))
    assert metadata.leader(TP) == Leader(0, 1, "node1:1")


def test_partition_without_a_leader_or_with_an_unlisted_one_has_none() -> None:
    assert known(answer(leader_id=None, epoch=3)).leader(TP) is None
    assert known(answer(leader_id=5, epoch=3)).leader(TP) is None


def test_hint_counts_only_when_it_is_news() -> None:
    metadata = known(answer(leader_id=1, epoch=3))
    stale = LeaderHint(leader_id=2, leader_epoch=2, address="node2:1")
    same = LeaderHint(leader_id=1, leader_epoch=3, address="node1:1")
    newer = LeaderHint(leader_id=2, leader_epoch=4, address="node2:1")
    assert not metadata.apply_hint(TP, stale)
    assert not metadata.apply_hint(TP, same)
    assert metadata.apply_hint(TP, newer)
    assert metadata.leader(TP) == Leader(4, 2, "node2:1")
    assert not metadata.apply_hint(TP, LeaderHint(leader_epoch=5)), "no leader is no hint"


class Middle:
    """Always 0.5: no jitter."""

    def random(self) -> float:
        return 0.5

    def randrange(self, start: int, stop: int) -> int:
        return (start + stop) // 2

    def randbytes(self, length: int) -> bytes:
        return bytes(length)


def test_backoff_doubles_up_to_its_limit() -> None:
    backoff = Backoff(initial_ms=50, max_ms=500)
    assert [backoff.delay_ms(n, Middle()) for n in (1, 2, 3, 4, 5, 50)] == [
        *(50, 100, 200, 400, 500, 500)
    ]


def moves(*answers: MetadataResponse | LeaderHint) -> list[list[int]]:
    """The partitions that are told of at each answer or hint."""
    metadata = ClusterMetadata()
    notified: list[list[int]] = []
    metadata.on_move(lambda tp: notified[-1].append(tp.partition))
    for each in answers:
        notified.append([])
        if isinstance(each, LeaderHint):
            metadata.apply_hint(TP, each)
        else:
            metadata.update(each, now_ms=0)
    return notified


def with_partitions(leaders: list[int | None], *, topic_id: bytes = b"1") -> MetadataResponse:
    response = answer(leader_id=leaders[0], epoch=1, topic_id=topic_id)
    for number, leader_id in enumerate(leaders[1:], start=1):
        response.topics[0].partitions.add(partition=number, leader_id=leader_id, leader_epoch=1)
    return response


def test_only_partitions_whose_leader_is_another_are_told_of() -> None:
    moved = with_partitions([1, 2, 1])
    moved.topics[0].partitions[1].leader_epoch = 2
    assert moves(with_partitions([1, 1, 1]), with_partitions([1, 1, 1]), moved) == [
        [0, 1, 2],
        [],
        [1],
    ]


def test_a_leader_found_or_lost_and_an_address_that_changed_are_told_of() -> None:
    elsewhere = with_partitions([1, 2])
    elsewhere.brokers[1].address = "node2:9"
    assert moves(with_partitions([1, None]), with_partitions([1, 2]), elsewhere) == [
        [0, 1],
        [1],
        [1],
    ]


def test_all_partitions_of_a_topic_made_anew_or_deleted_are_told_of() -> None:
    anew = with_partitions([1], topic_id=b"2")
    deleted = MetadataResponse()
    gone = deleted.topics.add(name="t")
    gone.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert moves(with_partitions([1, 1]), anew, deleted) == [[0, 1], [0, 1], [0]]


def test_a_hint_is_told_of_when_it_is_news() -> None:
    newer = LeaderHint(leader_id=2, leader_epoch=4, address="node2:1")
    assert moves(answer(leader_id=1, epoch=3), newer, newer) == [[0], [0], []]
